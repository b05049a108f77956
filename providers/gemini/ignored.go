package gemini

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/models/api"
)

// honoured are the fields that are translated; what of them gets lost all the
// same, for this model or this value, is in translation.lost.
var honoured = []string{
	"model", "messages", "stream", "stream_options",
	"max_tokens", "max_completion_tokens", "temperature", "top_p", "top_k", "n", "stop", "seed",
	"presence_penalty", "frequency_penalty", "logprobs", "top_logprobs",
	"tools", "tool_choice", "parallel_tool_calls", "functions", "function_call", "response_format",
	"reasoning_effort", "thinking", "modalities", "service_tier", "web_search_options",
}

// idle are the values by which other fields ask for nothing. An empty object
// is not idle everywhere: it switches some things on.
var idle = map[string]string{"store": `false`, "verbosity": `"medium"`, "logit_bias": `{}`, "metadata": `{}`}

// ignored names every field that is there and was not honoured, in the order
// of the client's body; members inside a field follow it.
func (t *translation) ignored() []string {
	slices.Sort(t.lost)
	t.lost = slices.Compact(t.lost)
	var all []string
	for literal, value := range api.Members(t.req.Raw) {
		name := literal.String()
		if !slices.Contains(honoured, name) && asks(name, value) {
			all = append(all, name)
		}
		for _, lost := range t.lost {
			if root, _, _ := strings.Cut(lost, "."); strings.TrimSuffix(root, "[]") == name {
				all = append(all, lost)
			}
		}
	}
	return all
}

// asks says whether a field's value asks for anything.
func asks(name string, value jsontext.Value) bool {
	const longest = 64 // of a value that may not
	if len(value) > longest {
		return true
	}
	short := value.Clone()
	if err := short.Compact(); err != nil {
		return true
	}
	switch string(short) {
	case `null`, `""`, `[]`, idle[name]:
		return false
	}
	return true
}
