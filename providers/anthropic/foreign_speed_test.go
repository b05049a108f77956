package anthropic

import (
	"testing"

	"modelgateway/dialects/responses"
	"modelgateway/llm"
	"modelgateway/providers"
)

// A short request of the Responses API, read and written for Anthropic.
func BenchmarkForeignPrepare(b *testing.B) {
	const question = `{"model":"claude-haiku-4-5","instructions":"Be brief.",` +
		`"input":"The quick brown fox jumps over the lazy dog and so on.","max_output_tokens":256,"temperature":0.7}`
	p, m := provider("http://127.0.0.1:1"), model(b, budgetNew)
	b.ReportAllocs()
	for b.Loop() {
		req, err := responses.Decode(nil, []byte(question))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := p.Prepare(providers.Call{Request: req, Model: m}); err != nil {
			b.Fatal(err)
		}
	}
}

// The same client's answer, read, collected and written.
func BenchmarkForeignAnswer(b *testing.B) {
	req, err := responses.Decode(nil, []byte(`{"model":"claude-haiku-4-5","input":"hi"}`))
	if err != nil {
		b.Fatal(err)
	}
	p := provider("http://127.0.0.1:1")
	prepared, err := p.Prepare(providers.Call{Request: req, Model: model(b, budgetNew)})
	if err != nil {
		b.Fatal(err)
	}
	x := prepared.(*exchange)
	b.ReportAllocs()
	for b.Loop() {
		m, err := readMessage([]byte(wholeText))
		if err != nil {
			b.Fatal(err)
		}
		answer, err := llm.Collect(x.replay(m))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := responses.Dialect().AppendAnswer(nil, req, answer); err != nil {
			b.Fatal(err)
		}
	}
}
