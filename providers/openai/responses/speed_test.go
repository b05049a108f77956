package responses

import (
	"io"
	"strings"
	"testing"

	"modelgateway/llm"
	"modelgateway/providers/upstream"
)

const textPiece = `event: response.output_text.delta
data: {"type":"response.output_text.delta","content_index":0,"delta":" word","item_id":"msg_1","logprobs":[],"obfuscation":"x9",` +
	`"output_index":0,"sequence_number":7}

`

func BenchmarkPieceOfAResponse(b *testing.B) {
	const events = 1000
	body := responseEvents(itemEvent(false, 0, messageItem())) + strings.Repeat(textPiece, events) + "data: " + completed + "\n\n"
	x := respondingTo(b, `,"stream":true`)
	b.ReportAllocs()
	for b.Loop() {
		stream, err := x.events(b.Context(), upstream.NewEvents(io.NopCloser(strings.NewReader(body))))
		if err != nil {
			b.Fatal(err)
		}
		stream(func(*llm.Event, error) bool { return true })
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/events, "ns/event")
}
