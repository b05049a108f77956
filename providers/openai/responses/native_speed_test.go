package responses

import (
	"io"
	"strconv"
	"strings"
	"testing"

	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/openai/openaitest"
	"modelgateway/providers/upstream"
)

// nativePrompt is a request with a text of this size, as that of chat completions.
func nativePrompt(size int) string {
	text := strings.Repeat("The quick brown fox jumps over the lazy dog, and \\\"why\\\" is not known.\\n", size/70+1)[:size]
	return `{"model":"gpt-4o","instructions":"Be brief.","input":[{"role":"user","content":"` + strings.TrimRight(text, "\\") +
		`"}],"max_output_tokens":256,"temperature":0.7,"stream":true}`
}

// nativeCall is a call as Codex makes it.
func nativeCall(size int) providers.Call {
	call := responsesCall(nativePrompt(size), func(r *llm.Request) {
		r.Beside.Headers = []llm.Header{{Name: "Originator", Value: "codex"}, {Name: "Session_id", Value: "s"}}
	})
	call.Model = &catalog.Model{Provider: catalog.OpenAI, Upstream: "gpt-4o-2024-08-06"}
	return call
}

func BenchmarkNativePrepare(b *testing.B) {
	p := apiAt("http://127.0.0.1:1")
	for _, size := range []int{200, 32 << 10} {
		call := nativeCall(size)
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

// nativeText is an event as OpenAI writes it, with padding of the usual length.
const nativeText = "event: response.output_text.delta\n" +
	`data: {"type":"response.output_text.delta","content_index":0,"delta":" quick brown","item_id":"msg_00592e6f5dcbcae50169fab1ba9e8481",` +
	`"logprobs":[],"obfuscation":"ReLAoBL6","output_index":0,"sequence_number":4}` + "\n\n"

// BenchmarkNativeChunk is one event of a stream on its way to the client's bytes.
func BenchmarkNativeChunk(b *testing.B) {
	n, err := apiAt("http://127.0.0.1:1").native(nativeCall(200), createPath)
	if err != nil {
		b.Fatal(err)
	}
	first := lines(strings.ReplaceAll(firstEvent, "resp_0123456789", longID))
	stream, err := n.events(b.Context(), upstream.NewEvents(io.NopCloser(io.MultiReader(strings.NewReader(first),
		&openaitest.Endless{Text: nativeText}))), "k")
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
			continue
		}
		out = append(out[:0], e.Raw...)
		if count++; count >= b.N {
			break
		}
	}
}

// BenchmarkNativeAnswer is a whole answer on its way to the client's bytes, with an id that
// the client gets another name for and without.
func BenchmarkNativeAnswer(b *testing.B) {
	n, err := apiAt("http://127.0.0.1:1").native(nativeCall(200), createPath)
	if err != nil {
		b.Fatal(err)
	}
	for _, store := range []string{"true", "false"} {
		text := []byte(strings.Replace(wholeResponse, "{", `{"store":`+store+`,`, 1))
		b.Run("store="+store, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				stream, err := n.answer(text, "k")
				if err != nil {
					b.Fatal(err)
				}
				stream(func(*llm.Event, error) bool { return true })
			}
		})
	}
}

// longID is an id as long as OpenAI's.
const longID = "resp_00592e6f5dcbcae50169fab1b9e8d881a09c47e6e6ed4a4eb1"
