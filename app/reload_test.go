package app

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"modelgateway/config"
)

// onReload calls a function whenever the log says that the files have been read again.
type onReload struct {
	slog.Handler
	call func()
}

func (o onReload) Enabled(context.Context, slog.Level) bool { return true }

func (o onReload) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "the models file and the keys of the providers were read again: new calls use them" {
		o.call()
	}
	return nil
}

// The second text is written after the first was read and before the reload has ended.
func TestAFileThatChangesWhileItIsReadAgainIsReadOnceMore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "models.yaml")
	write := func(id string) {
		if err := os.WriteFile(file, []byte("models: [{id: "+id+", provider: openai}]\n"), 0o600); err != nil {
			t.Error(err)
		}
	}
	write("a")
	environ := []string{
		"MODELS_FILE=" + file, "DATABASE_URL=sqlite:" + filepath.Join(dir, "x.db"), "OPENAI_API_KEY=sk-of-a-test", "MODEL_DISCOVERY=false",
	}
	cfg, err := Settings(environ)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	reads := 0
	again := make(chan struct{})
	log := slog.New(onReload{slog.DiscardHandler, func() {
		mu.Lock()
		defer mu.Unlock()
		switch reads++; reads {
		case 1:
			write("third")
		case 2:
			close(again)
		}
	}})
	g, end, err := open(t.Context(), cfg, log, func() float64 { return 0 })
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	r := &reloader{
		cfg: cfg, read: func() (*config.Config, error) { return Settings(environ) }, every: 5 * time.Millisecond, gateway: g, now: g.first,
	}
	go func() { defer close(ended); r.run(ctx) }()
	for changed := false; !changed; time.Sleep(20 * time.Millisecond) { // the reloader may not have seen the first text yet
		mu.Lock()
		if changed = reads > 0; !changed {
			write("second")
		}
		mu.Unlock()
	}
	select {
	case <-again:
	case <-time.After(30 * time.Second):
		t.Fatal("the change was missed")
	}
	cancel()
	<-ended
	if _, err := g.models().Resolve("third"); err != nil {
		t.Error(err)
	}
}
