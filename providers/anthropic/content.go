package anthropic

import (
	"strings"

	"modelgateway/llm"
)

// content translates a text, an image or a file. Its errors name the block in
// the client's request.
func (t *translation) content(b *llm.Block) (*block, error) {
	if b.Kind != llm.BlockMedia {
		return &block{Type: "text", Text: b.Text}, nil
	}
	switch b.Media.Kind {
	case llm.Image:
		return t.image(b)
	case llm.File:
		return t.file(b)
	case llm.Audio:
		return nil, t.unsupported(llm.FieldPartType, b.At, "the model %s does not accept input_audio", t.model.ID)
	}
	return nil, t.unsupported(llm.FieldPartType, b.At, "the model %s does not accept search results", t.model.ID)
}

func (t *translation) image(b *llm.Block) (*block, error) {
	t.ignoreIf(b.Media.Detail != "" && b.Media.Detail != "auto", llm.FieldImageDetail)
	if strings.HasPrefix(b.Media.URL, "https://") {
		if t.inline {
			return nil, t.unsupported(llm.FieldImageURL, b.At, "the model %s fetches no images: send a data URL in base64", t.model.ID)
		}
		return &block{Type: "image", Source: &source{Type: "url", URL: b.Media.URL}}, nil
	}
	data, ok := readDataURL(b.Media.URL)
	if !ok {
		return nil, t.unsupported(llm.FieldImageURL, b.At,
			"the model %s accepts images as https addresses and as data URLs in base64 only", t.model.ID)
	}
	mediaType := imageType(data.head())
	if !data.base64 || mediaType == "" {
		return nil, t.unsupported(llm.FieldImageURL, b.At,
			"the model %s accepts JPEG, PNG, GIF and WebP images only", t.model.ID)
	}
	return &block{Type: "image", Source: &source{Type: "base64", MediaType: mediaType, Data: data.text}}, nil
}

// pdfType is the only type of documents that Anthropic fetches.
const pdfType = "application/pdf"

func (t *translation) file(b *llm.Block) (*block, error) {
	f := b.Media
	if f.URL == "" {
		return nil, t.unsupported(llm.FieldFileID, b.At,
			"the model %s cannot reach files by id: send them as file_data", t.model.ID)
	}
	if f.Format == pdfType && strings.HasPrefix(f.URL, "https://") {
		if t.inline {
			return nil, t.unsupported(llm.FieldFile, b.At, "the model %s fetches no files: send their content in base64", t.model.ID)
		}
		return &block{Type: "document", Source: &source{Type: "url", URL: f.URL}, Title: title(f.Name)}, nil
	}
	data, ok := readDataURL(f.URL)
	if !ok { // clients send plain base64 as well
		data = dataURL{base64: true, text: f.URL}
	}
	out := &block{Type: "document", Title: title(f.Name)}
	switch {
	case data.base64 && strings.HasPrefix(string(data.head()), "%PDF-"):
		out.Source = &source{Type: "base64", MediaType: pdfType, Data: data.text}
		return out, nil
	case !textual(data.mediaType):
		return nil, t.unsupported(llm.FieldFileData, b.At, "the model %s accepts PDF and text files only", t.model.ID)
	}
	text, ok := data.decode()
	if !ok {
		return nil, t.unsupported(llm.FieldFileData, b.At, "the file has a text media type, but is not valid UTF-8")
	}
	if strings.TrimSpace(text) == "" {
		return nil, t.unsupported(llm.FieldFileData, b.At, "the file is empty")
	}
	out.Source = &source{Type: "text", MediaType: "text/plain", Data: text}
	return out, nil
}

// title is the name of a file, no longer than Anthropic takes.
func title(name string) string {
	const limit = 500 // characters
	if characters := []rune(name); len(characters) > limit {
		return string(characters[:limit])
	}
	return name
}

// textual reports whether a media type is text.
func textual(mediaType string) bool {
	return strings.HasPrefix(mediaType, "text/") || mediaType == "application/json" || mediaType == "application/xml"
}
