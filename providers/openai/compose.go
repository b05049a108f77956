package openai

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/models/api"
	"modelgateway/models/catalog"
	"modelgateway/models/llm"
	"modelgateway/providers"
)

// composition is a request that is written from the common form.
type composition struct {
	req          *llm.Request
	conversation *llm.Conversation
	model        catalog.Model

	out     request
	names   toolNames
	ignored []llm.Field // that could not be honoured
}

// compose writes a request of another dialect.
func (p *Provider) compose(call providers.Call) (providers.Exchange, error) {
	conversation, err := call.Request.Source.Conversation()
	if err != nil {
		return nil, err
	}
	c := &composition{req: call.Request, conversation: conversation, model: call.Model}
	for _, step := range []func() error{c.refuse, c.composeTools, c.composeMessages} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	c.composeFormat()
	c.composeParams()
	// The bytes are the same for the same request, so that prompt caches find it.
	body, err := json.Marshal(&c.out, jsontext.PreserveRawStrings(true), json.Deterministic(true))
	if err != nil { // all of it has been read as JSON before; only its depth can be too much
		path := c.req.Path(llm.FieldMessages)
		return nil, api.Invalid(api.CodeInvalidValue, path, "the %s cannot be written for the model %s", path, c.model.ID).
			WithCause(fmt.Errorf("encode request: %w", err))
	}
	return &exchange{
		provider: p, call: call, body: [][]byte{body}, ignored: call.Request.Source.Ignored(c.ignored),
		foreign: true, names: c.names,
	}, nil
}

// refuse fails on what would change the request's meaning if it were left out.
func (c *composition) refuse() error {
	for _, m := range c.req.Modalities {
		if m != "text" && m != "image" { // the common form holds no spoken answer
			return c.unsupported(llm.FieldModalities, llm.Anywhere, "the model %s answers with text and images only", c.model.ID)
		}
	}
	return nil
}

// unsupported is the error for what this model does not take.
func (c *composition) unsupported(f llm.Field, at llm.At, format string, args ...any) error {
	return api.Invalid(api.CodeUnsupportedValue, c.req.Source.Path(f, at), format, args...)
}

// invalid is the error for what no model takes.
func (c *composition) invalid(f llm.Field, at llm.At, format string, args ...any) error {
	return api.Invalid(api.CodeInvalidValue, c.req.Source.Path(f, at), format, args...)
}

// ignoreIf notes a field that is left out, in whole or in part.
func (c *composition) ignoreIf(ignored bool, f llm.Field) {
	if ignored && !slices.Contains(c.ignored, f) {
		c.ignored = append(c.ignored, f)
	}
}
