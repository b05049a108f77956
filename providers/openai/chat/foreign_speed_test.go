package chat

import (
	"testing"

	"modelgateway/dialects/messages"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/openai/openaitest"
)

// ownQuestion is a short request of Anthropic's Messages API.
const ownQuestion = `{"model":"gpt-4o","messages":[{"role":"user","content":"The quick brown fox jumps over the lazy dog and so on."}],` +
	`"max_tokens":256,"temperature":0.7}`

func BenchmarkForeignPrepare(b *testing.B) {
	p, m := apiAt("http://127.0.0.1:1"), openaitest.Model(b, "gpt-4o")
	b.ReportAllocs()
	for b.Loop() {
		req, err := messages.Decode(nil, []byte(ownQuestion))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := p.Prepare(providers.Call{Request: req, Model: m}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkForeignAnswer is an answer that is read, collected and written for a client of another dialect.
func BenchmarkForeignAnswer(b *testing.B) {
	req, err := messages.Decode(nil, []byte(ownQuestion))
	if err != nil {
		b.Fatal(err)
	}
	prepared, err := apiAt("http://127.0.0.1:1").Prepare(providers.Call{Request: req, Model: openaitest.Model(b, "gpt-4o")})
	if err != nil {
		b.Fatal(err)
	}
	x, text := prepared.(*exchange), []byte(wholeText)
	b.ReportAllocs()
	var dst []byte
	for b.Loop() {
		stream, err := x.read(b.Context(), text)
		if err != nil {
			b.Fatal(err)
		}
		answer, err := llm.Collect(stream)
		if err != nil {
			b.Fatal(err)
		}
		if dst, err = messages.Dialect().AppendAnswer(dst[:0], req, answer); err != nil {
			b.Fatal(err)
		}
	}
}
