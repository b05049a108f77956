package openai

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/providers"
)

// composing is what a request of either API is written from, and what is known of it so
// far.
type composing struct {
	req          *llm.Request
	conversation *llm.Conversation
	model        *catalog.Model
	server       *providers.Server

	names toolNames
	ids   callIDs

	breakpoints int // that have been written

	ignored []llm.Field // that are not supported
}

// composition is a request for chat completions that is written from the common form.
type composition struct {
	composing
	out request
}

// compose writes a request of another dialect.
func (a *chatAPI) compose(call providers.Call) (providers.Exchange, error) {
	conversation, err := call.Request.Source.Conversation()
	if err != nil {
		return nil, err
	}
	c := &composition{composing: composing{req: call.Request, conversation: conversation, model: call.Model, server: &a.server}}
	for _, step := range []func() error{c.refuse, c.composeTools, c.composeMessages} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	c.composeFormat()
	c.composeParams()
	body, err := c.out.encode()
	if err != nil {
		return nil, c.unwritten(err)
	}
	return &exchange{
		api: a, call: call, body: [][]byte{c.adapted(body)}, ignored: call.Request.Source.Ignored(c.ignored),
		foreign: true, names: c.names,
	}, nil
}

// encode writes a request. The bytes are the same for the same request, so that prompt
// caches find it.
func (c *composing) encode(out any) ([]byte, error) {
	body, err := json.Marshal(out, encoding)
	if err != nil {
		return nil, c.unwritten(err)
	}
	return body, nil
}

// encoding keeps strings as they were given, and the order of maps.
var encoding = json.JoinOptions(jsontext.PreserveRawStrings(true), json.Deterministic(true))

// unwritten is the error for a request that cannot be written. All of it has been read as
// JSON before: only its depth can be too much.
func (c *composing) unwritten(err error) error {
	path := c.req.Path(llm.FieldMessages)
	return api.Invalid(api.CodeInvalidValue, path, "the %s cannot be written for the model %s", path, c.model.ID).
		WithCause(fmt.Errorf("encode request: %w", err))
}

// refuse fails on what would change the request's meaning if it were left out.
func (c *composing) refuse() error {
	if limit := c.req.MaxOutput; limit != nil && *limit < 1 {
		return c.unsupported(llm.FieldMaxOutput, llm.Anywhere, "the model %s does not accept %s below 1",
			c.model.ID, c.req.Path(llm.FieldMaxOutput))
	}
	for _, m := range c.req.Modalities {
		if m != "text" && m != "image" { // the common form holds no spoken answer
			return c.unsupported(llm.FieldModalities, llm.Anywhere, "the model %s answers with text and images only", c.model.ID)
		}
	}
	return nil
}

// unsupported is the error for what this model does not take.
func (c *composing) unsupported(f llm.Field, at llm.At, format string, args ...any) error {
	return api.Invalid(api.CodeUnsupportedValue, c.req.Source.Path(f, at), format, args...)
}

// invalid is the error for what no model takes.
func (c *composing) invalid(f llm.Field, at llm.At, format string, args ...any) error {
	return api.Invalid(api.CodeInvalidValue, c.req.Source.Path(f, at), format, args...)
}

// ignoreIf notes a field that is left out, in whole or in part.
func (c *composing) ignoreIf(ignored bool, f llm.Field) {
	if ignored && !slices.Contains(c.ignored, f) {
		c.ignored = append(c.ignored, f)
	}
}
