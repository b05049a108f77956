package gemini

import (
	"cmp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
	"modelgateway/providers"
)

// translation translates one request.
type translation struct {
	req            *llm.Request
	conversation   *llm.Conversation
	traits         catalog.Traits
	id             string // of the model, for messages
	model          string // as the upstream knows it
	maxOutput      int64  // of the model, in tokens; 0 = not known
	dropSignatures bool
	vertex         bool

	system       *content
	contents     []content
	declarations []jsontext.Value
	calling      *functionCallingConfig
	config       generationConfig
	schema       member // of the answer, in config
	tier         string
	names        functionNames
	answerTool   string // see exchange
	hint         string // an instruction of the gateway's own

	ignored []llm.Field // that are not supported
}

// What translate does with the signatures of the history.
const (
	keepSignatures = false
	dropSignatures = true
)

// translate reads the whole request.
func (p *Provider) translate(call providers.Call, dropSignatures bool) (*translation, error) {
	conversation, err := call.Request.Source.Conversation()
	if err != nil {
		return nil, err
	}
	t := &translation{
		req: call.Request, conversation: conversation, traits: call.Model.Traits, id: call.Model.ID,
		model: modelName(call.Model.Upstream), maxOutput: call.Model.MaxOutput, dropSignatures: dropSignatures, vertex: p.vertex,
		names: functionNames{tools: conversation.Tools, longest: longestName},
	}
	if t.traits.OpenAPISchemas {
		t.names.longest = longestOldName
	}
	for _, step := range []func() error{
		t.translateLimits, t.translateSampling, t.translateModalities,
		t.translateThinking, t.translateTools, t.translateFormat, t.inspectStrict, t.translateHistory, t.translateRest,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// ignore notes a field that is left out.
func (t *translation) ignore(f llm.Field) { t.ignored = append(t.ignored, f) }

// invalid is the error for a field of which there is one in a request.
func (t *translation) invalid(f llm.Field, code, format string, args ...any) error {
	return api.Invalid(code, t.req.Path(f), format, args...)
}

// translateRest translates the other fields, most of which Gemini does not
// have.
func (t *translation) translateRest() error {
	r := t.req
	if r.WebSearch != nil {
		return t.invalid(llm.FieldWebSearch, api.CodeUnsupportedValue, "the model %s does not accept %s", t.id, r.Path(llm.FieldWebSearch))
	}
	switch tier := r.ServiceTier; {
	case tier == "", tier == "auto", tier == "default":
	case !t.vertex && (tier == "flex" || tier == "priority"):
		t.tier = tier
	default:
		t.ignore(llm.FieldServiceTier)
	}
	for _, unknown := range []struct {
		field llm.Field
		given bool
	}{
		{llm.FieldUser, r.User != ""},
		{llm.FieldSafetyIdentifier, r.SafetyIdentifier != ""},
		{llm.FieldMetadata, len(r.Metadata) > 0},
		{llm.FieldLogitBias, hasEffect(r.LogitBias, `{}`)},
		{llm.FieldAudio, hasEffect(r.Audio, "")},
		{llm.FieldCache, hasEffect(r.Cache, "")},
	} {
		if unknown.given {
			t.ignore(unknown.field)
		}
	}
	return nil
}

// hasEffect reports whether the value of an optional member has an effect. idle is a
// value that has none, in addition to those that never have; an empty object
// can switch something on.
func hasEffect(value jsontext.Value, idle string) bool {
	switch {
	case !llm.Given(value), string(value) == `""`:
		return false
	case isObject(value) && idle == `{}`:
		for range jsonbytes.Members(value) {
			return true
		}
		return false
	case value.Kind() == jsontext.KindBeginArray:
		for range jsonbytes.Elements(value) {
			return true
		}
		return false
	}
	return true
}

// writer writes the members of a request.
type writer struct {
	object
	failed error
}

// encode adds a member whose value has to be encoded.
func (w *writer) encode(name string, value any) {
	w.open(name)
	text, err := providers.AppendEncoded(w.object, value)
	w.object, w.failed = text, cmp.Or(w.failed, err)
}

// prompt adds the members of which the prompt consists.
func (w *writer) prompt(t *translation) {
	if t.system != nil {
		w.encode("systemInstruction", t.system)
	}
	w.encode("contents", t.contents)
	if len(t.declarations) > 0 {
		var tool object
		tool.add("functionDeclarations", list(t.declarations))
		w.add("tools", list([]jsontext.Value{tool.done()}))
	}
}

// body writes the request.
func (t *translation) body() ([]byte, error) {
	out := writer{object: make(object, 0, len(t.req.Raw)+len(t.req.Raw)/8)}
	out.prompt(t)
	if t.calling != nil {
		out.encode("toolConfig", map[string]any{"functionCallingConfig": t.calling})
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
		out.encode("serviceTier", t.tier)
	}
	return out.done(), out.failed
}
