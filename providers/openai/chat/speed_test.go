package chat

import (
	"io"
	"strconv"
	"strings"
	"testing"

	"modelgateway/catalog"
	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/openai/openaitest"
	"modelgateway/providers/sse"
	"modelgateway/providers/upstream"
)

func prompt(size int) []byte {
	text := strings.Repeat("The quick brown fox jumps over the lazy dog, and \\\"why\\\" is not known.\\n", size/70+1)[:size]
	text = strings.TrimRight(text, "\\")
	return []byte(`{"model":"gpt-4o","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"` + text +
		`"}],"max_tokens":256,"temperature":0.7,"stream":true,"stream_options":{"include_usage":true}}`)
}

func BenchmarkPrepare(b *testing.B) {
	p := apiAt("http://127.0.0.1:1")
	for _, size := range []int{200, 32 << 10} {
		req, err := chat.Decode(nil, prompt(size))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Prepare(providers.Call{Request: req,
					Model: &catalog.Model{Upstream: "gpt-4o", Traits: catalog.Traits{LimitField: "max_completion_tokens"}}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

const textEvent = `data: {"id":"chatcmpl-CBd8k3","object":"chat.completion.chunk","created":1757000000,"model":"gpt-4o-2024-08-06",` +
	`"service_tier":"default","system_fingerprint":"fp_abc123","choices":[{"index":0,"delta":{"content":" quick brown"},"logprobs":null,` +
	`"finish_reason":null}],"usage":null,"obfuscation":"abcdefgh"}` + "\n\n"

// BenchmarkTextChunk is one event of a stream on its way to the client's bytes.
func BenchmarkTextChunk(b *testing.B) {
	stream, err := plainExchange().events(b.Context(), upstream.NewEvents(io.NopCloser(&openaitest.Endless{Text: textEvent})))
	if err != nil {
		b.Fatal(err)
	}
	w := chat.NewWriter(new(llm.Request))
	var out []byte
	b.ReportAllocs()
	n := 0
	for c, err := range stream {
		if err != nil {
			b.Fatal(err)
		}
		if c == nil {
			continue // a pause
		}
		if out, err = w.Append(out[:0], c); err != nil {
			b.Fatal(err)
		}
		if n++; n >= b.N {
			break
		}
	}
}

func BenchmarkSSE(b *testing.B) {
	r := sse.NewReader(&openaitest.Endless{Text: textEvent})
	for b.Loop() {
		r.Next()
	}
}

const wholeText = `{"id":"chatcmpl-1","object":"chat.completion","created":1757000000,"model":"gpt-4o-2024-08-06","choices":[{"index":0,` +
	`"message":{"role":"assistant","content":"The quick brown fox jumps over the lazy dog and so on and so forth,` +
	` as it has to be with texts of this kind.","refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"stop"}],` +
	`"usage":{"prompt_tokens":19,"completion_tokens":10,"total_tokens":29,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},` +
	`"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}},` +
	`"service_tier":"default","system_fingerprint":"fp_1"}`

// BenchmarkAnswer is a whole answer that goes on as it came.
func BenchmarkAnswer(b *testing.B) {
	text, x := []byte(wholeText), plainExchange()
	x.call.Request.Stream = false
	b.ReportAllocs()
	for b.Loop() {
		if _, err := x.read(b.Context(), text); err != nil {
			b.Fatal(err)
		}
	}
}

// The two ways an event is read.
func BenchmarkEvent(b *testing.B) {
	data := []byte(strings.TrimSpace(strings.TrimPrefix(textEvent, "data: ")))
	var q reader
	b.Run("like the last", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := q.read(data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("in full", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := q.decode(data); err != nil {
				b.Fatal(err)
			}
		}
	})
}
