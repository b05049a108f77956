package upstreams

import (
	"fmt"
	"strings"
	"testing"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

// many is a text for each number below n.
func many(n int, each func(i int) string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = each(i)
	}
	return strings.Join(all, ",")
}

// A stream whose choices and calls had no bound would cost the square of its size.
func TestStreamWithMoreChoicesOrCallsThanAnyRequestAsksForIsRefused(t *testing.T) {
	t.Parallel()
	chunk := func(choices string) string {
		return `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[` + choices + "]}\n\n"
	}
	choice := func(i int) string {
		return fmt.Sprintf(`{"index":%d,"delta":{"role":"assistant","content":"a"},"finish_reason":null}`, i)
	}
	call := func(i int) string {
		return fmt.Sprintf(`{"index":%d,"id":"call_%d","type":"function","function":{"name":"f","arguments":"{}"}}`, i, i)
	}
	calls := func(n int) string {
		return chunk(`{"index":0,"delta":{"role":"assistant","tool_calls":[` + many(n, call) + `]},"finish_reason":null}`)
	}
	gemini := func(candidates string) string {
		return `data: {"candidates":[` + candidates + `],"modelVersion":"m"}` + "\r\n\r\n"
	}
	candidate := func(i int) string {
		return fmt.Sprintf(`{"index":%d,"content":{"role":"model","parts":[{"text":"a"}]}}`, i)
	}
	block := func(i int) string {
		start := `{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":"t%d","name":"f","input":{}}}`
		return fmt.Sprintf("event: content_block_start\ndata: "+start+"\n\n", i, i)
	}
	begin := "event: message_start\ndata: " + `{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}` + "\n\n"
	for _, tt := range []struct{ name, provider, more, stream string }{
		{"choices", "openai", "", chunk(many(80_000, choice))},
		{"choices of two", "openai", `,"n":2`, chunk(many(3, choice))},
		{"calls", "openai", "", calls(20_000)},
		{"candidates", "gemini", "", gemini(many(80_000, candidate))},
		{"calls", "gemini", "", gemini(`{"index":0,"content":{"role":"model","parts":[` +
			many(20_000, func(int) string { return `{"functionCall":{"name":"f","args":{}}}` }) + `]}}`)},
		{"open blocks", "anthropic", "", begin + strings.ReplaceAll(many(20_000, block), "\n\n,", "\n\n")},
	} {
		t.Run(tt.provider+" "+tt.name, func(t *testing.T) {
			t.Parallel()
			for _, f := range gatewaytest.Providers() {
				if f.Name != tt.provider {
					continue
				}
				_, end, _ := strings.Cut(f.End, "\n\n") // of a choice or a block
				if f.Name == "gemini" {
					end = f.End
				}
				u := providertest.Serve(t, gatewaytest.Events(0, tt.stream, end))
				p := startWith(t, f, u.URL)
				s := p.Chat(t, `{"model":"`+f.Model+`","stream":true`+tt.more+`,"messages":[{"role":"user","content":"hi"}],`+
					`"tools":[{"type":"function","function":{"name":"f"}}]}`)
				checkInterrupted(t, tt.name, s)
				if len(s.Body) > 1<<20 {
					t.Errorf("%d bytes have been sent", len(s.Body))
				}
			}
		})
	}
	f := gatewaytest.Providers()[0]
	u := providertest.Serve(t, gatewaytest.Events(0, chunk(many(128, choice)), calls(1_024),
		chunk(many(128, func(i int) string { return fmt.Sprintf(`{"index":%d,"delta":{},"finish_reason":"stop"}`, i) })), "data: [DONE]\n\n"))
	s := startWith(t, f, u.URL).Chat(t, `{"model":"`+f.Model+`","stream":true,"messages":[{"role":"user","content":"hi"}]}`)
	if s.Err != nil || !strings.HasSuffix(s.Body, "data: [DONE]\n\n") {
		t.Errorf("the most that is possible: %v, %.500s", s.Err, s.Body)
	}
}
