package app

import (
	"context"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"modelgateway/catalog"
	"modelgateway/config"
	"modelgateway/providers/all"
)

// watchEvery is how often the files are looked at. A look is one stat(2) a file, which
// follows the links of a Kubernetes mount, sees a file that an editor has replaced, and
// works where a mount reports no changes: bind mounts of one file, NFS.
const watchEvery = 500 * time.Millisecond

// reloader reads the models file and the keys of the providers again.
type reloader struct {
	gateway *gateway
	cfg     *config.Config                 // of the start
	read    func() (*config.Config, error) // reads the settings again
	every   time.Duration                  // how often the files are looked at
	now     *generation
	stop    func() // ends the discovery of now
}

// run reads the files again when one has changed, or on SIGHUP, until ctx ends. Without
// a file SIGHUP keeps its usual effect.
func (r *reloader) run(ctx context.Context) {
	r.discover(ctx)
	defer func() { r.stop() }()
	files := r.gateway.watched
	if len(files) == 0 {
		<-ctx.Done()
		return
	}
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	tick := time.NewTicker(r.every)
	defer tick.Stop()
	seen, changed := stamps(files), false
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
		case <-tick.C:
			now := stamps(files)
			if !slices.EqualFunc(now, seen, stamp.same) { // it may still be being written: wait until it stays the same
				seen, changed = now, true
				continue
			}
			if !changed {
				continue
			}
		}
		seen, changed = stamps(files), false // before they are read: what changes meanwhile is found at the next look
		r.reload(ctx)
		if others := r.gateway.watched; !slices.Equal(files, others) {
			files, seen = others, stamps(others)
		}
	}
}

// reload puts new settings into effect for new calls. Settings with a fault are refused
// as a whole, and those before them stay.
func (r *reloader) reload(ctx context.Context) {
	g := r.gateway
	next, of, err := r.derive()
	if of != nil {
		if files := watched(&next, of.catalog); len(files) > 0 {
			g.watched = files
		}
	}
	if err != nil {
		g.health.Reloaded(err)
		g.log.Error("the models file or the key of a provider cannot be used: the gateway keeps the settings that it read before",
			"error", err)
		return
	}
	r.now = g.generation(next, of, r.now)
	g.calls.Use(r.now.router)
	g.settings.Store(&next)
	g.health.Reloaded(nil)
	g.log.Info("the models file and the keys of the providers were read again: new calls use them",
		"providers", len(r.now.router.Upstreams))
	r.stop()
	r.discover(ctx)
}

// derive reads the settings again, of which those of the providers count.
func (r *reloader) derive() (config.Config, *derived, error) {
	next := *r.cfg
	read, err := r.read()
	if err != nil {
		return next, nil, err
	}
	next.TakeKeys(read, all.Settings())
	of, err := derive(&next, silentWarner()) // its warnings are of names that the start has logged
	return next, of, err
}

// discover lists the models of the present generation in the background until stop.
func (r *reloader) discover(ctx context.Context) {
	if !r.cfg.ModelDiscovery {
		r.stop = func() {}
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.gateway.discoveryOf(r.now).Run(ctx)
	}()
	r.stop = func() {
		cancel()
		<-done
	}
}

// stamp is what tells whether a file is another one than before.
type stamp struct{ info fs.FileInfo } // nil: it cannot be read

func stamps(files []string) []stamp {
	all := make([]stamp, len(files))
	for i, file := range files {
		if info, err := os.Stat(file); err == nil {
			all[i].info = info
		}
	}
	return all
}

func (s stamp) same(t stamp) bool {
	if s.info == nil || t.info == nil {
		return s.info == t.info
	}
	return s.info.Size() == t.info.Size() && s.info.ModTime().Equal(t.info.ModTime()) && os.SameFile(s.info, t.info)
}

// watched are the files that the settings of models and providers come from.
func watched(cfg *config.Config, list *catalog.Catalog) []string {
	var files []string
	if cfg.ModelsFile != "" {
		files = append(files, cfg.ModelsFile)
	}
	for _, p := range cfg.Providers {
		if p.KeysFile != "" {
			files = append(files, p.KeysFile)
		}
	}
	for _, p := range list.Own() {
		for _, source := range p.Keys {
			if source.File != "" {
				files = append(files, source.File)
			}
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}
