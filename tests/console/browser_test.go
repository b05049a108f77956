package console

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// chrome is the one browser of all tests. It starts with the first test that needs it and ends
// with the last one that runs.
type chrome struct {
	mu    sync.Mutex
	users int
	ctx   context.Context
	stop  func()
}

var shared = &chrome{}

// newBrowser returns the browser, which runs until the test ends.
func newBrowser(t testing.TB) context.Context {
	t.Helper()
	path, _ := needBrowser(t)
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.users == 0 {
		if err := shared.start(path); err != nil {
			t.Fatalf("start the browser: %v", err)
		}
	}
	shared.users++
	t.Cleanup(shared.release)
	return shared.ctx
}

func (c *chrome) start(path string) error {
	folder, err := os.MkdirTemp("", "console-browser-")
	if err != nil {
		return err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.UserDataDir(folder), chromedp.DisableGPU)
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, end := chromedp.NewContext(allocator)
	c.ctx = ctx
	c.stop = func() {
		_ = chromedp.Cancel(ctx) // waits for its end, before its folder is removed
		end()
		stop()
		_ = os.RemoveAll(folder)
	}
	if err := chromedp.Do(ctx); err != nil {
		c.stop()
		return errors.Join(err, os.RemoveAll(folder))
	}
	return nil
}

func (c *chrome) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.users--; c.users == 0 {
		c.stop()
	}
}
