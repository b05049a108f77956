package openai

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/upstream"
)

var (
	_ providers.Counter = (*Provider)(nil)

	errNoCounting = errors.New("chat completions cannot count the tokens of a prompt")
	errNoCount    = errors.New("the answer has no input_tokens")
)

const countPath = createPath + "/input_tokens"

// Count asks the Responses API for the tokens of a prompt, in the client's own bytes where
// the client speaks that.
func (p *Provider) Count(ctx context.Context, call providers.Call, key string) (providers.Count, error) {
	switch d := call.Request.Source.Dialect(); {
	case d == llm.Responses && p.Speaks(d):
		return p.countNative(ctx, call, key)
	case p.api(call.Model) == catalog.APIChat:
		return providers.Count{}, errNoCounting
	}
	c, err := p.newResponding(call)
	if err != nil {
		return providers.Count{}, err
	}
	out := &c.out
	body, err := c.encode(&countedRequest{
		Model: out.Model, Instructions: out.Instructions, Input: out.Input, Tools: out.Tools, ToolChoice: out.ToolChoice,
		ParallelToolCalls: out.ParallelToolCalls, Text: out.Text, Reasoning: out.Reasoning,
	})
	if err != nil {
		return providers.Count{}, err
	}
	text, err := p.client.Post(ctx, key, countPath, body)
	if err != nil {
		return providers.Count{}, notFound(err)
	}
	return readCounted(p.client, text)
}

func (p *Provider) countNative(ctx context.Context, call providers.Call, key string) (providers.Count, error) {
	n, err := p.native(call)
	if err != nil {
		return providers.Count{}, err
	}
	text, err := n.client.Post(ctx, key, n.path, n.body...)
	if err != nil {
		return providers.Count{}, err
	}
	counted, err := readCounted(n.client, text)
	counted.Raw, counted.Dialect = text, llm.Responses
	return counted, err
}

func readCounted(client *upstream.Client, text []byte) (providers.Count, error) {
	var answer struct {
		Input *int64 `json:"input_tokens"`
	}
	if err := json.Unmarshal(text, &answer, lenient); err != nil {
		return providers.Count{}, client.Malformed(fmt.Errorf("decode count: %w", err))
	}
	if answer.Input == nil || *answer.Input < 0 {
		return providers.Count{}, client.Malformed(errNoCount)
	}
	return providers.Count{Tokens: *answer.Input}, nil
}
