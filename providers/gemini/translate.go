package gemini

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/models/api"
	"modelgateway/models/catalog"
	"modelgateway/providers"
)

// translation is a request in the making.
type translation struct {
	req      *api.ChatRequest
	traits   catalog.Traits
	model    string // as the upstream knows it
	unsigned bool

	system       *content
	contents     []content
	declarations []jsontext.Value
	calling      *functionCallingConfig
	config       generationConfig
	schema       member // of the answer, in config
	tier         string

	lost []string // fields that could not be honoured, in the client's words
}

// translate reads the whole request. When unsigned, no signature of the history
// is sent back.
func translate(call providers.Call, unsigned bool) (*translation, error) {
	t := &translation{
		req: call.Request, traits: call.Model.Traits,
		model: modelName(call.Model.Upstream), unsigned: unsigned,
	}
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
	return nil
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
