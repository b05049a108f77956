package openai

import (
	"cmp"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/providers"
)

// parts are the blocks of a message that are content.
func (c *composition) parts(m *llm.Message, blocks []llm.Block) ([]contentPart, error) {
	var out []contentPart
	for i := range blocks {
		b := &blocks[i]
		c.ignoreCache(b, m.Cache)
		before := len(out)
		switch b.Kind {
		case llm.BlockText, llm.BlockRefusal:
			out = appendText(out, b.Text)
		case llm.BlockMedia:
			p, err := c.media(m, b)
			if err != nil {
				return nil, err
			}
			if b.Media.Context != "" && p.Type != "text" {
				out = appendText(out, providers.DocumentLine(b.Media))
			}
			out = append(out, p)
		default:
			c.ignoreIf(true, llm.FieldPartType)
		}
		if len(out) > before && len(b.Cache) > 0 {
			c.breakAt(&out[len(out)-1])
		}
	}
	return out, nil
}

// mostBreakpoints is how many marks a request may have.
const mostBreakpoints = 4

// breakAt marks a part as the end of what is to be cached. Models that take no marks cache
// by themselves.
func (c *composition) breakAt(p *contentPart) {
	p.Breakpoint = c.breakpoint()
}

// breakpoint marks the end of what is to be cached; nil where the model takes no mark or no
// further one.
func (c *composing) breakpoint() *breakpoint {
	if !c.model.Traits.CacheBreakpoints || c.breakpoints == mostBreakpoints {
		return nil
	}
	c.breakpoints++
	return &breakpoint{Mode: "explicit"}
}

// ignoreCache notes the cache mark of a block. That of the whole message is the
// mark of its last block as well.
func (c *composing) ignoreCache(b *llm.Block, whole jsontext.Value) {
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
	if err := c.checkMedia(m, b); err != nil {
		return contentPart{}, err
	}
	media := b.Media
	switch {
	case media.Text != "":
		return contentPart{Type: "text", Text: providers.DocumentText(media)}, nil
	case media.Kind == llm.Audio:
		return contentPart{Type: "input_audio", InputAudio: &chat.InputAudio{Data: media.Data, Format: media.Format}}, nil
	case media.Kind == llm.Image:
		return contentPart{Type: "image_url", ImageURL: &chat.ImageURL{URL: media.URL, Detail: media.Detail}}, nil
	}
	return c.file(b)
}

// checkMedia fails on what neither API can have.
func (c *composing) checkMedia(m *llm.Message, b *llm.Block) error {
	media := b.Media
	c.ignoreIf(media.Citations, llm.FieldCitations)
	switch {
	case media.Text != "":
		return nil
	case m.Role == llm.RoleInstructions:
		return c.unsupported(llm.FieldPartType, b.At, "the model %s accepts only text as instructions", c.model.ID)
	case media.Kind == llm.SearchResult:
		return c.unsupported(llm.FieldPartType, b.At, "the model %s accepts search results with a text only", c.model.ID)
	case media.Kind != llm.Audio && media.URL == "" && media.Data == "":
		return c.unsupported(llm.FieldFileID, b.At,
			"the model %s cannot reach files by the ids of another API: send the file itself", c.model.ID)
	}
	return nil
}

// file is a file by its data. The API has no file by a web address.
func (c *composition) file(b *llm.Block) (contentPart, error) {
	m := b.Media
	if hasWebAddress(m) {
		return contentPart{}, c.unsupported(llm.FieldFileData, b.At,
			"the model %s fetches no files: send the file itself in base64", c.model.ID)
	}
	return contentPart{Type: "file", File: fileOf(m)}, nil
}

// fileOf is a file by its data.
func fileOf(m *llm.Media) *file {
	data := m.URL
	if data == "" {
		data = "data:" + mediaType(m.Data) + ";base64," + m.Data
	}
	name := cmp.Or(m.Name, m.Title)
	if name == "" && strings.HasPrefix(data, "data:application/pdf") {
		name = "document.pdf" // OpenAI wants a name
	}
	return &file{FileData: data, Filename: name}
}

// hasWebAddress says whether a medium stands at a web address.
func hasWebAddress(m *llm.Media) bool {
	return strings.HasPrefix(m.URL, "https://") || strings.HasPrefix(m.URL, "http://")
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

// result adds the result of a call. OpenAI takes texts there; images and files
// follow in a message of the user.
func (w *messageWriter) result(m *llm.Message, b *llm.Block) error {
	w.c.ignoreCache(b, m.Cache)
	call, err := w.answers(m, b)
	if err != nil {
		return err
	}
	parts, err := w.c.parts(m, b.Result.Content)
	if err != nil {
		return err
	}
	isMedia := func(p contentPart) bool { return p.Type != "text" }
	media := slices.DeleteFunc(slices.Clone(parts), func(p contentPart) bool { return !isMedia(p) })
	texts := slices.DeleteFunc(parts, isMedia)
	if len(media) > 0 {
		w.media = append(appendText(w.media, "Images and files of the result of the tool call "+call.id+":"), media...)
		if len(texts) == 0 {
			texts = appendText(texts, "The result follows in a message of the user.")
		}
	}
	if b.Result.IsError {
		texts = failed(texts)
	}
	if len(texts) > 0 && len(b.Cache) > 0 {
		w.c.breakAt(&texts[len(texts)-1])
	}
	out := message{Role: "tool", ToolCallID: call.id, Content: contentOf(texts)}
	if len(texts) == 0 {
		out.Content = quote("")
	}
	w.c.out.Messages = append(w.c.out.Messages, out)
	return nil
}

// failed marks the texts of a result as an error, for which OpenAI has no member.
func failed(texts []contentPart) []contentPart {
	if len(texts) == 0 {
		return appendText(nil, failedText(""))
	}
	texts[0].Text = failedText(texts[0].Text)
	return texts
}

// failedText is the text of a result that is an error.
func failedText(text string) string {
	const mark = "Error:"
	switch {
	case text == "":
		return mark
	case strings.HasPrefix(text, mark):
		return text
	}
	return mark + " " + text
}
