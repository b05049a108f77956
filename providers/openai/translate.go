package openai

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/models/api"
	"modelgateway/models/catalog"
	"modelgateway/providers"
	"modelgateway/providers/carry"
)

// translation says what must be rewritten in a request's bytes.
type translation struct {
	set     map[string]jsontext.Value // top-level members to write in place of the client's
	drop    []string                  // top-level members to leave out
	ignored []string
	history bool // messages hold what only other providers understand
}

func translate(call providers.Call) translation {
	req := call.Request
	t := translation{
		set:     map[string]jsontext.Value{"model": quote(call.Model.Upstream)},
		history: foreign(req),
	}
	if req.Stream {
		t.set["stream_options"] = streamOptions(req.Raw)
	}
	t.limits(req, call.Model.Traits)
	t.sampling(req, call.Model.Traits)
	// Extensions of the gateway for other providers; OpenAI refuses them.
	for name, there := range map[string]bool{
		"top_k": req.TopK != nil, "thinking": req.Thinking != nil, "cache_control": len(req.CacheControl) > 0,
	} {
		if there {
			t.leaveOut(name)
		}
	}
	slices.Sort(t.ignored)
	return t
}

// limits says the limit in the one word that the model takes.
func (t *translation) limits(req *api.ChatRequest, traits catalog.Traits) {
	if traits.MaxCompletionTokens && req.MaxTokens != nil {
		t.drop = append(t.drop, "max_tokens")
		if req.MaxCompletionTokens == nil {
			t.set["max_completion_tokens"] = number(*req.MaxTokens)
		}
	}
	if !traits.MaxCompletionTokens && req.MaxCompletionTokens != nil {
		t.drop = append(t.drop, "max_completion_tokens")
		t.set["max_tokens"] = number(*req.MaxCompletionTokens)
	}
}

// sampling leaves out what a model that always reasons refuses.
func (t *translation) sampling(req *api.ChatRequest, traits catalog.Traits) {
	if traits.Sampling != catalog.SamplingNone {
		return
	}
	if req.Temperature != nil {
		t.leave("temperature", *req.Temperature != 1)
	}
	if req.TopP != nil {
		t.leave("top_p", *req.TopP != 1)
	}
	if req.PresencePenalty != nil {
		t.leave("presence_penalty", *req.PresencePenalty != 0)
	}
	if req.FrequencyPenalty != nil {
		t.leave("frequency_penalty", *req.FrequencyPenalty != 0)
	}
}

func (t *translation) leaveOut(name string) { t.leave(name, true) }

func (t *translation) leave(name string, loss bool) {
	t.drop = append(t.drop, name)
	if loss {
		t.ignored = append(t.ignored, name)
	}
}

// body copies the client's bytes, member by member, with the changes. What is
// not changed is carried byte for byte.
func (t *translation) body(raw []byte) ([]byte, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	out := append(make([]byte, 0, len(raw)+128), '{')
	written := map[string]bool{}
	member := func(name string, value []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out, _ = jsontext.AppendQuote(out, name) // decoded from valid UTF-8
		out = append(append(out, ':'), value...)
		written[name] = true
	}
	for dec.PeekKind() == jsontext.KindString {
		token, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		name := token.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		if slices.Contains(t.drop, name) {
			continue
		}
		if set, ok := t.set[name]; ok {
			value = set
		} else if name == "messages" && t.history {
			if value, err = nativeHistory(value); err != nil {
				return nil, err
			}
		}
		member(name, value)
	}
	for _, name := range []string{"max_tokens", "max_completion_tokens", "stream_options"} {
		if set, ok := t.set[name]; ok && !written[name] {
			member(name, set)
		}
	}
	return append(out, '}'), nil
}

// streamOptions asks for usage, whatever the client asked: the gateway meters
// every call. Other options of the client stay.
func streamOptions(raw []byte) jsontext.Value {
	var req struct {
		StreamOptions map[string]jsontext.Value `json:"stream_options"`
	}
	if err := json.Unmarshal(raw, &req); err != nil || len(req.StreamOptions) == 0 {
		return jsontext.Value(`{"include_usage":true}`)
	}
	req.StreamOptions["include_usage"] = jsontext.Value("true")
	out, err := json.Marshal(req.StreamOptions, json.Deterministic(true))
	if err != nil {
		return jsontext.Value(`{"include_usage":true}`)
	}
	return out
}

// foreign says whether the history holds what the gateway added for other
// providers: OpenAI refuses message members it does not know.
func foreign(req *api.ChatRequest) bool {
	if carry.Marked(req.Raw) {
		return true
	}
	for i := range req.Messages {
		m := &req.Messages[i]
		if m.ReasoningContent != "" || len(m.ReasoningDetails) > 0 || len(m.CacheControl) > 0 {
			return true
		}
		for _, c := range m.ToolCalls {
			if c.ExtraContent != nil {
				return true
			}
		}
		for _, p := range m.Content.Parts {
			if len(p.CacheControl) > 0 {
				return true
			}
		}
	}
	return false
}

// gatewayMembers are the extensions that only other providers read.
var gatewayMembers = []string{"reasoning_content", "reasoning_details", "cache_control", "extra_content", "images"}

// nativeHistory leaves the gateway's extensions out of the messages and gives
// tool calls their own ids back.
func nativeHistory(messages jsontext.Value) (jsontext.Value, error) {
	var all []jsontext.Value
	if err := json.Unmarshal(messages, &all); err != nil {
		return nil, err
	}
	for i := range all {
		native, err := nativeObject(all[i])
		if err != nil {
			return nil, err
		}
		all[i] = native
	}
	return json.Marshal(all)
}

func nativeObject(object jsontext.Value) (jsontext.Value, error) {
	if object.Kind() != jsontext.KindBeginObject {
		return object, nil
	}
	dec := jsontext.NewDecoder(bytes.NewReader(object))
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	out := []byte{'{'}
	for dec.PeekKind() == jsontext.KindString {
		token, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		name := token.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		if slices.Contains(gatewayMembers, name) {
			continue
		}
		if value, err = nativeMember(name, value); err != nil {
			return nil, err
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out, _ = jsontext.AppendQuote(out, name)
		out = append(append(out, ':'), value...)
	}
	return append(out, '}'), nil
}

func nativeMember(name string, value jsontext.Value) (jsontext.Value, error) {
	switch {
	case (name == "id" || name == "tool_call_id") && value.Kind() == jsontext.KindString:
		var id string
		if err := json.Unmarshal(value, &id); err != nil {
			return nil, err
		}
		id, _ = carry.Unpack(id)
		return quote(id), nil
	case (name == "tool_calls" || name == "content") && value.Kind() == jsontext.KindBeginArray:
		return nativeHistory(value)
	default:
		return value, nil
	}
}

func quote(s string) jsontext.Value {
	out, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		out, _ = jsontext.AppendQuote(nil, strings.ToValidUTF8(s, ""))
	}
	return out
}

func number(n int64) jsontext.Value { return jsontext.Value(jsontext.Int(n).String()) }
