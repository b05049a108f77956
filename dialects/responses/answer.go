package responses

import (
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"modelgateway/llm"
)

// appendAnswer adds the JSON of a whole response to dst. Its items are those of the stream.
func appendAnswer(dst []byte, req *llm.Request, a *llm.Answer) ([]byte, error) {
	if a.RawDialect == llm.Responses {
		return append(dst, a.Raw...), nil
	}
	if a.RawDialect != "" {
		return dst, foreign(a.RawDialect)
	}
	r := newResponse(req)
	r.head(&a.Head, time.Now)
	it := newItems(req, r.stem)
	it.whole = true
	var choice llm.AnswerChoice
	if at := slices.IndexFunc(a.Choices, func(c llm.AnswerChoice) bool { return c.Index == 0 }); at >= 0 {
		choice = a.Choices[at]
	}
	it.replay(&choice)
	if it.unfinished() {
		return dst, errNoSummary
	}
	if r.request.endpoint == Compact {
		return r.appendCompaction(dst, it.output, a.Usage), nil
	}
	return r.append(dst, &state{
		status: statusOf(&choice.Ending), reason: reasonOf(&choice.Ending), completed: time.Now().Unix(),
		output: it.output, usage: a.Usage,
	}), nil
}

// replay takes the blocks of an answer as the events that they would have come in.
func (it *items) replay(c *llm.AnswerChoice) {
	var e llm.Event
	var start llm.CallStart
	calls, chars, logprobs := 0, 0, c.Logprobs
	for i := range c.Blocks {
		from := &c.Blocks[i]
		e = llm.Event{Block: i, Text: from.Text, Thought: from.Thought, Media: from.Media}
		switch from.Kind {
		case llm.BlockText:
			e.Kind, e.Logprobs, logprobs = llm.EventText, logprobs, nil
		case llm.BlockRefusal:
			e.Kind = llm.EventRefusal
		case llm.BlockThought:
			e.Kind = llm.EventThought
		case llm.BlockMedia:
			e.Kind = llm.EventMedia
		case llm.BlockCall:
			start = llm.CallStart{ID: from.Call.ID, Name: from.Call.Name, Arguments: from.Call.Input, Thought: from.Thought}
			e.Kind, e.Call, e.CallIndex = llm.EventCall, &start, calls
			calls++
		default:
			continue
		}
		it.event(&e)
		if from.Kind == llm.BlockText && len(c.Citations) > 0 {
			before := chars
			chars += utf8.RuneCountInString(from.Text)
			it.event(&llm.Event{Kind: llm.EventCitations, Citations: within(c.Citations, before, chars, i == len(c.Blocks)-1)})
		}
	}
	it.end(statusOf(&c.Ending))
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

// appendCount adds the answer of /v1/responses/input_tokens.
func appendCount(dst []byte, tokens int64) []byte {
	dst = append(dst, `{"object":"response.input_tokens","input_tokens":`...)
	return append(strconv.AppendInt(dst, tokens, 10), '}')
}
