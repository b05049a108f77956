package chat

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/internal/scan"
)

// object says which members of an object, or of the objects in a list, have a
// place in the common form.
type object struct {
	at      string             // before the members' names, as in messages[].content[].
	members map[string]*object // nil: the value is not looked into
}

// objectAt makes an object of the members that are not looked into; further
// ones are added with holding.
func objectAt(at string, members ...string) *object {
	o := &object{at: at, members: make(map[string]*object, len(members))}
	for _, name := range members {
		o.members[name] = nil
	}
	return o
}

// holding adds members that are objects themselves, or lists of objects.
func (o *object) holding(inner ...*object) *object {
	for _, i := range inner {
		name := strings.TrimRight(strings.TrimPrefix(i.at, o.at), "[].")
		o.members[name] = i
	}
	return o
}

// requestMembers are those of a request. What assistants said may come back with
// members of the answer that mean nothing in a request, such as the index of a
// tool call.
var requestMembers = sync.OnceValue(func() *object {
	return objectAt("", "model", "stream",
		"max_tokens", "max_completion_tokens", "temperature", "top_p", "top_k", "frequency_penalty", "presence_penalty", "stop",
		"n", "seed", "logit_bias", "logprobs", "top_logprobs", "parallel_tool_calls", "reasoning_effort", "cache_control",
		"user", "safety_identifier", "metadata", "service_tier", "modalities", "audio", "web_search_options",
	).holding(
		objectAt("messages[].", "role", "name", "tool_call_id", "refusal", "audio", "cache_control",
			"reasoning_content", "reasoning_details", "images", "annotations",
		).holding(
			objectAt("messages[].content[].", "type", "text", "refusal", "cache_control").holding(
				objectAt("messages[].content[].image_url.", "url", "detail"),
				objectAt("messages[].content[].input_audio.", "data", "format"),
				objectAt("messages[].content[].file.", "file_data", "filename", "file_id"),
			),
			objectAt("messages[].tool_calls[].", "id", "type", "index", "custom", "extra_content").holding(
				objectAt("messages[].tool_calls[].function.", "name", "arguments"),
			),
			objectAt("messages[].function_call.", "name", "arguments"),
		),
		objectAt("tools[].", "type", "custom", "cache_control").holding(
			objectAt("tools[].function.", "name", "description", "parameters", "strict"),
		),
		objectAt("functions[].", "name", "description", "parameters", "strict"),
		objectAt("tool_choice.", "type", "name", "custom").holding(
			objectAt("tool_choice.function.", "name"),
			objectAt("tool_choice.allowed_tools.", "mode").holding(
				objectAt("tool_choice.allowed_tools.tools[].", "type", "custom").holding(
					objectAt("tool_choice.allowed_tools.tools[].function.", "name"),
				),
			),
		),
		objectAt("function_call.", "name"),
		objectAt("response_format.", "type").holding(
			objectAt("response_format.json_schema.", "name", "description", "schema", "strict"),
		),
		objectAt("stream_options.", "include_usage", "include_obfuscation"),
		objectAt("thinking.", "type", "budget_tokens", "display"),
	)
})

// unknown adds to names the paths of the members of a value that are not among
// those of the object, each once.
func (o *object) unknown(value jsontext.Value, names []string) []string {
	all := make(map[string]bool, len(names))
	for _, name := range names {
		all[name] = true
	}
	o.collect(value, all)
	return slices.Collect(maps.Keys(all))
}

func (o *object) collect(value jsontext.Value, all map[string]bool) {
	switch value.Kind() {
	case jsontext.KindBeginArray:
		for element := range scan.Elements(value) {
			if element.Kind() == jsontext.KindBeginObject {
				o.collect(element, all)
			}
		}
	case jsontext.KindBeginObject:
		for literal, inner := range scan.Members(value) {
			name := literal.Text()
			known, ok := o.members[string(name)]
			switch {
			case known != nil:
				known.collect(inner, all)
			case !ok && len(all) < maxIgnored && asks(nil, inner) && string(inner) != `{}`: // SDKs send empty ones in the history
				all[o.at+api.Clip(string(name))] = true
			}
		}
	}
}
