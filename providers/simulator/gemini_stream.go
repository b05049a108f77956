package simulator

import "slices"

// geminiTelling counts the usage up as a stream goes on: every chunk says how
// much has been used so far.
type geminiTelling struct {
	answer geminiAnswer
	chunks [][]byte
}

func (t *geminiTelling) chunk(c geminiCandidate) {
	c.Content.Role = "model"
	t.answer.Candidates = []geminiCandidate{c}
	t.chunks = append(t.chunks, encode(t.answer))
}

func (t *geminiTelling) part(index int, part object) {
	t.chunk(geminiCandidate{Index: index, Content: geminiSaid{Parts: []object{part}}})
}

// stream tells the answer in chunks, which still have to be framed.
func (q *geminiRequest) stream(answer geminiAnswer, p *prompt) [][]byte {
	t := &geminiTelling{answer: answer}
	for i := range q.candidates() {
		q.tell(t, i, p.reply(i))
	}
	return t.chunks
}

func (q *geminiRequest) tell(t *geminiTelling, index int, said reply) {
	t.answer.Usage.add(said.reasoningTokens(), 0)
	if q.showsThoughts() && said.reasoning != "" {
		t.part(index, object{"text", said.reasoning, "thought", true})
	}
	for _, token := range split(said.text) {
		t.answer.Usage.add(0, 1)
		c := geminiCandidate{Index: index, Content: geminiSaid{Parts: []object{{"text", token}}}}
		c.logprobs(q, token)
		t.chunk(c)
	}
	if q.draws(said) {
		t.answer.Usage.add(0, mediaTokens)
		t.part(index, picture())
	}
	if len(said.calls) > 0 {
		t.answer.Usage.add(0, said.spokenTokens())
	}
	parts := q.callParts(said)
	last := geminiCandidate{Index: index}
	last.FinishReason, last.FinishMessage = said.geminiEnd()
	// Before Gemini 3 the last call comes with the end, after it a chunk with
	// an empty text does, which carries the signature of a text.
	if n := len(parts); n > 0 && geminiGeneration(q.model) < 3 {
		last.Content.Parts = parts[n-1:]
		parts = parts[:n-1]
	} else if said.text != "" || n > 0 {
		closing := object{"text", ""}
		if said.text != "" && q.signs() {
			closing = append(closing, "thoughtSignature", q.signature(said.text))
		}
		last.Content.Parts = []object{closing}
	}
	for _, part := range parts {
		t.part(index, part)
	}
	t.chunk(last)
}

// asEvents frames chunks as Google frames events: CRLF, and no mark at the end.
func asEvents(chunks [][]byte) show {
	var p show
	for _, chunk := range chunks {
		p.frames = append(p.frames, geminiEvent(chunk))
	}
	return p
}

func geminiEvent(chunk []byte) []byte {
	return slices.Concat([]byte("data: "), chunk, []byte("\r\n\r\n"))
}

// asArray frames chunks as what comes without alt=sse: one JSON array, bit by
// bit.
func asArray(chunks [][]byte) show {
	p := show{}
	for i, chunk := range chunks {
		before := ",\r\n"
		if i == 0 {
			before = "["
		}
		p.frames = append(p.frames, append([]byte(before), chunk...))
	}
	p.frames = append(p.frames, []byte("]\r\n"))
	return p
}
