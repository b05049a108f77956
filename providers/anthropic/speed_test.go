package anthropic

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"modelgateway/models/api"
	"modelgateway/providers"
	"modelgateway/providers/sse"
	"modelgateway/providers/upstream"
)

// textStream is a stream of n text fragments.
func textStream(n int) []byte {
	var b bytes.Buffer
	b.WriteString("event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n")
	b.WriteString("event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n")
	for i := range n {
		fmt.Fprintf(&b, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\" piece of text number %d\"}%s}\n\n", i, strings.Repeat(" ", i%7))
	}
	b.WriteString("event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n")
	b.WriteString("event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":9}}\n\n")
	b.WriteString("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
	return b.Bytes()
}

// newStream reads a stream from memory.
func newStream(body []byte) *stream {
	p := New(Options{BaseURL: "http://localhost", Now: func() time.Time { return time.Unix(1, 0) }, IdleTimeout: time.Minute})
	return &stream{
		ctx: context.Background(), client: p.client,
		events: &upstream.Events{Reader: sse.NewReader(bytes.NewReader(body))},
		answer: newAnswer(&exchange{provider: p, model: "claude-test"}),
	}
}

// BenchmarkTextChunk measures one text fragment from the upstream's bytes to
// the chunk.
func BenchmarkTextChunk(b *testing.B) {
	body := textStream(b.N)
	s := newStream(body)
	b.ReportAllocs()
	b.ResetTimer()
	if err := s.first(); err != nil {
		b.Fatal(err)
	}
	chunks := 0
	s.run(func(_ *api.ChatChunk, err error) bool {
		if err != nil {
			b.Fatal(err)
		}
		chunks++
		return true
	})
	if chunks < b.N {
		b.Fatalf("%d chunks of %d fragments", chunks, b.N)
	}
}

// BenchmarkPrepare measures the translation of a long conversation: ten tools,
// twenty calls with their results.
func BenchmarkPrepare(b *testing.B) {
	messages := []string{`{"role":"system","content":"Be brief."}`, user("q")}
	for i := range 20 {
		id := fmt.Sprintf("toolu_%d", i)
		messages = append(messages, calls(id, "get_weather", `{"city":"Paris","days":[1,2,3]}`), result(id, strings.Repeat("It rains, and it does not stop. ", 20)))
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
