package messages

import (
	"slices"
	"strings"
	"unicode/utf8"

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
	w := new(wholeWriter)
	w.blocks = newBlocks(&w.content, req)
	b := &w.blocks
	b.out = appendHead(dst, &a.Head)
	var choice llm.AnswerChoice
	if at := slices.IndexFunc(a.Choices, func(c llm.AnswerChoice) bool { return c.Index == 0 }); at >= 0 {
		choice = a.Choices[at]
	}
	w.replay(&choice)
	dst = append(b.appendEnding(append(b.out, `],`...), &choice.Ending), `,"usage":`...)
	return append(appendUsage(dst, a.Usage, a.ServiceTier), '}'), nil
}

// messageID is the upstream's id of a message where it is one of Anthropic's form.
func messageID(id string) string {
	if strings.HasPrefix(id, "msg_") {
		return id
	}
	return newID("msg_")
}

// wholeWriter writes a whole answer.
type wholeWriter struct {
	blocks  blocks
	content content
	event   llm.Event
	call    llm.CallStart
}

// replay takes the blocks of an answer as the events that they would have come in.
func (w *wholeWriter) replay(c *llm.AnswerChoice) {
	b, e, call := &w.blocks, &w.event, &w.call
	calls, chars := 0, 0
	for i := range c.Blocks {
		from := &c.Blocks[i]
		*e = llm.Event{Block: i, Text: from.Text, Thought: from.Thought, Media: from.Media}
		switch from.Kind {
		case llm.BlockText:
			e.Kind = llm.EventText
		case llm.BlockRefusal:
			e.Kind = llm.EventRefusal
		case llm.BlockThought:
			e.Kind = llm.EventThought
		case llm.BlockMedia:
			e.Kind = llm.EventMedia
		case llm.BlockCall:
			*call = llm.CallStart{ID: from.Call.ID, Name: from.Call.Name, Arguments: from.Call.Input, Thought: from.Thought}
			e.Kind, e.Call, e.CallIndex = llm.EventCall, call, calls
			calls++
		default:
			continue
		}
		b.event(e)
		if from.Kind == llm.BlockText && len(c.Citations) > 0 {
			before := chars
			chars += utf8.RuneCountInString(from.Text)
			b.event(&llm.Event{Kind: llm.EventCitations, Citations: within(c.Citations, before, chars, i == len(c.Blocks)-1)})
		}
	}
	b.end()
}

// within are the citations of a text from one character to another; those without a place
// are of the last text.
func within(all []llm.Citation, from, to int, last bool) []llm.Citation {
	var mine []llm.Citation
	for _, c := range all {
		if placed := c.End > 0; placed && c.End > from && c.End <= to || !placed && last {
			mine = append(mine, c)
		}
	}
	return mine
}
