package responses

import (
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
)

// Decode reads a request. The body is checked in full, as strictly as api.Decode does; of
// its members only those are checked that every provider needs. The prompt is read when it
// is asked for: a provider that speaks the dialect takes it as it is, and knows members that
// this version does not. The request keeps body, which must not be changed.
func Decode(memory api.Memory, body []byte) (*llm.Request, error) {
	return decode(memory, body, Create)
}

// DecodeCount reads a request for the size of a prompt.
func DecodeCount(memory api.Memory, body []byte) (*llm.Request, error) {
	return decode(memory, body, Count)
}

// DecodeCompaction reads a request for a shorter conversation.
func DecodeCompaction(memory api.Memory, body []byte) (*llm.Request, error) {
	return decode(memory, body, Compact)
}

func decode(memory api.Memory, body []byte, endpoint Endpoint) (*llm.Request, error) {
	r := &Request{endpoint: endpoint}
	if err := r.outline(memory, body); err != nil {
		return nil, err
	}
	if err := r.share(body); err != nil {
		return nil, err
	}
	return &r.common, nil
}

// share fills in the common form with what every provider needs.
func (r *Request) share(body []byte) error {
	c := &r.common
	prompt := llm.Prompt{Tools: r.members[memberTools], System: r.members[memberInstructions], Messages: c.Prompt.Messages}
	*c = llm.Request{Source: r, Raw: body, Prompt: prompt, Kind: llm.KindChat, Usage: true, Choices: 1, OutputWish: true}
	model := r.members[memberModel]
	if !llm.Given(model) {
		return api.Missing("model")
	}
	if c.Model = jsonbytes.Text(model); c.Model == "" {
		return invalid("model", "model must be a string that is not empty")
	}
	for _, m := range []member{memberStream, memberStore, memberBackground} {
		if value := r.members[m]; llm.Given(value) && !isBool(value) {
			return invalid(table.Name(m), "%s must be true or false", table.Name(m))
		}
	}
	if r.members[memberBackground].Kind() == jsontext.KindTrue {
		return unsupported("background", "background must be false: the gateway does not support answers in the background")
	}
	if id := r.members[memberPreviousResponseID]; llm.Given(id) && id.Kind() != jsontext.KindString {
		return invalid("previous_response_id", "previous_response_id must be a string")
	}
	c.Stream = r.endpoint == Create && r.members[memberStream].Kind() == jsontext.KindTrue
	if err := r.limit(); err != nil {
		return err
	}
	c.Earlier = &llm.Earlier{
		Previous: jsonbytes.Text(r.members[memberPreviousResponseID]),
		Keeps:    r.endpoint == Create && r.members[memberStore].Kind() != jsontext.KindFalse, // as is OpenAI's default
	}
	r.options()
	return nil
}

func isBool(value jsontext.Value) bool {
	return value.Kind() == jsontext.KindTrue || value.Kind() == jsontext.KindFalse
}

// limit reads max_output_tokens. How small it may be is for OpenAI to say.
func (r *Request) limit() error {
	value := r.members[memberMaxOutputTokens]
	if !llm.Given(value) {
		return nil
	}
	n, ok := jsonbytes.Integer(value)
	if !ok || n < 1 {
		return invalid("max_output_tokens", "max_output_tokens must be an integer of at least 1")
	}
	r.common.MaxOutput, r.common.OutputLimit = &n, n
	return nil
}

func invalid(path, format string, args ...any) *api.Error {
	return api.Invalid(api.CodeInvalidValue, path, format, args...)
}

// unsupported is the error for what the model of the request cannot do.
func unsupported(path, format string, args ...any) *api.Error {
	return api.Invalid(api.CodeUnsupportedValue, path, format, args...)
}
