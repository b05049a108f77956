package gemini

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json"

	"modelgateway/providers"
)

var errNoCount = errors.New("the answer holds no count of tokens")

// count asks for the number of tokens of a prompt: of its instructions, its contents and
// its functions.
func (p *Provider) count(ctx context.Context, call providers.Call, key string) (providers.Count, error) {
	t, err := p.translate(call, keepSignatures)
	if err != nil {
		return providers.Count{}, err
	}
	body, err := t.counting()
	if err != nil {
		return providers.Count{}, unwritable(call, err)
	}
	text, err := p.client.Post(ctx, key, p.path(call.Model, "countTokens"), body)
	if err != nil {
		return providers.Count{}, err
	}
	var counted struct {
		Total *int64   `json:"totalTokens"`
		Error *problem `json:"error"`
	}
	switch err := json.Unmarshal(text, &counted, lenient); {
	case err != nil:
		return providers.Count{}, p.client.Malformed(err)
	case counted.Error != nil:
		return providers.Count{}, p.client.Refused(counted.Error.refusal(counted.Error.streamStatus()))
	case counted.Total == nil || *counted.Total < 0:
		return providers.Count{}, p.client.Malformed(errNoCount)
	}
	return providers.Count{Tokens: *counted.Total}, nil
}

// counting is the body that asks for a count. It repeats the model of the address, which
// Google requires there, but for Vertex AI, which counts the prompt alone.
func (t *translation) counting() ([]byte, error) {
	var request writer
	var out object
	if t.vertex {
		request.prompt(t)
		return request.done(), request.failed
	}
	request.add("model", quote("models/"+t.model))
	request.prompt(t)
	out.add("generateContentRequest", request.done())
	return out.done(), request.failed
}
