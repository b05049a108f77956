package responses

import (
	"slices"
	"time"

	"modelgateway/internal/jsonbytes"
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
	choice.Events(it.event)
	it.end(statusOf(&choice.Ending))
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

// appendCount adds the answer of /v1/responses/input_tokens.
func appendCount(dst []byte, tokens int64) []byte {
	return jsonbytes.Writer(dst).Object().Text("object", "response.input_tokens").Int("input_tokens", tokens).EndObject()
}
