package anthropic

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/upstream"
)

const countPath = messagesPath + "/count_tokens"

// count asks Anthropic for the tokens of a prompt.
func (p *Provider) count(ctx context.Context, call providers.Call, key string) (providers.Count, error) {
	if !isNative(call.Request.Source.Dialect(), call.Model) {
		return p.countTranslated(ctx, call, key)
	}
	n, err := p.native(call, countPath)
	if err != nil {
		return providers.Count{}, err
	}
	text, err := n.client.Post(ctx, key, n.path, n.body...)
	if p.surface != nil && cannotCount(err) {
		return providers.Count{}, errNoCounting
	}
	if err != nil {
		return providers.Count{}, err
	}
	counted, err := readCount(n.client, text)
	if err != nil {
		return providers.Count{}, err
	}
	if p.surface == nil {
		counted.Raw, counted.Dialect = text, llm.Messages
	}
	return counted, nil
}

var errNoCounting = errors.New("the cloud does not count the tokens of this model")

// cannotCount says whether a cloud refuses to count with a model, which is no fault of the prompt.
func cannotCount(err error) bool {
	r, ok := errors.AsType[*providers.Refusal](err)
	return ok && r.Status == http.StatusBadRequest && strings.Contains(r.Message, "support counting tokens")
}

func (p *Provider) countTranslated(ctx context.Context, call providers.Call, key string) (providers.Count, error) {
	t := p.translation(call)
	if err := t.run(); err != nil {
		return providers.Count{}, err
	}
	body, err := t.prompt()
	if err != nil {
		return providers.Count{}, err
	}
	path, asked := countPath, [][]byte{body}
	if p.surface != nil {
		if body, err = p.fitted(call, body, true); err != nil {
			return providers.Count{}, err
		}
		path, asked = p.surface.count(call.Model.Upstream, [][]byte{body})
	}
	text, err := p.client.Post(ctx, key, path, asked...)
	if err != nil {
		return providers.Count{}, err
	}
	return readCount(p.client, text)
}

// countRequest is the part of a request that is counted. The endpoint refuses the rest.
type countRequest struct {
	Model        string         `json:"model"`
	System       any            `json:"system,omitzero"`
	Messages     []message      `json:"messages"`
	ToolChoice   *toolChoice    `json:"tool_choice,omitzero"`
	Thinking     *thinking      `json:"thinking,omitzero"`
	CacheControl jsontext.Value `json:"cache_control,omitzero"`
}

// prompt writes what is counted.
func (t *translation) prompt() ([]byte, error) {
	o, err := t.encoded(&countRequest{
		Model: t.model.Upstream, System: t.out.System, Messages: t.out.Messages, ToolChoice: t.out.ToolChoice,
		Thinking: t.out.Thinking, CacheControl: t.out.CacheControl,
	})
	if err != nil {
		return nil, err
	}
	t.rest(&o)
	return append(o, '}'), nil
}

func readCount(client *upstream.Client, text []byte) (providers.Count, error) {
	var answer struct {
		Input   count `json:"input_tokens"`
		Bedrock count `json:"inputTokens"`
	}
	if err := json.Unmarshal(text, &answer, api.Lenient); err != nil {
		return providers.Count{}, client.Malformed(fmt.Errorf("decode count: %w", err))
	}
	if !answer.Input.given && !answer.Bedrock.given {
		return providers.Count{}, client.Malformed(errNoCount)
	}
	return providers.Count{Tokens: answer.Input.n + answer.Bedrock.n}, nil
}
