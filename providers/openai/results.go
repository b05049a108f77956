package openai

import (
	"slices"
	"strings"

	"modelgateway/llm"
)

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
