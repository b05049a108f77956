package gemini

import (
	"testing"

	"modelgateway/dialects/chat"
	"modelgateway/llm"
)

const textEvent = `data: {"candidates": [{"content": {"parts": [{"text": " the quick brown fox jumps over"}],"role": "model"},` +
	`"index": 0}],"usageMetadata": {"promptTokenCount": 46,"candidatesTokenCount": 22,"totalTokenCount": 135,` +
	`"promptTokensDetails": [{"modality": "TEXT","tokenCount": 46}],"thoughtsTokenCount": 67},"modelVersion": "gemini-3-flash-preview",` +
	`"responseId": "n1P6abvRFaKdz7IPkcuQ2Aw"}` + "\r\n\r\n"

// endless repeats an event for ever.
type endless struct {
	text string
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.text[e.at:])
	e.at = (e.at + n) % len(e.text)
	return n, nil
}

// BenchmarkTextChunk is one event of a stream on its way to a chunk.
func BenchmarkTextChunk(b *testing.B) {
	x, err := prepare(b, "gemini-2.5-flash", ask)
	if err != nil {
		b.Fatal(err)
	}
	s, err := x.start(b.Context(), &endless{text: textEvent})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	n := 0
	b.ResetTimer()
	s.run(func(*llm.Event, error) bool {
		n++
		return n < b.N
	})
	b.SetBytes(int64(len(textEvent)))
}

func BenchmarkPrepare(b *testing.B) {
	req, err := chat.Decode(nil, []byte(`{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"q"}],`+
		`"temperature":1,"stream":true}`))
	if err != nil {
		b.Fatal(err)
	}
	p, m := provider("http://127.0.0.1:1"), model(b, "gemini-2.5-flash")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Prepare(callOf(req, m)); err != nil {
			b.Fatal(err)
		}
	}
}
