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

// Discovery asks the configured providers which models they serve today.
type Discovery struct {
	Models  *Models
	Listers map[string]Listing // by provider
	Log     *slog.Logger
}

// Listing is a provider that can say what it serves, with the key to ask with.
type Listing struct {
	providers.Lister
	Key string
}

// Run asks at once and then every hour, until ctx ends. A provider that does
// not answer keeps the models it had: that is a line in the log, no more.
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

// Refresh asks every provider once, and returns when all have answered or the
// time for it is over.
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
