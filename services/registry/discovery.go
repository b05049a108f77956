package registry

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"modelgateway/providers"
)

const (
	discoverEvery   = time.Hour
	discoverTimeout = 30 * time.Second
)

// Discovery lists the models of the configured providers regularly.
type Discovery struct {
	Models  *Models
	Listers map[string]Listing // by provider
	Log     *slog.Logger
}

// Listing is a provider that can list its models, with the key for the call.
type Listing struct {
	providers.Lister
	Key string
}

// Run lists the models at once and then every hour, until ctx ends. A provider whose
// listing fails keeps its models; the failure is logged.
func (d *Discovery) Run(ctx context.Context) {
	tick := time.NewTicker(discoverEvery)
	defer tick.Stop()
	for {
		d.Refresh(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Refresh lists the models of every provider once, within discoverTimeout.
func (d *Discovery) Refresh(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, discoverTimeout)
	defer cancel()
	var all sync.WaitGroup
	for name, lister := range d.Listers {
		all.Go(func() {
			listed, err := lister.Models(ctx, lister.Key)
			if err != nil {
				d.Log.Warn("model discovery failed", "provider", name, "error", err)
				return
			}
			d.Models.Found(name, listed)
			d.Log.Info("models discovered", "provider", name, "count", len(listed))
		})
	}
	all.Wait()
}
