//go:build !race

package openai

import (
	"io"
	"strings"
	"testing"

	"modelgateway/models/llm"
	"modelgateway/providers/upstream"
)

const textPiece = `event: response.output_text.delta
data: {"type":"response.output_text.delta","content_index":0,"delta":" word","item_id":"msg_1","logprobs":[],"obfuscation":"x9",` +
	`"output_index":0,"sequence_number":7}

`

// A piece of text is copied out of the reader's buffer: as in chat completions that is its
// one allocation.
func TestAllocationsOfAPieceOfAResponse(t *testing.T) {
	const events = 1000
	body := responseEvents(itemEvent(false, 0, messageItem())) + strings.Repeat(textPiece, events) + "data: " + completed + "\n\n"
	x := respondingTo(t, `,"stream":true`)
	n := testing.AllocsPerRun(10, func() {
		stream, err := x.events(t.Context(), upstream.NewEvents(io.NopCloser(strings.NewReader(body))))
		if err != nil {
			t.Fatal(err)
		}
		stream(func(_ *llm.Event, err error) bool {
			if err != nil {
				t.Fatal(err)
			}
			return true
		})
	})
	if each := n / events; each > 1.1 {
		t.Errorf("%.2f allocations for one event, at most 1", each)
	}
}

func TestAllocationsOfAWholeResponse(t *testing.T) {
	text := []byte(`{"id":"resp_1","object":"response","created_at":5,"status":"completed","model":"m","output":[` + messageItem("Hello") +
		`],"tools":[],"usage":{"input_tokens":9,"output_tokens":7,"total_tokens":16}}`)
	x := respondingTo(t, "")
	n := testing.AllocsPerRun(200, func() {
		stream, err := x.whole(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := llm.Collect(stream); err != nil {
			t.Fatal(err)
		}
	})
	t.Log(n)
	if n > 40 {
		t.Errorf("%v allocations, at most 40", n)
	}
}

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
