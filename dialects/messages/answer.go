package messages

import (
	"slices"
	"strings"

	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
)

// appendAnswer adds the JSON of a whole message to dst. Its blocks are those of the stream.
func appendAnswer(dst []byte, req *llm.Request, a *llm.Answer) ([]byte, error) {
	if a.RawDialect == llm.Messages {
		return append(dst, a.Raw...), nil
	}
	if a.RawDialect != "" {
		return dst, foreign(a.RawDialect)
	}
	b := newBlocks(new(content), req)
	b.out = openMessage(jsonbytes.Writer(dst).Object(), &a.Head)
	var choice llm.AnswerChoice
	if at := slices.IndexFunc(a.Choices, func(c llm.AnswerChoice) bool { return c.Index == 0 }); at >= 0 {
		choice = a.Choices[at]
	}
	choice.Events(b.event)
	b.end()
	return withUsage(b.ending(b.out.EndList(), &choice.Ending), a.Usage, a.ServiceTier).EndObject(), nil
}

// messageID is the upstream's id of a message where it is one of Anthropic's form.
func messageID(id string) string {
	if strings.HasPrefix(id, "msg_") {
		return id
	}
	return newID("msg_")
}
