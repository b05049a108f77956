package messages

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"modelgateway/api"
	"modelgateway/dialects/chat"
	"modelgateway/llm"
)

const paragraph = `The quick brown fox jumps over the lazy dog, and \"why\" is not known.\n`

// prompt is a request of one long text, as in the tests of chat completions.
func prompt(size int) []byte {
	text := strings.TrimRight(strings.Repeat(paragraph, size/70+1)[:size], `\`)
	return []byte(`{"model":"claude-x","messages":[{"role":"user","content":"` + text +
		`"}],"max_tokens":256,"temperature":0.7,"stream":true}`)
}

// history is an agent's conversation of turns, each of which calls a tool and brings its
// result, as Messages and as chat completions have it.
func history(turns int) (own, chats []byte) {
	result := strings.Repeat(paragraph, 40)
	var m, c strings.Builder
	for i := range turns {
		fmt.Fprintf(&m, `,{"role":"assistant","content":[{"type":"text","text":"I look at it."},{"type":"tool_use",`+
			`"id":"toolu_%d","name":"Read","input":{"file_path":"/a/b%d","limit":10}}]}`, i, i)
		fmt.Fprintf(&m, `,{"role":"user","content":[{"tool_use_id":"toolu_%d","type":"tool_result","content":"%s"}]}`, i, result)
		fmt.Fprintf(&c, `,{"role":"assistant","content":"I look at it.","tool_calls":[{"id":"toolu_%d","type":"function",`+
			`"function":{"name":"Read","arguments":"{\"file_path\":\"/a/b%d\",\"limit\":10}"}}]}`, i, i)
		fmt.Fprintf(&c, `,{"role":"tool","tool_call_id":"toolu_%d","content":"%s"}`, i, result)
	}
	const tool = `{"type":"object","properties":{"file_path":{"type":"string"},"limit":{"type":"integer"}},"required":["file_path"],` +
		`"additionalProperties":false}`
	own = []byte(`{"model":"claude-x","max_tokens":256,"stream":true,"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],` +
		`"tools":[{"name":"Read","input_schema":` + tool + `}],"messages":[{"role":"user","content":"Look."}` + m.String() + `]}`)
	chats = []byte(`{"model":"gpt-x","max_tokens":256,"stream":true,"tools":[{"type":"function","function":{"name":"Read",` +
		`"parameters":` + tool + `}}],` +
		`"messages":[{"role":"user","content":"Look."}` + c.String() + `]}`)
	return own, chats
}

func BenchmarkDecode(b *testing.B) {
	own, chats := history(330)
	for _, bb := range []struct {
		name   string
		body   []byte
		decode func(api.Memory, []byte) (*llm.Request, error)
	}{
		{"200", prompt(200), Dialect{}.Decode},
		{"1M text", prompt(1 << 20), Dialect{}.Decode},
		{"1M text chat", prompt(1 << 20), chat.Decode},
		{"history " + strconv.Itoa(len(own)>>10) + "K", own, Dialect{}.Decode},
		{"history chat", chats, chat.Decode},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(bb.body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := bb.decode(nil, bb.body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkConversation(b *testing.B) {
	own, _ := history(330)
	b.SetBytes(int64(len(own)))
	b.ReportAllocs()
	for b.Loop() {
		req, err := Dialect{}.Decode(nil, own)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := req.Source.Conversation(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkConversationOfChat(b *testing.B) {
	_, chats := history(330)
	b.SetBytes(int64(len(chats)))
	b.ReportAllocs()
	for b.Loop() {
		req, err := chat.Decode(nil, chats)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := req.Source.Conversation(); err != nil {
			b.Fatal(err)
		}
	}
}
