package openai

import (
	"cmp"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/models/api/chat"
	"modelgateway/models/llm"
)

// parts are the blocks of a message that are content.
func (c *composition) parts(m *llm.Message, blocks []llm.Block) ([]contentPart, error) {
	var out []contentPart
	for i := range blocks {
		b := &blocks[i]
		c.ignoreCache(b, m.Cache)
		switch b.Kind {
		case llm.BlockText, llm.BlockRefusal:
			out = appendText(out, b.Text)
		case llm.BlockMedia:
			p, err := c.media(m, b)
			if err != nil {
				return nil, err
			}
			out = append(out, p)
		default:
			c.ignoreIf(true, llm.FieldPartType)
		}
	}
	return out, nil
}

// ignoreCache notes the cache mark of a block. That of the whole message is the
// mark of its last block as well.
func (c *composition) ignoreCache(b *llm.Block, whole jsontext.Value) {
	c.ignoreIf(len(b.Cache) > 0 && (len(whole) == 0 || &b.Cache[0] != &whole[0]), llm.FieldPartCache)
}

func appendText(parts []contentPart, text string) []contentPart {
	if text == "" {
		return parts
	}
	return append(parts, contentPart{Type: "text", Text: text})
}

// encodeParts writes parts, in which nothing can fail: the texts have been read
// as JSON before.
func encodeParts(parts []contentPart) jsontext.Value {
	text, err := json.Marshal(parts, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return jsontext.Value("null")
	}
	return text
}

func (c *composition) media(m *llm.Message, b *llm.Block) (contentPart, error) {
	media := b.Media
	c.ignoreIf(media.Citations, llm.FieldCitations)
	if m.Role == llm.RoleInstructions && media.Text == "" {
		return contentPart{}, c.unsupported(llm.FieldPartType, b.At, "the model %s takes only text as instructions", c.model.ID)
	}
	switch {
	case media.Text != "":
		return contentPart{Type: "text", Text: document(media)}, nil
	case media.Kind == llm.Audio:
		return contentPart{Type: "input_audio", InputAudio: &chat.InputAudio{Data: media.Data, Format: media.Format}}, nil
	case media.Kind == llm.SearchResult:
		return contentPart{}, c.unsupported(llm.FieldPartType, b.At, "the model %s takes search results with a text only", c.model.ID)
	case media.URL == "" && media.Data == "":
		return contentPart{}, c.unsupported(llm.FieldFileID, b.At,
			"the model %s cannot reach files by the ids of another API: send the file itself", c.model.ID)
	case media.Kind == llm.Image:
		return contentPart{Type: "image_url", ImageURL: &chat.ImageURL{URL: media.URL, Detail: media.Detail}}, nil
	}
	return c.file(b)
}

// file is a file by its data. The API has no file by a web address.
func (c *composition) file(b *llm.Block) (contentPart, error) {
	m := b.Media
	if strings.HasPrefix(m.URL, "https://") || strings.HasPrefix(m.URL, "http://") {
		return contentPart{}, c.unsupported(llm.FieldFileData, b.At,
			"the model %s fetches no files: send the file itself in base64", c.model.ID)
	}
	data := m.URL
	if data == "" {
		data = "data:" + mediaType(m.Data) + ";base64," + m.Data
	}
	name := cmp.Or(m.Name, m.Title)
	if name == "" && strings.HasPrefix(data, "data:application/pdf") {
		name = "document.pdf" // OpenAI wants a name
	}
	return contentPart{Type: "file", File: &file{FileData: data, Filename: name}}, nil
}

// mediaType is that of data in base64, by its first bytes.
func mediaType(data string) string {
	const enough = 684 // base64 of the 512 bytes that are looked at, and whole groups of it
	head, err := base64.StdEncoding.DecodeString(data[:min(len(data), enough)])
	if err != nil {
		return "application/octet-stream"
	}
	kind, _, _ := strings.Cut(http.DetectContentType(head), ";")
	return kind
}

// document is a document or a search result as a text: the API takes neither.
func document(m *llm.Media) string {
	var out strings.Builder
	tag := "document"
	if m.Kind == llm.SearchResult {
		tag = "search_result"
	}
	out.WriteString("<" + tag)
	for _, a := range []struct{ name, value string }{
		{"title", cmp.Or(m.Title, m.Name)}, {"source", m.URL}, {"context", m.Context},
	} {
		if a.value != "" {
			out.WriteString(" " + a.name + "=" + strconv.Quote(a.value))
		}
	}
	out.WriteString(">\n" + m.Text + "\n</" + tag + ">")
	return out.String()
}
