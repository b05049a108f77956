package chat

import (
	"strconv"
	"strings"
	"testing"

	"modelgateway/api"

	"github.com/go-json-experiment/json"
)

func prompt(size int) []byte {
	text := strings.Repeat("The quick brown fox jumps over the lazy dog, and \\\"why\\\" is not known.\\n", size/70+1)[:size]
	text = strings.TrimRight(text, "\\")
	return []byte(`{"model":"gpt-4o","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"` + text +
		`"}],"max_tokens":256,"temperature":0.7,"stream":true,"stream_options":{"include_usage":true}}`)
}

func BenchmarkDecode(b *testing.B) {
	for _, size := range []int{200, 32 << 10, 1 << 20} {
		body := prompt(size)
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Decode(nil, body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The two ways a chunk is written.
func BenchmarkChunk(b *testing.B) {
	text := " a piece of text"
	c := Chunk{ID: "chatcmpl-1", Object: ObjectChunk, Created: 1757000000, Model: "gpt-4o",
		Choices: []ChunkChoice{{Delta: Delta{Content: &text}}}}
	b.Run("quick", func(b *testing.B) {
		b.ReportAllocs()
		var e ChunkEncoder
		var buf []byte
		for b.Loop() {
			buf, _ = e.Append(buf[:0], &c)
		}
	})
	b.Run("library", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = json.Marshal(&c, api.Lenient)
		}
	})
}
