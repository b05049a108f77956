package gemini

import (
	"slices"

	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/reply"
	"modelgateway/providers/simulator/wire"
)

// chunks writes the answer in chunks, without their frames. Every chunk says how much has been
// used so far.
func (q *Request) chunks(a answer, p *reply.Prompt) (chunks [][]byte) {
	for i := range q.candidates() {
		r := p.Reply(i)
		pieces := q.pieces(r, reply.Split(r.Text))
		last := candidate{Index: i, Content: parts{Role: "model"}}
		last.FinishReason, last.FinishMessage = finish(r.End)
		// Before Gemini 3 the last call comes with the end. Since then a chunk with an
		// empty text does, which carries the signature of a text.
		if end := len(pieces) - 1; end >= 0 && pieces[end].called && Generation(q.Model) < 3 {
			last.Content.Parts = []rawjson.Object{pieces[end].part}
			pieces[end].part = nil
		} else if r.Text != "" || len(r.Calls) > 0 {
			closing := rawjson.Object{"text", ""}
			if len(r.Calls) == 0 && q.signs() {
				closing = append(closing, "thoughtSignature", q.sign(r.Text))
			}
			last.Content.Parts = []rawjson.Object{closing}
		}
		for _, piece := range pieces {
			a.Candidates = []candidate{{Index: i, Content: parts{Role: "model"}}}
			if a.add(q, piece); piece.part != nil {
				chunks = append(chunks, rawjson.Encode(a))
			}
		}
		a.Candidates = []candidate{last}
		chunks = append(chunks, rawjson.Encode(a))
	}
	return chunks
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
