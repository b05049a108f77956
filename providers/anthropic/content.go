package anthropic

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"modelgateway/models/api"
)

// part translates a part of a message; nil for a text that says nothing, which
// Anthropic refuses. Its errors name the part in the client's request.
func (t *translation) part(p *api.ContentPart) (*block, error) {
	switch p.Type {
	case "text":
		if strings.TrimSpace(p.Text) == "" {
			return nil, nil
		}
		return &block{Type: "text", Text: p.Text}, nil
	case "image_url":
		return t.image(p)
	case "file":
		return t.file(p)
	}
	return nil, unsupported(t.at(p)+".type", "the model %s takes no %s", t.model.ID, p.Type)
}

// at finds a part in the client's request, as messages[0].content[1].
func (t *translation) at(p *api.ContentPart) string {
	for i := range t.req.Messages {
		parts := t.req.Messages[i].Content.Parts
		for j := range parts {
			if parts[j].Type == p.Type && parts[j].ImageURL == p.ImageURL &&
				parts[j].File == p.File && parts[j].InputAudio == p.InputAudio {
				return fmt.Sprintf("messages[%d].content[%d]", i, j)
			}
		}
	}
	return "messages"
}

func (t *translation) image(p *api.ContentPart) (*block, error) {
	if d := p.ImageURL.Detail; d != "" && d != "auto" {
		t.lose("messages[].content[].image_url.detail")
	}
	address, at := p.ImageURL.URL, func() string { return t.at(p) + ".image_url.url" }
	if strings.HasPrefix(address, "https://") {
		return &block{Type: "image", Source: &source{Type: "url", URL: address}}, nil
	}
	data, ok := readDataURL(address)
	if !ok {
		return nil, unsupported(at(), "the model %s takes images as https addresses and as data URLs in base64", t.model.ID)
	}
	media := imageType(data.head())
	if !data.base64 || media == "" {
		return nil, unsupported(at(), "the model %s takes JPEG, PNG, GIF and WebP images, and this is none", t.model.ID)
	}
	return &block{Type: "image", Source: &source{Type: "base64", MediaType: media, Data: data.text}}, nil
}

func (t *translation) file(p *api.ContentPart) (*block, error) {
	const longestTitle = 500 // characters
	f, at := p.File, func() string { return t.at(p) + ".file" }
	if f.FileData == "" {
		return nil, unsupported(at()+".file_id", "the model %s cannot reach files by id: send them as file_data", t.model.ID)
	}
	data, ok := readDataURL(f.FileData)
	if !ok { // clients send plain base64 as well
		data = dataURL{base64: true, text: f.FileData}
	}
	made := &block{Type: "document", Title: f.Filename}
	if title := []rune(f.Filename); len(title) > longestTitle {
		made.Title = string(title[:longestTitle])
	}
	switch {
	case data.base64 && strings.HasPrefix(string(data.head()), "%PDF-"):
		made.Source = &source{Type: "base64", MediaType: "application/pdf", Data: data.text}
		return made, nil
	case !textual(data.media):
		return nil, unsupported(at()+".file_data", "the model %s takes files that are PDF or text", t.model.ID)
	}
	text, ok := data.decode()
	if !ok {
		return nil, unsupported(at()+".file_data", "the file is said to be text, and is not text in UTF-8")
	}
	if strings.TrimSpace(text) == "" {
		return nil, unsupported(at()+".file_data", "the file is empty")
	}
	made.Source = &source{Type: "text", MediaType: "text/plain", Data: text}
	return made, nil
}

// textual says whether what is of a media type can be read as text.
func textual(media string) bool {
	return strings.HasPrefix(media, "text/") || media == "application/json" || media == "application/xml"
}

// dataURL is a data URL, taken apart.
type dataURL struct {
	media  string // lower case, without parameters
	base64 bool
	text   string // base64 without white space, or percent-encoded
}

func readDataURL(s string) (dataURL, bool) {
	head, text, ok := strings.Cut(s, ",")
	if !ok || len(head) < len("data:") || !strings.EqualFold(head[:len("data:")], "data:") {
		return dataURL{}, false
	}
	media, parameters, _ := strings.Cut(head[len("data:"):], ";")
	d := dataURL{media: strings.ToLower(strings.TrimSpace(media)), text: text}
	d.base64 = strings.HasSuffix(strings.ToLower(strings.TrimSpace(";"+parameters)), ";base64")
	if d.base64 && strings.ContainsAny(text, " \t\r\n") { // as mail programs wrap it
		d.text = strings.Map(func(r rune) rune {
			if r == ' ' || r == '\t' || r == '\r' || r == '\n' {
				return -1
			}
			return r
		}, text)
	}
	return d, true
}

// head is the beginning of what is encoded, enough to tell what it is.
func (d dataURL) head() []byte {
	const enough = 24 // characters of base64: 18 bytes
	if !d.base64 {
		return nil
	}
	head := strings.TrimRight(d.text[:min(enough, len(d.text))], "=")
	out, err := base64.RawStdEncoding.DecodeString(head)
	if err != nil {
		return nil
	}
	return out
}

// decode is the whole as text; it is false when it is none.
func (d dataURL) decode() (string, bool) {
	if !d.base64 {
		text, err := url.PathUnescape(d.text)
		return text, err == nil && utf8.ValidString(text)
	}
	out, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(d.text, "="))
	return string(out), err == nil && utf8.Valid(out)
}

// imageType tells the four kinds of images that Anthropic takes by how they
// begin: clients mislabel them, and Anthropic refuses those. It is empty for
// anything else.
func imageType(head []byte) string {
	s := string(head)
	switch {
	case strings.HasPrefix(s, "\x89PNG"):
		return "image/png"
	case strings.HasPrefix(s, "\xff\xd8\xff"):
		return "image/jpeg"
	case strings.HasPrefix(s, "GIF87a"), strings.HasPrefix(s, "GIF89a"):
		return "image/gif"
	case len(s) >= 12 && strings.HasPrefix(s, "RIFF") && s[8:12] == "WEBP":
		return "image/webp"
	}
	return ""
}
