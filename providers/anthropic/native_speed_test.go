package anthropic

import (
	"io"
	"strconv"
	"strings"
	"testing"

	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/upstream"
)

// nativePrompt is a request with a text of this size, as providers/openai measures its own.
func nativePrompt(size int) string {
	text := strings.Repeat("The quick brown fox jumps over the lazy dog, and \\\"why\\\" is not known.\\n", size/70+1)[:size]
	return `{"model":"claude-sonnet-4-5","system":"Be brief.","messages":[{"role":"user","content":"` + strings.TrimRight(text, "\\") +
		`"}],"max_tokens":256,"temperature":0.7,"stream":true}`
}

func nativeCall(t testing.TB, size int) providers.Call {
	t.Helper()
	req := messagesRequest(t, nativePrompt(size))
	req.Beside = llm.Beside{Headers: []llm.Header{{Name: "Anthropic-Version", Value: version}, {Name: "Anthropic-Beta", Value: "a,b"}}}
	return providers.Call{Request: req, Model: &catalog.Model{Upstream: "claude-sonnet-4-5-20250929"}}
}

func BenchmarkNativePrepare(b *testing.B) {
	p := provider("http://127.0.0.1:1")
	for _, size := range []int{200, 32 << 10} {
		call := nativeCall(b, size)
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Prepare(call); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// nativeText is an event of the API with as much text as that of providers/openai.
const nativeText = "event: content_block_delta\n" +
	`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" quick brown"}         }` + "\n\n"

// endless repeats a text after another one.
type endless struct {
	first, text string
	at          int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.first != "" {
		n := copy(p, e.first)
		e.first = e.first[n:]
		return n, nil
	}
	n := copy(p, e.text[e.at:])
	e.at = (e.at + n) % len(e.text)
	return n, nil
}

// BenchmarkNativeChunk is one event of a stream on its way to the client's bytes.
func BenchmarkNativeChunk(b *testing.B) {
	n, err := provider("http://127.0.0.1:1").native(nativeCall(b, 200), messagesPath)
	if err != nil {
		b.Fatal(err)
	}
	first := events(start, text0)
	stream, err := n.events(b.Context(), upstream.NewEvents(io.NopCloser(&endless{first: first, text: nativeText})), "k")
	if err != nil {
		b.Fatal(err)
	}
	var out []byte
	b.ReportAllocs()
	count := 0
	for e, err := range stream {
		if err != nil {
			b.Fatal(err)
		}
		if e == nil {
			continue // a pause
		}
		out = append(out[:0], e.Raw...)
		if count++; count >= b.N {
			break
		}
	}
	_ = out
}

func BenchmarkNativeAnswer(b *testing.B) {
	n, err := provider("http://127.0.0.1:1").native(nativeCall(b, 200), messagesPath)
	if err != nil {
		b.Fatal(err)
	}
	text := []byte(wholeMessageText)
	b.ReportAllocs()
	for b.Loop() {
		stream, err := n.answer(text, testKey)
		if err != nil {
			b.Fatal(err)
		}
		stream(func(*llm.Event, error) bool { return true })
	}
}
