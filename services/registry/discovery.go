package registry

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"modelgateway/llm"
	"modelgateway/models"
	"modelgateway/providers"
)

const (
	discoverEvery   = time.Hour
	discoverTimeout = 30 * time.Second
	discoverRetry   = 2 * time.Second // after the first failure; each further one doubles it
	discoverMaxWait = 5 * time.Minute
)

// Discovery lists the models of the configured providers regularly.
type Discovery struct {
	Models  *Models
	Listers map[string]Listing // by provider
	Store   *models.Store      // keeps what was listed last; nil: it is lost with the process
	Log     *slog.Logger

	warned sync.Map // of names that are another provider's: by both providers
}

// Listing is a provider that can list its models, with the key for the call.
type Listing struct {
	Models func(ctx context.Context, key string) ([]providers.Listed, error)
	Key    string
}

// Run lists the models of each provider at once and then every hour, until ctx ends. A
// listing that fails is tried again within seconds. Until it succeeds the provider has
// the models that it listed last, in this process or before it.
func (d *Discovery) Run(ctx context.Context) {
	var all sync.WaitGroup
	for name := range d.Listers {
		all.Go(func() { d.follow(ctx, name) })
	}
	all.Wait()
}

// follow lists the models of one provider until ctx ends.
func (d *Discovery) follow(ctx context.Context, provider string) {
	retry, failing := discoverRetry, false
	for {
		wait := discoverEvery
		err := d.list(ctx, provider)
		switch {
		case err == nil:
			retry, failing = discoverRetry, false
		case ctx.Err() != nil:
			return
		default:
			if !d.Models.hasFound(provider) {
				d.restore(ctx, provider)
			}
			wait = retry/2 + rand.N(retry/2+1) // several replicas start together
			level := slog.LevelWarn
			if failing {
				level = slog.LevelDebug
			}
			d.Log.Log(ctx, level, "model discovery failed", "provider", provider, "error", err,
				"next_try", wait.Round(time.Millisecond).String())
			retry, failing = min(2*retry, discoverMaxWait), true
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// Refresh lists the models of every provider once, within discoverTimeout.
func (d *Discovery) Refresh(ctx context.Context) {
	var all sync.WaitGroup
	for name := range d.Listers {
		all.Go(func() {
			if err := d.list(ctx, name); err != nil {
				d.Log.Warn("model discovery failed", "provider", name, "error", err)
			}
		})
	}
	all.Wait()
}

var errNoModels = errors.New("the provider lists no models")

// list lists the models of a provider and keeps them for the next start.
func (d *Discovery) list(ctx context.Context, provider string) error {
	limited, cancel := context.WithTimeout(ctx, discoverTimeout)
	defer cancel()
	listed, err := d.Listers[provider].Models(limited, d.Listers[provider].Key)
	if err != nil {
		return err
	}
	if len(listed) == 0 {
		return errNoModels
	}
	d.found(provider, listed)
	d.Log.Info("models discovered", "provider", provider, "models", len(listed))
	if d.Store == nil {
		return nil
	}
	rows := make([]models.DiscoveredModel, 0, len(listed))
	seen := map[string]bool{}
	for _, l := range listed {
		if sound(l.ID) && !seen[l.ID] {
			seen[l.ID] = true
			rows = append(rows, models.DiscoveredModel{
				Provider: provider, ID: l.ID, Kind: string(l.Kind), Created: l.Created, Context: l.Context, MaxOutput: l.MaxOutput,
			})
		}
	}
	if err := d.Store.SaveDiscoveredModels(ctx, provider, rows); err != nil {
		d.Log.Warn("the discovered models were not saved: a start while the provider does not answer will not know them",
			"provider", provider, "error", err)
	}
	return nil
}

// restore gives a provider the models that it listed before this process started.
func (d *Discovery) restore(ctx context.Context, provider string) {
	if d.Store == nil {
		return
	}
	rows, err := d.Store.DiscoveredModels(ctx, provider)
	if err != nil || len(rows) == 0 {
		return // the next failure tries again
	}
	listed := make([]providers.Listed, len(rows))
	for i, r := range rows {
		listed[i] = providers.Listed{ID: r.ID, Kind: llm.Kind(r.Kind), Created: r.Created, Context: r.Context, MaxOutput: r.MaxOutput}
	}
	d.found(provider, listed)
	d.Log.Info("models of the last discovery restored", "provider", provider, "models", len(rows))
}

// found hands over what a provider has listed, and warns once where it lists names of
// another provider's models: they are still called there.
func (d *Discovery) found(provider string, listed []providers.Listed) {
	byOwner := map[string][]string{}
	for id, owner := range d.Models.Found(provider, listed) {
		byOwner[owner] = append(byOwner[owner], id)
	}
	for owner, ids := range byOwner {
		if _, again := d.warned.LoadOrStore([2]string{provider, owner}, true); again {
			continue
		}
		const some = 10
		slices.Sort(ids)
		d.Log.Warn("a provider lists names of another provider's models: calls of them go to the other one, and here as PROVIDER/NAME only",
			"provider", provider, "other", owner, "models", len(ids), "names", ids[:min(some, len(ids))])
	}
}
