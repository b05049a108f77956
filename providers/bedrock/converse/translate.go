package converse

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
	"modelgateway/llm/roundtrip"
	"modelgateway/providers"
)

// translation translates one request.
type translation struct {
	req          *llm.Request
	model        *catalog.Model
	conversation *llm.Conversation
	family       family

	out        request
	names      map[string]string // of tools: the client's by those that Converse takes, where they differ
	answerTool string            // see exchange
	hint       string            // an instruction of the gateway's own
	ids        roundtrip.IDs     // of calls
	calls      int               // so far
	open       []string          // ids of the last turn's calls that wait for their results
	documents  int               // so far

	ignored []llm.Field
}

// translate reads the whole request.
func (a *API) translate(call providers.Call) (*translation, error) {
	conversation, err := call.Request.Source.Conversation()
	if err != nil {
		return nil, err
	}
	t := &translation{req: call.Request, model: call.Model, conversation: conversation, names: map[string]string{}}
	if t.family = familyOf(call.Model.Upstream + " " + call.Model.ID); call.Model.Traits.Structured {
		t.family.structured = true
	}
	if call.Model.Traits.ForcedTools {
		t.family.force = max(t.family.force, forceAny)
	}
	if id, version := call.Model.GuardrailParts(); id != "" {
		w := jsonbytes.Writer{'{'}.Text("guardrailIdentifier", id).Text("guardrailVersion", version)
		t.out.Guardrail = jsontext.Value(w.EndObject())
	}
	for _, step := range []func() error{t.refuse, t.translateTools, t.translateHistory} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	t.sample()
	t.translateRest()
	return t, nil
}

// ignoreIf notes a field that is left out, in whole or in part.
func (t *translation) ignoreIf(ignored bool, f llm.Field) {
	if ignored && !slices.Contains(t.ignored, f) {
		t.ignored = append(t.ignored, f)
	}
}

// unsupported is the error for what this model does not take.
func (t *translation) unsupported(f llm.Field, at llm.At, what string) error {
	return api.Invalid(api.CodeUnsupportedValue, t.req.Source.Path(f, at), "the model %s %s", t.model.ID, what)
}

// refuse fails on what would change the request's meaning if it were left out.
func (t *translation) refuse() error {
	r := t.req
	switch {
	case r.Choices > 1:
		return t.unsupported(llm.FieldChoices, llm.Anywhere, "gives one answer at a time")
	case slices.ContainsFunc(r.Modalities, func(m string) bool { return m != "text" }):
		return t.unsupported(llm.FieldModalities, llm.Anywhere, "answers with text only")
	case r.WebSearch != nil:
		return t.unsupported(llm.FieldWebSearch, llm.Anywhere, "does not search the web")
	case r.MaxOutput != nil && *r.MaxOutput < 1:
		return t.unsupported(llm.FieldMaxOutput, llm.Anywhere, "does not accept "+r.Path(llm.FieldMaxOutput)+" below 1")
	}
	return nil
}

// translateRest translates the service tier, and names what Converse does not have.
func (t *translation) translateRest() {
	r := t.req
	switch r.ServiceTier {
	case "flex", "priority":
		t.out.Tier.Type = r.ServiceTier
	default:
		t.ignoreIf(r.ServiceTier != "" && r.ServiceTier != "auto" && r.ServiceTier != "default", llm.FieldServiceTier)
	}
	t.ignoreIf(r.FrequencyPenalty != nil && *r.FrequencyPenalty != 0, llm.FieldFrequencyPenalty)
	t.ignoreIf(r.PresencePenalty != nil && *r.PresencePenalty != 0, llm.FieldPresencePenalty)
	t.ignoreIf(r.Seed != nil, llm.FieldSeed)
	t.ignoreIf(hasEffect(r.LogitBias), llm.FieldLogitBias)
	t.ignoreIf(r.Logprobs, llm.FieldLogprobs)
	t.ignoreIf(r.TopLogprobs != nil && *r.TopLogprobs > 0, llm.FieldTopLogprobs)
	t.ignoreIf(r.User != "", llm.FieldUser)
	t.ignoreIf(r.SafetyIdentifier != "", llm.FieldSafetyIdentifier)
	t.ignoreIf(len(r.Metadata) > 0, llm.FieldMetadata)
	t.ignoreIf(hasEffect(r.Audio), llm.FieldAudio)
}

func hasEffect(value jsontext.Value) bool { return llm.Given(value) && string(value) != "{}" }

// encode writes a request, or a part of it. All of it has been read as JSON before; only its depth
// can be too much.
func (t *translation) encode(value any) ([]byte, error) {
	body, err := providers.Encode(value, len(t.req.Raw))
	if err != nil {
		path := t.req.Path(llm.FieldMessages)
		return nil, api.Invalid(api.CodeInvalidValue, path, "the %s cannot be written for the model %s", path, t.model.ID).WithCause(err)
	}
	return body, nil
}
