package gemini

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"path"
	"strings"

	"modelgateway/models/api"
)

// media translates a part that is not text. The error's param is a path
// inside the part.
func media(p *api.ContentPart) (part, *api.Error) {
	switch p.Type {
	case "image_url":
		return image(p.ImageURL.URL)
	case "input_audio":
		return part{InlineData: &blob{MIMEType: "audio/" + p.InputAudio.Format, Data: p.InputAudio.Data}}, nil
	case "file":
		return file(p.File)
	default:
		return part{}, api.Invalid(api.CodeUnsupportedValue, "type", "this model takes no parts of type %q", p.Type)
	}
}

func image(address string) (part, *api.Error) {
	const field = "image_url.url"
	switch {
	case strings.HasPrefix(address, "data:"):
		return inline(address, field)
	case strings.HasPrefix(address, "https://"):
		return linked(address), nil
	default:
		return part{}, api.Invalid(api.CodeUnsupportedValue, field, "this model fetches images from https addresses only")
	}
}

func file(f *api.File) (part, *api.Error) {
	const field = "file.file_data"
	switch {
	case f.FileData == "":
		return part{}, api.Invalid(api.CodeUnsupportedValue, "file.file_id", "this model knows no uploaded files; send the file itself as file_data")
	case strings.HasPrefix(f.FileData, "data:"):
		return inline(f.FileData, field)
	case strings.HasPrefix(f.FileData, "https://"):
		return linked(f.FileData), nil
	}
	kind := mimeType(f.Filename)
	if kind == "" {
		return part{}, api.Invalid(api.CodeUnsupportedValue, field, "file_data must be a data URL, or filename must end in a known extension")
	}
	return part{InlineData: &blob{MIMEType: kind, Data: f.FileData}}, nil
}

// linked is a file that Google fetches.
func linked(address string) part {
	f := &fileData{FileURI: address}
	if u, err := url.Parse(address); err == nil {
		f.MIMEType = mimeType(u.Path)
	}
	return part{FileData: f}
}

// inline reads a data URL (RFC 2397).
func inline(address, field string) (part, *api.Error) {
	head, data, ok := strings.Cut(strings.TrimPrefix(address, "data:"), ",")
	if !ok || data == "" {
		return part{}, api.Invalid(api.CodeInvalidValue, field, "the data URL holds no data")
	}
	if strings.Contains(data, "%") {
		plain, err := url.PathUnescape(data)
		if err != nil {
			return part{}, api.Invalid(api.CodeInvalidValue, field, "the data URL is not encoded rightly").Because(err)
		}
		data = plain
	}
	kind, parameters, _ := strings.Cut(head, ";")
	if !isBase64(parameters) {
		data = base64.StdEncoding.EncodeToString([]byte(data))
	}
	if kind == "" {
		kind = sniffed(data)
	}
	if kind == "" {
		return part{}, api.Invalid(api.CodeUnsupportedValue, field, "the data URL does not say its media type")
	}
	return part{InlineData: &blob{MIMEType: strings.ToLower(kind), Data: data}}, nil
}

// isBase64 looks at the last of a data URL's parameters.
func isBase64(parameters string) bool {
	return strings.EqualFold(parameters[strings.LastIndex(parameters, ";")+1:], "base64")
}

// sniffed is the media type of data that says nothing of itself; empty where
// its first bytes do not tell.
func sniffed(data string) string {
	const enough = 684 // base64 of the 512 bytes that are looked at, and whole groups of it
	head, err := base64.StdEncoding.DecodeString(data[:min(len(data), enough)])
	if err != nil {
		return ""
	}
	kind, _, _ := strings.Cut(http.DetectContentType(head), ";")
	if kind == "application/octet-stream" {
		return ""
	}
	return kind
}

// mimeTypes are the kinds of files Gemini reads, by extension. Those of the
// operating system would differ from host to host.
var mimeTypes = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp",
	".gif": "image/gif", ".heic": "image/heic", ".heif": "image/heif", ".bmp": "image/bmp",
	".pdf": "application/pdf", ".json": "application/json",
	".txt": "text/plain", ".md": "text/md", ".html": "text/html", ".css": "text/css", ".csv": "text/csv", ".xml": "text/xml", ".rtf": "text/rtf",
	".wav": "audio/wav", ".mp3": "audio/mp3", ".aac": "audio/aac", ".ogg": "audio/ogg", ".flac": "audio/flac", ".aiff": "audio/aiff",
	".mp4": "video/mp4", ".mpeg": "video/mpeg", ".mpg": "video/mpg", ".mov": "video/mov", ".avi": "video/avi",
	".webm": "video/webm", ".wmv": "video/wmv", ".3gp": "video/3gpp", ".flv": "video/x-flv",
}

func mimeType(name string) string { return mimeTypes[strings.ToLower(path.Ext(name))] }
