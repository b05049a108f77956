package gemini

import (
	"slices"

	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/reply"
	"modelgateway/providers/simulator/wire"
)

// chunkBuilder adds up the usage of a stream: every chunk says how much has been
// used so far.
type chunkBuilder struct {
	answer answer
	chunks [][]byte
}

func (b *chunkBuilder) chunk(c candidate) {
	c.Content.Role = "model"
	b.answer.Candidates = []candidate{c}
	b.chunks = append(b.chunks, rawjson.Encode(b.answer))
}

func (b *chunkBuilder) part(index int, part rawjson.Object) {
	b.chunk(candidate{Index: index, Content: parts{Parts: []rawjson.Object{part}}})
}

// chunks writes the answer in chunks, without their frames.
func (q *Request) chunks(a answer, p *reply.Prompt) [][]byte {
	b := &chunkBuilder{answer: a}
	for i := range q.candidates() {
		q.addCandidate(b, i, p.Reply(i))
	}
	return b.chunks
}

func (q *Request) addCandidate(b *chunkBuilder, index int, r reply.Reply) {
	b.answer.Usage.add(r.ReasoningTokens(), 0)
	if q.showsThoughts() && r.Reasoning != "" {
		b.part(index, rawjson.Object{"text", r.Reasoning, "thought", true})
	}
	for _, token := range reply.Split(r.Text) {
		b.answer.Usage.add(0, 1)
		c := candidate{Index: index, Content: parts{Parts: []rawjson.Object{{"text", token}}}}
		c.addLogprobs(q, token)
		b.chunk(c)
	}
	if q.draws(r) {
		b.answer.Usage.add(0, reply.MediaTokens)
		b.part(index, image())
	}
	if len(r.Calls) > 0 {
		b.answer.Usage.add(0, r.AnswerTokens())
	}
	calls := q.callParts(r)
	last := candidate{Index: index}
	last.FinishReason, last.FinishMessage = finish(r.End)
	// Before Gemini 3 the last call comes with the end. Since then a chunk with an
	// empty text does, which carries the signature of a text.
	if n := len(calls); n > 0 && Generation(q.Model) < 3 {
		last.Content.Parts = calls[n-1:]
		calls = calls[:n-1]
	} else if r.Text != "" || n > 0 {
		closing := rawjson.Object{"text", ""}
		if r.Text != "" && n == 0 && q.signs() {
			closing = append(closing, "thoughtSignature", q.sign(r.Text))
		}
		last.Content.Parts = []rawjson.Object{closing}
	}
	for _, part := range calls {
		b.part(index, part)
	}
	b.chunk(last)
}

// asEvents frames chunks as Google frames events: with CRLF, and without a last
// event that says the end.
func asEvents(chunks [][]byte) wire.Stream {
	var s wire.Stream
	for _, chunk := range chunks {
		s.Events = append(s.Events, event(chunk))
	}
	return s
}

func event(chunk []byte) []byte {
	return slices.Concat([]byte("data: "), chunk, []byte("\r\n\r\n"))
}

// asArray frames chunks as the elements of one JSON array, which is how Google
// streams without alt=sse.
func asArray(chunks [][]byte) wire.Stream {
	var s wire.Stream
	for i, chunk := range chunks {
		before := ",\r\n"
		if i == 0 {
			before = "["
		}
		s.Events = append(s.Events, append([]byte(before), chunk...))
	}
	s.Events = append(s.Events, []byte("]\r\n"))
	return s
}
