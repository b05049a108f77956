package anthropic

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/sse"
	"modelgateway/providers/upstream"
)

// textStream is a stream of n text fragments.
func textStream(n int) []byte {
	var b bytes.Buffer
	write := func(name, data string) { fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", name, data) }
	write("message_start", `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m",`+
		`"content":[],"usage":{"input_tokens":1,"output_tokens":1}}}`)
	write("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
	for i := range n {
		write("content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":0,`+
			`"delta":{"type":"text_delta","text":" piece of text number %d"}%s}`, i, strings.Repeat(" ", i%7)))
	}
	write("content_block_stop", `{"type":"content_block_stop","index":0}`)
	write("message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}`)
	write("message_stop", `{"type":"message_stop"}`)
	return b.Bytes()
}

// newStream reads a stream from memory.
func newStream(body []byte) *stream {
	p := New(providers.Options{BaseURL: "http://localhost", Now: func() time.Time { return time.Unix(1, 0) }, IdleTimeout: time.Minute})
	return &stream{
		ctx: context.Background(), client: p.client,
		events: &upstream.Events{Reader: sse.NewReader(bytes.NewReader(body))},
		answer: newAnswer(&exchange{provider: p, model: "claude-test"}),
	}
}

// BenchmarkTextEvent measures one text fragment from the upstream's bytes to
// the event.
func BenchmarkTextEvent(b *testing.B) {
	body := textStream(b.N)
	s := newStream(body)
	b.ReportAllocs()
	b.ResetTimer()
	if err := s.readStart(); err != nil {
		b.Fatal(err)
	}
	count := 0
	s.run(func(_ *llm.Event, err error) bool {
		if err != nil {
			b.Fatal(err)
		}
		count++
		return true
	})
	if count < b.N {
		b.Fatalf("%d events of %d fragments", count, b.N)
	}
}

// BenchmarkPrepare measures the translation of a long conversation: ten tools,
// twenty calls with their results.
func BenchmarkPrepare(b *testing.B) {
	messages := []string{`{"role":"system","content":"Be brief."}`, user("q")}
	for i := range 20 {
		id := fmt.Sprintf("toolu_%d", i)
		messages = append(messages, calls(id, "get_weather", `{"city":"Paris","days":[1,2,3]}`), result(id,
			strings.Repeat("It rains, and it does not stop. ", 20)))
	}
	tools := strings.TrimSuffix(strings.Repeat(weather+",", 10), ",")
	body := `{"model":"m","stream":true,` + talk(messages...) + `,"tools":[` + tools + `]}`
	call := providers.Call{Request: chatRequest(b, body), Model: model(b, budgetNew)}
	p := provider("http://127.0.0.1:1")
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Prepare(call); err != nil {
			b.Fatal(err)
		}
	}
}
