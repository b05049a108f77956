package operations

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"modelgateway/api"
	"modelgateway/providers"
)

// Lister makes the function that reads the models of a provider with a key.
type Lister func(provider, key string) (func(context.Context) ([]providers.Listed, error), error)

// TryKey says whether the models of a provider can be read with a key, which is not kept.
func (p *Providers) TryKey(ctx context.Context, in api.NewProviderTrial) (*api.ProviderTrial, error) {
	const longest = 10 * time.Second
	list, err := p.Lister(in.Preset, in.Key)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	models, err := list(ctx)
	tried := &api.ProviderTrial{Object: "provider_trial", Preset: in.Preset, Works: err == nil, Models: len(models)}
	refused, ok := errors.AsType[*providers.Refusal](err)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		tried.Error = api.Maybe(in.Preset + " did not answer within " + longest.String())
	case ok && refused.Status >= http.StatusBadRequest:
		tried.Error = api.Maybe(refused.Error())
	case ok:
		tried.Error = api.Maybe(refused.ClientError().Message)
	default:
		tried.Error = api.Maybe(in.Preset + " could not be asked")
	}
	tried.Error = api.Maybe(strings.ReplaceAll(string(tried.Error), strings.TrimSpace(in.Key), "[redacted]"))
	return tried, nil
}
