package simulation

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/catalog"
	"modelgateway/services/inference"
	"modelgateway/tests/longtest"
)

// lab has what all runs share.
type lab struct {
	schema  []byte
	catalog *catalog.Catalog
	model   *catalog.Model

	mu   sync.Mutex
	idle []*inference.Service // each has the vocabulary of the estimates, which takes long to load
}

func newLab(t testing.TB) *lab {
	t.Helper()
	list, err := catalog.Load("")
	if err != nil {
		t.Fatal(err)
	}
	model, ok := list.Model("gpt-4")
	if !ok {
		t.Fatal("the catalogue has another model")
	}
	return &lab{schema: schema(t), catalog: list, model: model}
}

func (l *lab) service() *inference.Service {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.idle); n > 0 {
		s := l.idle[n-1]
		l.idle = l.idle[:n-1]
		return s
	}
	return &inference.Service{Answer: inference.Answered()}
}

func (l *lab) release(s *inference.Service) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.idle = append(l.idle, s)
}

// report says how to repeat a run that failed, and what happened in it.
func report(t *testing.T, seed uint64, res result) {
	t.Helper()
	t.Errorf("seed %d breaks an invariant; alone: SEED=%d go test -count 1 -run TestMoneyIsKept ./tests/simulation\n%s",
		seed, seed, strings.Join(res.trace, "\n"))
}

func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

func TestMoneyIsKept(t *testing.T) {
	l := newLab(t)
	if seed := number(t, "SEED", 0); seed > 0 {
		res := l.play(t, uint64(seed))
		t.Log("\n" + strings.Join(res.trace, "\n"))
		if res.failed {
			t.Error("an invariant is broken")
		}
		return
	}
	seeds, most := number(t, "SEEDS", longtest.Size(fewSeeds, manySeeds)), number(t, "FAILURES", 3)
	sum, began := counts{}, time.Now()
	t.Cleanup(func() { t.Logf("%d seeds in %v: %+v", seeds, time.Since(began).Round(time.Millisecond), sum) })
	var mu sync.Mutex // guards sum
	var played, failed atomic.Int64
	for i := range runtime.GOMAXPROCS(0) {
		t.Run(fmt.Sprintf("player %d", i+1), func(t *testing.T) {
			t.Parallel()
			for seed := played.Add(1); seed <= int64(seeds) && failed.Load() < int64(most); seed = played.Add(1) {
				res := l.play(t, uint64(seed))
				mu.Lock()
				sum.add(res.counts)
				mu.Unlock()
				if res.failed {
					failed.Add(1)
					report(t, uint64(seed), res)
				}
			}
		})
	}
}

// On a busy machine the system may stop one of two goroutines that run at the same simulated time, so that the other one
// comes first: a pair of runs that differs is played once more, and one seed in ten may differ again.
func TestTheSameSeedMakesTheSameRun(t *testing.T) {
	l := newLab(t)
	seeds := longtest.Size(max(fewSeeds/20, 1), 100/slower)
	var differ []string
	for seed := range uint64(seeds) {
		a, b := l.play(t, seed+1).trace, l.play(t, seed+1).trace
		if !slices.Equal(a, b) {
			a, b = l.play(t, seed+1).trace, l.play(t, seed+1).trace
		}
		if !slices.Equal(a, b) {
			differ = append(differ, fmt.Sprintf("seed %d makes two runs: %s", seed+1, difference(a, b)))
		}
	}
	if len(differ) > seeds/10 {
		t.Errorf("%d of %d seeds differ:\n%s", len(differ), seeds, strings.Join(differ, "\n"))
	}
}

func difference(a, b []string) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d\n%s\n%s", i, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d and %d lines", len(a), len(b))
}
