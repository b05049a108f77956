package ratelimit

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAFailedRedisIsTestedByOneJobAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lockedText
		b := newBatcher[int]("test", time.Second, slog.New(slog.NewTextHandler(&log, nil)), nil)
		broken := errors.New("broken")
		allowed := func(step string) func(error) {
			t.Helper()
			report, err := b.circuit.Allow()
			if err != nil {
				t.Fatalf("%s: %v", step, err)
			}
			return report
		}
		refused := func(step string) {
			t.Helper()
			if _, err := b.circuit.Allow(); err == nil {
				t.Errorf("%s: allowed", step)
			}
		}
		logged := func(step string, failures, recoveries int) {
			t.Helper()
			text := log.String()
			if strings.Count(text, "counts this limit by itself") != failures || strings.Count(text, "share this limit") != recoveries {
				t.Errorf("%s: the log says:\n%s", step, text)
			}
			if b.shared() != (failures == recoveries) {
				t.Errorf("%s: shared: %v", step, b.shared())
			}
		}
		const pause = time.Second + time.Nanosecond
		first, second := allowed("works"), allowed("works for another")
		third := allowed("works for a third")
		first(nil)
		logged("works on", 0, 0)
		second(broken)
		logged("fails", 1, 0)
		third(broken)
		logged("one that was under way fails too", 1, 0)
		refused("pauses")
		time.Sleep(pause)
		test := allowed("is tested")
		refused("by one")
		time.Sleep(time.Minute)
		refused("however long it takes")
		test(broken)
		logged("fails again", 1, 0)
		refused("pauses again")
		time.Sleep(pause)
		test = allowed("is tested again")
		test(nil)
		logged("is back", 1, 1)
		allowed("works again")(nil)
		allowed("works again for another")(nil)
		if !b.recovered.Load() || !strings.Contains(log.String(), "error=broken") {
			t.Errorf("recovered: %v, the log says:\n%s", b.recovered.Load(), log.String())
		}
	})
}

// newNumbering makes a batcher that numbers its jobs in the order in which they are
// applied.
func newNumbering(t *testing.T, each time.Duration, fails func(batch int) error) (b *batcher[*int], batches *[]int) {
	t.Helper()
	batches = new([]int)
	total := 0
	prepare := func(_ string, jobs []*int) (func(context.Context) error, func(error)) {
		*batches = append(*batches, len(jobs))
		n := len(*batches)
		send := func(ctx context.Context) error {
			select {
			case <-time.After(each):
				return fails(n)
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return send, func(err error) {
			if err != nil {
				return
			}
			for _, job := range jobs {
				total++
				*job = total
			}
		}
	}
	return newBatcher("test", time.Second, slog.New(slog.DiscardHandler), prepare), batches
}

func TestJobsThatArriveDuringABatchFormTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, batches := newNumbering(t, 15*time.Millisecond, func(int) error { return nil })
		numbers := make([]int, 100)
		for i := range numbers {
			go func() {
				if !b.do(t.Context(), "a", &numbers[i]) {
					t.Errorf("job %d is not sent", i)
				}
			}()
			synctest.Wait()
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if len(*batches) != 2 || (*batches)[0] != 1 || (*batches)[1] != 99 {
			t.Errorf("batches of %d jobs", *batches)
		}
		for i, number := range numbers {
			if number != i+1 {
				t.Errorf("job %d has number %d", i, number)
			}
		}
		if len(b.latest) != 0 {
			t.Errorf("%d batches are kept", len(b.latest))
		}
	})
}

// A job of the second batch waits for the first batch too. Both waits together
// have the ticks of one, and the tick in which the first batch ends counts twice.
func TestNoJobWaitsLongerThanOneTimeout(t *testing.T) {
	for name, each := range map[string]time.Duration{"frozen": time.Hour, "slow": 30 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, _ := newNumbering(t, each, func(int) error { return nil })
				jobs := make([]int, 50)
				for i := range jobs {
					go func() {
						began := time.Now()
						b.do(t.Context(), "a", &jobs[i])
						if took := time.Since(began); took > (redisTicks+1)*redisTick {
							t.Errorf("job %d waited %s", i, took)
						}
					}()
					time.Sleep(time.Millisecond)
				}
				time.Sleep(time.Second)
				synctest.Wait()
				if len(b.latest) != 0 {
					t.Errorf("%d batches are kept", len(b.latest))
				}
			})
		})
	}
}

// The batch behind a batch that failed would only find the same fault.
func TestABatchFailsWithTheOneBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		b, batches := newNumbering(t, 15*time.Millisecond, func(int) error { return broken })
		var jobs [3]int
		for i := range jobs {
			go func() {
				if b.do(t.Context(), "a", &jobs[i]) {
					t.Errorf("job %d is sent", i)
				}
			}()
			synctest.Wait()
		}
		time.Sleep(16 * time.Millisecond)
		synctest.Wait()
		if len(*batches) != 1 || b.shared() || len(b.latest) != 0 {
			t.Errorf("batches of %d jobs, shared: %v, %d are kept", *batches, b.shared(), len(b.latest))
		}
		if b.do(t.Context(), "b", &jobs[0]) {
			t.Error("another account's job is sent while the circuit is open")
		}
	})
}
