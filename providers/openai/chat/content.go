package chat

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/openai/compose"
	"modelgateway/providers/openai/wire"
)

// parts are the blocks of a message that are content.
func (c *composition) parts(m *llm.Message, blocks []llm.Block) ([]contentPart, error) {
	var out []contentPart
	for i := range blocks {
		b := &blocks[i]
		c.IgnoreCache(b, m.Cache)
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
			c.IgnoreIf(true, llm.FieldPartType)
		}
		if len(out) > before && len(b.Cache) > 0 {
			c.breakAt(&out[len(out)-1])
		}
	}
	return out, nil
}

// breakAt marks a part as the end of what is to be cached. Models that take no marks cache
// by themselves.
func (c *composition) breakAt(p *contentPart) {
	p.Breakpoint = c.Breakpoint()
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
	if err := c.CheckMedia(m, b); err != nil {
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

// file is a file by its data. The API has no file by a web address.
func (c *composition) file(b *llm.Block) (contentPart, error) {
	m := b.Media
	if compose.HasWebAddress(m) {
		return contentPart{}, c.Unsupported(llm.FieldFileData, b.At,
			"the model %s fetches no files: send the file itself in base64", c.Model.ID)
	}
	return contentPart{Type: "file", File: compose.FileOf(m)}, nil
}

// result adds the result of a call. OpenAI takes texts there; images and files
// follow in a message of the user.
func (w *messageWriter) result(m *llm.Message, b *llm.Block) error {
	w.c.IgnoreCache(b, m.Cache)
	call, err := w.CallOf(m, b)
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
		w.media = append(appendText(w.media, "Images and files of the result of the tool call "+call.ID+":"), media...)
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
	out := message{Role: "tool", ToolCallID: call.ID, Content: contentOf(texts)}
	if len(texts) == 0 {
		out.Content = wire.Quote("")
	}
	w.c.out.Messages = append(w.c.out.Messages, out)
	return nil
}

// failed marks the texts of a result as an error, for which OpenAI has no member.
func failed(texts []contentPart) []contentPart {
	if len(texts) == 0 {
		return appendText(nil, compose.FailedText(""))
	}
	texts[0].Text = compose.FailedText(texts[0].Text)
	return texts
}
