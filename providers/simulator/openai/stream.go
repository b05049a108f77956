package openai

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/reply"
	"modelgateway/providers/simulator/wire"
)

type chunk struct {
	ID                string         `json:"id"`
	Object            string         `json:"object"`
	Created           int64          `json:"created"`
	Model             string         `json:"model"`
	ServiceTier       string         `json:"service_tier"`
	SystemFingerprint string         `json:"system_fingerprint"`
	Choices           []chunkChoice  `json:"choices"`
	Usage             jsontext.Value `json:"usage,omitzero"`
	Obfuscation       string         `json:"obfuscation,omitzero"`
}

type chunkChoice struct {
	Index        int            `json:"index"`
	Delta        jsontext.Value `json:"delta"`
	Logprobs     *logprobs      `json:"logprobs"`
	FinishReason *string        `json:"finish_reason"`
}

// stream writes an answer in chunks. Several choices take turns.
func (q *Request) stream(a answer) wire.Stream {
	var choices [][]chunkChoice
	longest := 0
	for _, c := range a.Choices {
		deltas := q.deltas(c)
		choices = append(choices, deltas)
		longest = max(longest, len(deltas))
	}
	var s wire.Stream
	for i := range longest {
		for _, deltas := range choices {
			if i < len(deltas) {
				s.Events = append(s.Events, q.chunk(a, deltas[i:i+1], jsontext.Value("null")))
			}
		}
	}
	if q.wantsUsage() {
		s.Events = append(s.Events, q.chunk(a, []chunkChoice{}, rawjson.Encode(a.Usage)))
	}
	s.Events = append(s.Events, []byte("data: [DONE]\n\n"))
	return s
}

func (q *Request) wantsUsage() bool { return q.StreamOptions != nil && q.StreamOptions.IncludeUsage }

func (q *Request) chunk(a answer, choices []chunkChoice, usage jsontext.Value) []byte {
	c := chunk{
		ID: a.ID, Object: "chat.completion.chunk", Created: a.Created, Model: a.Model,
		ServiceTier: a.ServiceTier, SystemFingerprint: a.SystemFingerprint, Choices: choices,
	}
	if q.wantsUsage() {
		c.Usage = usage
	}
	if q.StreamOptions == nil || q.StreamOptions.IncludeObfuscation == nil || *q.StreamOptions.IncludeObfuscation {
		c.Obfuscation = strings.Repeat("x", 16-len(rawjson.Encode(c))%16)
	}
	return event(c)
}

func event(v any) []byte {
	return append(append([]byte("data: "), rawjson.Encode(v)...), "\n\n"...)
}

// deltas writes one choice. Its first delta carries the role, and with calls but no
// text already the first call.
func (q *Request) deltas(c choice) []chunkChoice {
	var deltas []chunkChoice
	add := func(delta rawjson.Object, l *logprobs) {
		deltas = append(deltas, chunkChoice{Index: c.Index, Delta: rawjson.Encode(delta), Logprobs: l})
	}
	role := rawjson.Object{"role", "assistant", "content", nil, "refusal", nil}
	if c.Message.Content != nil {
		add(rawjson.Object{"role", "assistant", "content", "", "refusal", nil}, nil)
		for _, token := range reply.Split(*c.Message.Content) {
			add(rawjson.Object{"content", token}, q.logprobs(token))
		}
		role = nil
	}
	switch {
	case c.Message.FunctionCall != nil:
		f := c.Message.FunctionCall
		add(append(role, "function_call", rawjson.Object{"name", f.Name, "arguments", ""}), nil)
		for _, piece := range wire.Fragments(f.Arguments) {
			add(rawjson.Object{"function_call", rawjson.Object{"arguments", piece}}, nil)
		}
	default:
		for i, call := range c.Message.ToolCalls {
			first := rawjson.Object{"tool_calls", []rawjson.Object{call.opening(i)}}
			if i == 0 {
				first = append(role, first...)
			}
			add(first, nil)
			for _, piece := range wire.Fragments(call.Called().Arguments) {
				add(rawjson.Object{"tool_calls", []rawjson.Object{call.piece(i, piece)}}, nil)
			}
		}
	}
	add(rawjson.Object{}, nil)
	deltas[len(deltas)-1].FinishReason = &c.FinishReason
	return deltas
}

func (c ToolCall) opening(index int) rawjson.Object {
	o := rawjson.Object{"index", index, "id", c.ID, "type", c.Type}
	if c.Custom != nil {
		return append(o, "custom", rawjson.Object{"name", c.Custom.Name, "input", ""})
	}
	return append(o, "function", rawjson.Object{"name", c.Function.Name, "arguments", ""})
}

func (c ToolCall) piece(index int, piece string) rawjson.Object {
	if c.Custom != nil {
		return rawjson.Object{"index", index, "custom", rawjson.Object{"input", piece}}
	}
	return rawjson.Object{"index", index, "function", rawjson.Object{"arguments", piece}}
}
