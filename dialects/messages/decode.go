package messages

import (
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
)

// Decode reads a request. The body is checked in full, as strictly as api.Decode does;
// of its members only those are checked that every provider needs. The prompt is read
// when it is asked for: a provider that speaks the dialect takes it as it is, and knows
// members that this version does not. The request keeps body, which must not be changed.
func Decode(memory api.Memory, body []byte) (*llm.Request, error) {
	return decode(memory, body, false)
}

// DecodeCount reads a request for the size of a prompt. It needs no limit of an answer,
// and its prompt may be a text: clients count parts of one.
func DecodeCount(memory api.Memory, body []byte) (*llm.Request, error) {
	return decode(memory, body, true)
}

func decode(memory api.Memory, body []byte, counting bool) (*llm.Request, error) {
	r := &Request{counting: counting}
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
	prompt := llm.Prompt{Tools: r.members[memberTools], System: r.members[memberSystem], Messages: c.Prompt.Messages}
	*c = llm.Request{Source: r, Raw: body, Prompt: prompt, Kind: llm.KindChat, Usage: true, Choices: 1, OutputWish: true}
	var err *api.Error
	if c.Model, err = r.required(memberModel); err != nil {
		return err
	}
	if stream := r.members[memberStream]; llm.Given(stream) {
		if kind := stream.Kind(); kind != jsontext.KindTrue && kind != jsontext.KindFalse {
			return invalid("stream", "Input should be a valid boolean")
		}
		c.Stream = stream.Kind() == jsontext.KindTrue
	}
	if err := r.limit(); err != nil {
		return err
	}
	r.options()
	c.Earlier = r.earlier()
	return nil
}

// required is a member that must be a text.
func (r *Request) required(m member) (string, *api.Error) {
	value := r.members[m]
	switch {
	case !llm.Given(value):
		return "", missing(table.Name(m))
	case value.Kind() != jsontext.KindString:
		return "", invalid(table.Name(m), "Input should be a valid string")
	}
	text := jsonbytes.Text(value)
	if text == "" {
		return "", invalid(table.Name(m), "String should have at least 1 character")
	}
	return text, nil
}

// limit reads max_tokens.
func (r *Request) limit() *api.Error {
	value := r.members[memberMaxTokens]
	if !llm.Given(value) {
		if r.counting {
			return nil
		}
		return missing("max_tokens")
	}
	n, ok := jsonbytes.Integer(value)
	if !ok {
		return invalid("max_tokens", "Input should be a valid integer")
	}
	if n < 0 {
		return invalid("max_tokens", "Input should be greater than or equal to 0")
	}
	r.common.MaxOutput, r.common.OutputLimit = &n, n
	return nil
}
