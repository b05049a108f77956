package gemini

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/models/api"
	"modelgateway/models/catalog"
	"modelgateway/providers"
)

// translation is a request in the making.
type translation struct {
	req    *api.ChatRequest
	traits catalog.Traits

	system       *content
	contents     []content
	declarations []jsontext.Value
	calling      *functionCallingConfig
	config       generationConfig
	schema       member // of the answer, in config
	tier         string

	lost []string // fields that could not be honoured, in the client's words
}

// honoured are the fields that are translated; what of them gets lost all the
// same, for this model or this value, is in translation.lost.
var honoured = []string{
	"model", "messages", "stream", "stream_options",
	"max_tokens", "max_completion_tokens", "temperature", "top_p", "top_k", "n", "stop", "seed",
	"presence_penalty", "frequency_penalty", "logprobs", "top_logprobs",
	"tools", "tool_choice", "parallel_tool_calls", "functions", "function_call", "response_format",
	"reasoning_effort", "thinking", "modalities", "service_tier", "store", "web_search_options",
}

func translate(call providers.Call) (*translation, error) {
	t := &translation{req: call.Request, traits: call.Model.Traits}
	for _, step := range []func() error{
		t.translateLimits, t.translateSampling, t.translateFormat, t.translateModalities,
		t.translateThinking, t.translateTools, t.translateHistory, t.translateRest,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *translation) lose(names ...string) { t.lost = append(t.lost, names...) }

// ignored names every field that is there and was not honoured, in the order
// of the client's body; members inside a field follow it.
func (t *translation) ignored() []string {
	slices.Sort(t.lost)
	t.lost = slices.Compact(t.lost)
	var all []string
	for _, name := range t.req.Present() {
		if !slices.Contains(honoured, name) {
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

// translateRest is for fields that are neither of the above nor simply named.
func (t *translation) translateRest() error {
	if raw := t.req.WebSearchOptions; len(raw) > 0 && raw.Kind() != jsontext.KindNull {
		return api.Invalid(api.CodeUnsupportedValue, "web_search_options", "this model does not take web_search_options")
	}
	switch t.req.ServiceTier {
	case "flex", "priority":
		t.tier = t.req.ServiceTier
	case "", "auto", "default":
	default:
		t.lose("service_tier")
	}
	if stored(t.req.Raw) {
		t.lose("store")
	}
	return nil
}

// stored says whether the client wants its answer kept. Only then is a field
// that the request's type does not know of any weight.
func stored(raw []byte) bool {
	var body struct {
		Store jsontext.Value `json:"store"`
	}
	if !bytes.Contains(raw, []byte(`"store"`)) || json.Unmarshal(raw, &body) != nil {
		return false
	}
	return len(body.Store) > 0 && body.Store.Kind() != jsontext.KindFalse && body.Store.Kind() != jsontext.KindNull
}

// body writes the request.
func (t *translation) body() ([]byte, error) {
	var out object
	var failed error
	add := func(name string, value any) {
		text, err := json.Marshal(value, jsontext.PreserveRawStrings(true))
		if err != nil {
			failed = err
			return
		}
		out.add(name, text)
	}
	if t.system != nil {
		add("systemInstruction", t.system)
	}
	add("contents", t.contents)
	if len(t.declarations) > 0 {
		var tool object
		tool.add("functionDeclarations", list(t.declarations))
		out.add("tools", list([]jsontext.Value{tool.done()}))
	}
	if t.calling != nil {
		add("toolConfig", map[string]any{"functionCallingConfig": t.calling})
	}
	config, err := json.Marshal(t.config)
	if err != nil {
		return nil, err
	}
	if o := reopen(config); t.schema.name != "" {
		o.add(t.schema.name, t.schema.value)
		config = o.done()
	}
	if len(config) > len("{}") {
		out.add("generationConfig", config)
	}
	if t.tier != "" {
		add("serviceTier", t.tier)
	}
	return out.done(), failed
}
