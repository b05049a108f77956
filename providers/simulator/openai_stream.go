package simulator

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

type openaiChunk struct {
	ID                string              `json:"id"`
	Object            string              `json:"object"`
	Created           int64               `json:"created"`
	Model             string              `json:"model"`
	ServiceTier       string              `json:"service_tier"`
	SystemFingerprint string              `json:"system_fingerprint"`
	Choices           []openaiChunkChoice `json:"choices"`
	Usage             jsontext.Value      `json:"usage,omitzero"`
	Obfuscation       string              `json:"obfuscation,omitzero"`
}

type openaiChunkChoice struct {
	Index        int             `json:"index"`
	Delta        jsontext.Value  `json:"delta"`
	Logprobs     *openaiLogprobs `json:"logprobs"`
	FinishReason *string         `json:"finish_reason"`
}

// stream tells an answer in chunks. Several choices take turns.
func (q *openaiRequest) stream(a openaiAnswer) show {
	var choices [][]openaiChunkChoice
	longest := 0
	for _, c := range a.Choices {
		told := q.tell(c)
		choices = append(choices, told)
		longest = max(longest, len(told))
	}
	var p show
	for i := range longest {
		for _, told := range choices {
			if i < len(told) {
				p.frames = append(p.frames, q.frame(a, told[i:i+1], jsontext.Value("null")))
			}
		}
	}
	if q.wantsUsage() {
		p.frames = append(p.frames, q.frame(a, []openaiChunkChoice{}, encode(a.Usage)))
	}
	p.frames = append(p.frames, []byte("data: [DONE]\n\n"))
	return p
}

func (q *openaiRequest) wantsUsage() bool {
	return q.StreamOptions != nil && q.StreamOptions.IncludeUsage
}

func (q *openaiRequest) frame(a openaiAnswer, choices []openaiChunkChoice, usage jsontext.Value) []byte {
	chunk := openaiChunk{
		ID: a.ID, Object: "chat.completion.chunk", Created: a.Created, Model: a.Model,
		ServiceTier: a.ServiceTier, SystemFingerprint: a.SystemFingerprint, Choices: choices,
	}
	if q.wantsUsage() {
		chunk.Usage = usage
	}
	obfuscated := q.StreamOptions == nil || q.StreamOptions.IncludeObfuscation == nil || *q.StreamOptions.IncludeObfuscation
	if obfuscated {
		chunk.Obfuscation = strings.Repeat("x", 16-len(encode(chunk))%16)
	}
	return openaiEvent(chunk)
}

func openaiEvent(v any) []byte {
	return append(append([]byte("data: "), encode(v)...), "\n\n"...)
}

// tell is one choice, delta by delta. Its first delta carries the role, and
// with calls already the first call.
func (q *openaiRequest) tell(c openaiSaidChoice) []openaiChunkChoice {
	var told []openaiChunkChoice
	say := func(delta object, logprobs *openaiLogprobs) {
		told = append(told, openaiChunkChoice{Index: c.Index, Delta: encode(delta), Logprobs: logprobs})
	}
	switch {
	case c.Message.FunctionCall != nil:
		f := c.Message.FunctionCall
		say(object{"role", "assistant", "content", nil, "refusal", nil, "function_call", object{"name", f.Name, "arguments", ""}}, nil)
		for _, piece := range fragments(f.Arguments) {
			say(object{"function_call", object{"arguments", piece}}, nil)
		}
	case len(c.Message.ToolCalls) > 0:
		for i, call := range c.Message.ToolCalls {
			opening := object{"tool_calls", []object{call.opening(i)}}
			if i == 0 {
				opening = append(object{"role", "assistant", "content", nil, "refusal", nil}, opening...)
			}
			say(opening, nil)
			for _, piece := range fragments(call.called().Arguments) {
				say(object{"tool_calls", []object{call.piece(i, piece)}}, nil)
			}
		}
	default:
		say(object{"role", "assistant", "content", "", "refusal", nil}, nil)
		for _, token := range split(*c.Message.Content) {
			say(object{"content", token}, q.logprobs(token))
		}
	}
	say(object{}, nil)
	told[len(told)-1].FinishReason = &c.FinishReason
	return told
}

func (c openaiToolCall) opening(index int) object {
	if c.Custom != nil {
		return object{"index", index, "id", c.ID, "type", "custom", "custom", object{"name", c.Custom.Name, "input", ""}}
	}
	return object{"index", index, "id", c.ID, "type", "function", "function", object{"name", c.Function.Name, "arguments", ""}}
}

func (c openaiToolCall) piece(index int, piece string) object {
	if c.Custom != nil {
		return object{"index", index, "custom", object{"input", piece}}
	}
	return object{"index", index, "function", object{"arguments", piece}}
}

// fragmentRunes is how much of a call's arguments an event carries: little, so
// that they break inside names and strings, as they do upstream.
const fragmentRunes = 6

func fragments(s string) []string {
	var cut []string
	for runes := []rune(s); len(runes) > 0; {
		n := min(fragmentRunes, len(runes))
		cut = append(cut, string(runes[:n]))
		runes = runes[n:]
	}
	return cut
}
