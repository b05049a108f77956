package faults

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// openLoop begins calls at a steady rate, without waiting for the earlier ones,
// and waits for all at the end. due is when a call should have begun.
func openLoop(perSecond float64, lasting time.Duration, call func(i int, due time.Time)) {
	var working sync.WaitGroup
	began := time.Now()
	for i := 0; ; i++ {
		after := time.Duration(float64(i) / perSecond * float64(time.Second))
		if after >= lasting {
			break
		}
		due := began.Add(after)
		time.Sleep(time.Until(due))
		working.Go(func() { call(i, due) })
	}
	working.Wait()
}

// durations are collected by several goroutines.
type durations struct {
	mu  sync.Mutex
	all []time.Duration
}

func (d *durations) add(one time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, one)
}

// at is the duration that a share of all does not exceed.
func (d *durations) at(share float64) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.all) == 0 {
		return 0
	}
	slices.Sort(d.all)
	return d.all[min(int(share*float64(len(d.all))), len(d.all)-1)].Round(10 * time.Microsecond)
}

// failures counts failures and logs the first few.
type failures struct {
	count atomic.Int64
	most  int64 // 0 = 10
}

func (c *failures) add(t testing.TB, format string, args ...any) {
	t.Helper()
	n, most := c.count.Add(1), c.most
	if most == 0 {
		most = 10
	}
	if n <= most {
		t.Errorf(format, args...)
	}
}

// watched is the memory of a gateway, measured ten times a second until stop.
type watched struct {
	mu   sync.Mutex
	at   []time.Duration // since the beginning
	size []int64         // bytes
	stop func()
}

func watchMemory(t testing.TB, g *gateway) *watched {
	t.Helper()
	w, began := &watched{}, time.Now()
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for {
			w.mu.Lock()
			w.at, w.size = append(w.at, time.Since(began)), append(w.size, g.resident(t))
			w.mu.Unlock()
			select {
			case <-ended:
				return
			case <-ticker.C:
			}
		}
	}()
	w.stop = sync.OnceFunc(func() {
		close(ended)
		<-done
	})
	t.Cleanup(w.stop)
	return w
}

func (w *watched) most() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Max(w.size)
}

// median is that of the measurements between two shares of the time.
func (w *watched) median(from, to float64) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := float64(len(w.size))
	part := slices.Clone(w.size[int(from*n):int(to*n)])
	slices.Sort(part)
	return part[len(part)/2]
}

// slope is by how many bytes the memory grew in a minute, by least squares over
// the measurements behind a share of the time.
func (w *watched) slope(from float64) float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := int(from * float64(len(w.size)))
	var n, x, y, xx, xy float64
	for i := first; i < len(w.size); i++ {
		at, size := w.at[i].Minutes(), float64(w.size[i])
		n, x, y, xx, xy = n+1, x+at, y+size, xx+at*at, xy+at*size
	}
	return (n*xy - x*y) / (n*xx - x*x)
}

func mib(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }

func TestSlopeIsOfBytesAMinute(t *testing.T) {
	w := &watched{}
	for i := range 100 {
		w.at, w.size = append(w.at, time.Duration(i)*time.Second), append(w.size, 7<<20+int64(i)*1000)
	}
	if s := w.slope(0.5); s < 59_999 || s > 60_001 {
		t.Errorf("1000 bytes a second are %f a minute", s)
	}
	if w.median(0.5, 1) != 7<<20+75_000 || w.most() != 7<<20+99_000 {
		t.Errorf("median %d, most %d", w.median(0.5, 1), w.most())
	}
}

func TestOpenLoopDoesNotWaitForItsCalls(t *testing.T) {
	began := time.Now()
	var calls atomic.Int64
	openLoop(100, 500*time.Millisecond, func(int, time.Time) {
		calls.Add(1)
		time.Sleep(200 * time.Millisecond)
	})
	if n, took := calls.Load(), time.Since(began); n != 50 || took > 5*time.Second {
		t.Errorf("%d calls in %s", n, took)
	}
}
