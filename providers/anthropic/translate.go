package anthropic

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/alternating"
)

// translation translates one request from the common form to Anthropic's.
type translation struct {
	req    *llm.Request
	model  *catalog.Model
	traits catalog.Traits
	inline bool // the upstream fetches no addresses

	conversation *llm.Conversation
	folded       *alternating.Conversation

	out    request
	tools  []tool
	format jsontext.Value // schema of the answer
	effort string

	answerTool string // see exchange
	hint       string // an instruction of the gateway's own

	thinks bool  // the model will think
	budget int64 // of its thinking, in tokens; 0 where it has none

	ignored []llm.Field
}

func (p *Provider) translation(call providers.Call) *translation {
	return &translation{req: call.Request, model: call.Model, traits: call.Model.Traits, inline: p.surface != nil}
}

// run translates everything. The order matters: whether the model may think
// depends on the tools and the conversation, and the limit, the sampling and
// the messages depend on whether it thinks.
func (t *translation) run() error {
	if err := t.refuse(); err != nil {
		return err
	}
	if err := t.fold(); err != nil {
		return err
	}
	if err := t.chooseTools(); err != nil {
		return err
	}
	t.chooseThinking()
	t.maxTokens()
	t.sample()
	t.identify()
	t.otherParams()
	if err := t.messages(); err != nil {
		return err
	}
	t.system()
	t.cacheControl()
	return nil
}

// refuse fails on what would change the request's meaning if it were left out.
func (t *translation) refuse() error {
	if t.req.Choices > 1 {
		return t.unsupported(llm.FieldChoices, llm.Anywhere, "%s gives one answer at a time: %s must be 1",
			catalog.Anthropic, t.req.Path(llm.FieldChoices))
	}
	for _, m := range t.req.Modalities {
		if m != "text" {
			return t.unsupported(llm.FieldModalities, llm.Anywhere, "the model %s answers with text only", t.model.ID)
		}
	}
	if t.req.WebSearch != nil {
		return t.unsupported(llm.FieldWebSearch, llm.Anywhere, "the model %s does not accept %s",
			t.model.ID, t.req.Path(llm.FieldWebSearch))
	}
	return nil
}

// unsupported is the error for what this model does not take.
func (t *translation) unsupported(f llm.Field, at llm.At, format string, args ...any) *api.Error {
	return api.Invalid(api.CodeUnsupportedValue, t.path(f, at), format, args...)
}

// invalid is the error for what no model takes.
func (t *translation) invalid(f llm.Field, format string, args ...any) *api.Error {
	return api.Invalid(api.CodeInvalidValue, t.req.Path(f), format, args...)
}

func (t *translation) path(f llm.Field, at llm.At) string { return t.req.Source.Path(f, at) }

// ignore notes a field that is left out, in whole or in part.
func (t *translation) ignore(f llm.Field) {
	if !slices.Contains(t.ignored, f) {
		t.ignored = append(t.ignored, f)
	}
}

func (t *translation) ignoreIf(ignored bool, f llm.Field) {
	if ignored {
		t.ignore(f)
	}
}
