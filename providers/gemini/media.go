package gemini

import (
	"cmp"
	"encoding/base64"
	"net/http"
	"net/url"
	"path"
	"strings"

	"modelgateway/api"
	"modelgateway/llm"
	"modelgateway/providers"
)

// media translates a block of the kind BlockMedia. Its error names the field
// at fault.
func (t *translation) media(b *llm.Block) (part, error) {
	m, at := b.Media, t.place(b)
	switch {
	case m.Text != "":
		return part{Text: providers.DocumentText(m)}, nil
	case m.Kind == llm.Image:
		return at.image(m)
	case m.Kind == llm.Audio:
		return part{InlineData: inlined("audio/"+m.Format, m.Data)}, nil
	case m.Kind == llm.File:
		return at.file(m)
	default:
		return part{}, at.invalid(llm.FieldPartType, api.CodeUnsupportedValue, "the model %s does not accept parts of this type", t.id)
	}
}

// place is the position of a block in the client's request.
type place struct {
	source llm.Source
	at     llm.At
	model  string
}

func (t *translation) place(b *llm.Block) place { return place{t.req.Source, b.At, t.id} }

func (p place) invalid(f llm.Field, code, format string, args ...any) *api.Error {
	return api.Invalid(code, p.source.Path(f, p.at), format, args...)
}

// name is the last part of a field's path.
func (p place) name(f llm.Field) string {
	path := p.source.Path(f, p.at)
	return path[strings.LastIndexByte(path, '.')+1:]
}

func (p place) image(m *llm.Media) (part, error) {
	field := llm.FieldImageURL
	if m.Made {
		field = llm.FieldImageMade
	}
	switch {
	case strings.HasPrefix(m.URL, "data:"):
		return p.inline(m.URL, field)
	case strings.HasPrefix(m.URL, "https://"):
		return linked(m.URL), nil
	default:
		return part{}, p.invalid(field, api.CodeUnsupportedValue, "the model %s fetches images from https addresses only", p.model)
	}
}

func (p place) file(m *llm.Media) (part, error) {
	data := cmp.Or(m.URL, m.Data)
	switch {
	case data == "":
		return part{}, p.invalid(llm.FieldFileID, api.CodeUnsupportedValue,
			"the model %s does not accept uploaded files: send the file itself as %s", p.model, p.name(llm.FieldFileData))
	case strings.HasPrefix(data, "data:"):
		return p.inline(data, llm.FieldFileData)
	case strings.HasPrefix(data, "https://"):
		p := linked(data)
		p.FileData.MIMEType = cmp.Or(p.FileData.MIMEType, m.Format)
		return p, nil
	}
	kind := mimeType(m.Name)
	if kind == "" {
		return part{}, p.invalid(llm.FieldFileData, api.CodeUnsupportedValue,
			"%s must be a data URL, or %s must end in a known extension", p.name(llm.FieldFileData), p.name(llm.FieldFileName))
	}
	return part{InlineData: inlined(kind, data)}, nil
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
func (p place) inline(address string, field llm.Field) (part, error) {
	head, data, ok := strings.Cut(strings.TrimPrefix(address, "data:"), ",")
	if !ok || data == "" {
		return part{}, p.invalid(field, api.CodeInvalidValue, "the data URL holds no data")
	}
	if strings.Contains(data, "%") {
		plain, err := url.PathUnescape(data)
		if err != nil {
			return part{}, p.invalid(field, api.CodeInvalidValue, "the percent encoding of the data URL is not valid").WithCause(err)
		}
		data = plain
	}
	kind, parameters, _ := strings.Cut(head, ";")
	if !isBase64(parameters) {
		data = base64.StdEncoding.EncodeToString([]byte(data))
	}
	b := inlined(kind, data)
	switch b.MIMEType {
	case "":
		return part{}, p.invalid(field, api.CodeUnsupportedValue, "the data URL does not say its media type")
	case "image/svg+xml":
		return part{}, p.invalid(field, api.CodeUnsupportedValue, "the model %s does not accept SVG images", p.model)
	}
	return part{InlineData: b}, nil
}

// inlined is data of a declared type in the form that Gemini takes: of images the
// type that their first bytes show, since clients mislabel them, and base64
// without the white space by which mail programs wrap it.
func inlined(kind, data string) *blob {
	if strings.ContainsAny(data, " \t\r\n") {
		data = strings.Join(strings.Fields(data), "")
	}
	kind = strings.ToLower(strings.TrimSpace(kind))
	if kind == "" || strings.HasPrefix(kind, "image/") {
		if shown := sniffed(data); kind == "" || strings.HasPrefix(shown, "image/") {
			kind = shown
		}
	}
	if kind == "image/jpg" {
		kind = "image/jpeg"
	}
	return &blob{MIMEType: kind, Data: data}
}

// isBase64 checks the last parameter of a data URL.
func isBase64(parameters string) bool {
	return strings.EqualFold(parameters[strings.LastIndex(parameters, ";")+1:], "base64")
}

// sniffed is the media type of data without a declared type; empty where its
// first bytes do not show it.
func sniffed(data string) string {
	const enough = 684 // whole groups of base64, of the 512 bytes that are checked
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
	".txt": "text/plain", ".md": "text/md", ".html": "text/html", ".css": "text/css",
	".csv": "text/csv", ".xml": "text/xml", ".rtf": "text/rtf",
	".wav": "audio/wav", ".mp3": "audio/mp3", ".aac": "audio/aac", ".ogg": "audio/ogg", ".flac": "audio/flac", ".aiff": "audio/aiff",
	".mp4": "video/mp4", ".mpeg": "video/mpeg", ".mpg": "video/mpg", ".mov": "video/mov", ".avi": "video/avi",
	".webm": "video/webm", ".wmv": "video/wmv", ".3gp": "video/3gpp", ".flv": "video/x-flv",
}

func mimeType(name string) string { return mimeTypes[strings.ToLower(path.Ext(name))] }
