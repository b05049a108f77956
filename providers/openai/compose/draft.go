// Package compose has what requests for chat completions and of the Responses API have in
// common when they are written from the common form.
package compose

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

// Draft is what a request of either API is written from, and what is known of it so
// far.
type Draft struct {
	Request      *llm.Request
	Conversation *llm.Conversation
	Model        *catalog.Model
	Server       *providers.Server

	Names ToolNames
	IDs   CallIDs

	breakpoints int // that have been written

	Ignored []llm.Field // that are not supported
}

// Encode writes a request. The bytes are the same for the same request, so that prompt
// caches find it.
func (c *Draft) Encode(out any) ([]byte, error) {
	body, err := json.Marshal(out, Encoding)
	if err != nil {
		return nil, c.Unwritten(err)
	}
	return body, nil
}

// Encoding keeps strings as they were given, and the order of maps.
var Encoding = json.JoinOptions(jsontext.PreserveRawStrings(true), json.Deterministic(true))

// Unwritten is the error for a request that cannot be written. All of it has been read as
// JSON before: only its depth can be too much.
func (c *Draft) Unwritten(err error) error {
	path := c.Request.Path(llm.FieldMessages)
	return api.Invalid(api.CodeInvalidValue, path, "the %s cannot be written for the model %s", path, c.Model.ID).
		WithCause(fmt.Errorf("encode request: %w", err))
}

// Check fails on what would change the request's meaning if it were left out.
func (c *Draft) Check() error {
	if limit := c.Request.MaxOutput; limit != nil && *limit < 1 {
		return c.Unsupported(llm.FieldMaxOutput, llm.Anywhere, "the model %s does not accept %s below 1",
			c.Model.ID, c.Request.Path(llm.FieldMaxOutput))
	}
	for _, m := range c.Request.Modalities {
		if m != "text" && m != "image" { // the common form holds no spoken answer
			return c.Unsupported(llm.FieldModalities, llm.Anywhere, "the model %s answers with text and images only", c.Model.ID)
		}
	}
	return nil
}

// Unsupported is the error for what this model does not take.
func (c *Draft) Unsupported(f llm.Field, at llm.At, format string, args ...any) error {
	return api.Invalid(api.CodeUnsupportedValue, c.Request.Source.Path(f, at), format, args...)
}

// Invalid is the error for what no model takes.
func (c *Draft) Invalid(f llm.Field, at llm.At, format string, args ...any) error {
	return api.Invalid(api.CodeInvalidValue, c.Request.Source.Path(f, at), format, args...)
}

// IgnoreIf notes a field that is left out, in whole or in part.
func (c *Draft) IgnoreIf(ignored bool, f llm.Field) {
	if ignored && !slices.Contains(c.Ignored, f) {
		c.Ignored = append(c.Ignored, f)
	}
}
