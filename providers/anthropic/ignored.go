package anthropic

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/models/api"
)

// known are the fields whose fate is decided where they are translated.
var known = map[string]bool{
	"model": true, "messages": true, "stream": true, "stream_options": true,
	"max_tokens": true, "max_completion_tokens": true, "temperature": true, "top_p": true, "top_k": true,
	"frequency_penalty": true, "presence_penalty": true, "stop": true, "n": true, "seed": true,
	"logit_bias": true, "logprobs": true, "top_logprobs": true,
	"tools": true, "tool_choice": true, "parallel_tool_calls": true, "functions": true, "function_call": true,
	"response_format": true, "reasoning_effort": true, "thinking": true, "cache_control": true,
	"user": true, "safety_identifier": true, "metadata": true, "service_tier": true,
	"modalities": true, "audio": true, "web_search_options": true,
}

// idle are the values by which other fields ask for nothing.
var idle = map[string]string{"store": `false`, "verbosity": `"medium"`}

// fields is the top level of a body that has been decoded before.
func fields(raw []byte) []field {
	all := make([]field, 0, 16)
	for name, value := range api.Members(raw) {
		if value.Kind() != jsontext.KindNull {
			all = append(all, field{name: name.String(), value: value})
		}
	}
	return all
}

// value is a field as the client wrote it, where it is there.
func (t *translation) value(name string) jsontext.Value {
	for _, f := range t.fields {
		if f.name == name {
			return f.value
		}
	}
	return nil
}

// lose notes that a part of the request is left out.
func (t *translation) lose(name string) {
	if t.lost == nil {
		t.lost = map[string]bool{}
	}
	t.lost[name] = true
}

// loseIf is lose where there was something to lose.
func (t *translation) loseIf(loss bool, name string) {
	if loss {
		t.lose(name)
	}
}

// ignored is all that was left out, each once, in the order of the client's
// body; parts of one field are in alphabetical order.
func (t *translation) ignored() []string {
	for _, f := range t.fields {
		if asks, ok := idle[f.name]; !known[f.name] && (!ok || asks != string(f.value)) {
			t.lose(f.name)
		}
	}
	if len(t.lost) == 0 {
		return nil
	}
	at := make(map[string]int, len(t.fields))
	for i, f := range t.fields {
		at[f.name] = i
	}
	return slices.SortedFunc(maps.Keys(t.lost), func(a, b string) int {
		return cmp.Or(cmp.Compare(at[root(a)], at[root(b)]), strings.Compare(a, b))
	})
}

// root is the field that a name such as messages[].name belongs to.
func root(name string) string {
	if i := strings.IndexAny(name, "[."); i > 0 {
		return name[:i]
	}
	return name
}
