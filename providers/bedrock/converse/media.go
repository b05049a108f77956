package converse

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"

	"modelgateway/llm"
	"modelgateway/providers"
)

// content translates a block of the user or of a tool's result. Its errors name the block in the
// client's request.
func (t *translation) content(b *llm.Block) ([]block, error) {
	m := b.Media
	switch {
	case b.Kind == llm.BlockHosted:
		return nil, nil
	case b.Kind != llm.BlockMedia:
		return []block{{Text: b.Text}}, nil
	}
	t.ignoreIf(m.Citations, llm.FieldCitations)
	switch {
	case m.Text != "":
		return []block{{Text: providers.DocumentText(m)}}, nil
	case m.Kind == llm.Image:
		return t.image(b)
	case m.Kind == llm.Audio:
		return []block{{Audio: &media{Format: m.Format, Source: source{m.Data}}}}, nil
	case m.Kind == llm.File:
		return t.file(b)
	}
	return nil, t.unsupported(llm.FieldPartType, b.At, "does not accept search results without a text")
}

// formats are what Converse calls media types, and extensions of file names.
var formats = map[string]string{
	"image/png": "png", "image/jpeg": "jpeg", "image/gif": "gif", "image/webp": "webp",
	"application/pdf": "pdf", "text/csv": "csv", "text/html": "html", "text/markdown": "md", "application/msword": "doc",
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
	"application/vnd.ms-excel": "xls", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
	"application/json": "txt", "application/xml": "txt", "text/plain": "txt",
	".pdf": "pdf", ".csv": "csv", ".html": "html", ".md": "md", ".doc": "doc", ".docx": "docx", ".xls": "xls", ".xlsx": "xlsx",
	".txt": "txt", ".json": "txt", ".xml": "txt",
}

// image translates a picture. Its type is what its first bytes show, since clients mislabel them.
func (t *translation) image(b *llm.Block) ([]block, error) {
	t.ignoreIf(b.Media.Detail != "" && b.Media.Detail != "auto", llm.FieldImageDetail)
	_, data, ok := readDataURL(b.Media.URL)
	kind := sniffed(data)
	switch {
	case !ok:
		return nil, t.unsupported(llm.FieldImageURL, b.At, "fetches no images: send them as data URLs")
	case !strings.HasPrefix(kind, "image/") || formats[kind] == "":
		return nil, t.unsupported(llm.FieldImageURL, b.At, "accepts PNG, JPEG, GIF and WebP images only")
	}
	return []block{{Image: &media{Format: formats[kind], Source: source{data}}}}, nil
}

// file translates a document. The model may read the name of a document as an instruction: it gets
// a neutral one, and the client's name is in a text block before it. Converse requires a text block
// beside each document.
func (t *translation) file(b *llm.Block) ([]block, error) {
	text := cmp.Or(b.Media.URL, b.Media.Data)
	switch {
	case text == "":
		return nil, t.unsupported(llm.FieldFileID, b.At, "cannot reach files by id: send their data")
	case strings.HasPrefix(text, "https://"), strings.HasPrefix(text, "http://"):
		return nil, t.unsupported(llm.FieldFileData, b.At, "fetches no files: send their data")
	}
	mediaType, data, ok := readDataURL(text)
	if !ok { // clients send plain base64 as well
		data = withoutSpace(text)
	}
	format := cmp.Or(formats[mediaType], formats[strings.ToLower(path.Ext(b.Media.Name))], formats[sniffed(data)])
	switch {
	case strings.HasPrefix(mediaType, "image/"):
		return t.image(b)
	case format == "" && strings.HasPrefix(mediaType, "text/"):
		format = "txt"
	case format == "":
		return nil, t.unsupported(llm.FieldFileData, b.At, "accepts PDF, Word, Excel, CSV, HTML, Markdown and text files only")
	}
	t.documents++
	document := &media{Format: format, Name: fmt.Sprintf("Document %d", t.documents), Source: source{data}}
	line := *b.Media
	line.URL = "" // the data itself, where it is no data URL
	return []block{{Text: providers.DocumentLine(&line)}, {Document: document}}, nil
}

// readDataURL reads a data URL (RFC 2397). Its data is base64 without white space.
func readDataURL(address string) (mediaType, data string, ok bool) {
	head, data, ok := strings.Cut(address, ",")
	if !ok || len(head) < len("data:") || !strings.EqualFold(head[:len("data:")], "data:") {
		return "", "", false
	}
	mediaType, parameters, _ := strings.Cut(strings.ToLower(head[len("data:"):]), ";")
	if strings.HasSuffix(";"+parameters, ";base64") {
		data = withoutSpace(data)
	} else if plain, err := url.PathUnescape(data); err == nil {
		data = base64.StdEncoding.EncodeToString([]byte(plain))
	}
	return strings.TrimSpace(mediaType), data, data != ""
}

// withoutSpace is base64 without the white space by which mail programs wrap it.
func withoutSpace(data string) string { return strings.Join(strings.Fields(data), "") }

// sniffed is the media type that the first bytes of data show; empty where it is not base64.
func sniffed(data string) string {
	const enough = 684 // whole groups of base64, of the 512 bytes that are checked
	head, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(data[:min(len(data), enough)], "="))
	if err != nil {
		return ""
	}
	kind, _, _ := strings.Cut(http.DetectContentType(head), ";")
	return kind
}
