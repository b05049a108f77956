package converse

import (
	"context"

	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/providers"
)

// Count asks for the tokens of a prompt.
func (a *API) Count(ctx context.Context, call providers.Call, key string) (providers.Count, error) {
	t, err := a.translate(call)
	if err != nil {
		return providers.Count{}, err
	}
	var ask struct {
		Input struct {
			Converse *prompt `json:"converse"`
		} `json:"input"`
	}
	ask.Input.Converse = &t.out.prompt
	body, err := t.encode(&ask)
	if err != nil {
		return providers.Count{}, err
	}
	text, err := a.client.Post(ctx, key, address(call.Model, "count-tokens"), body)
	if err != nil {
		return providers.Count{}, err
	}
	var counted struct {
		Input *int64 `json:"inputTokens"`
	}
	if err := json.Unmarshal(text, &counted, api.Lenient); err != nil {
		return providers.Count{}, a.client.Malformed(err)
	}
	if counted.Input == nil {
		return providers.Count{}, a.client.Malformed(errNoCount)
	}
	return providers.Count{Tokens: *counted.Input}, nil
}
