package inflight

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"modelgateway/api"
	"modelgateway/services/auth"
)

// inUse checks how many calls run and how many bytes they have reserved.
func inUse(t *testing.T, l *Limiter, calls int, bytes int64) {
	t.Helper()
	if c, b := l.InUse(); c != calls || b != bytes {
		t.Errorf("%d calls with %d bytes, not %d with %d", c, b, calls, bytes)
	}
}

func refusedWith(t *testing.T, err error, status int, code string) {
	t.Helper()
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Status != status || e.Code != code || e.RetryAfterSeconds() < 1 || !e.ShouldRetry() || e.Message == "" {
		t.Errorf("%v, not %d %s", err, status, code)
	}
}

func TestOneCallerHasAtMostItsSlots(t *testing.T) {
	l := New(100, 3, 1000)
	for _, same := range [][2]auth.Caller{
		{{KeyID: "k", UserID: "u", Address: "1"}, {KeyID: "k", UserID: "v", Address: "2"}},
		{{UserID: "u", Address: "1"}, {UserID: "u", Address: "2"}},
		{{Address: "1"}, {Address: "1"}},
	} {
		var taken []Slot
		for i := range 3 {
			slot, err := l.Acquire(same[i%2])
			if err != nil {
				t.Fatal(err)
			}
			taken = append(taken, slot)
		}
		_, err := l.Acquire(same[1])
		refusedWith(t, err, 429, api.CodeRateLimitExceeded)
		for _, other := range []auth.Caller{{KeyID: "other", UserID: "u", Address: "1"}, {UserID: "other", Address: "1"}, {Address: "other"}, {UserID: "k"}, {Address: "k"}, {Address: "u"}} {
			slot, err := l.Acquire(other)
			if err != nil {
				t.Errorf("%+v beside %+v: %v", other, same[0], err)
				continue
			}
			slot.Release()
		}
		inUse(t, l, 3, 0)
		taken[1].Release()
		again, err := l.Acquire(same[0])
		if err != nil {
			t.Errorf("after one has ended: %v", err)
		}
		for _, slot := range []*Slot{&taken[0], &taken[2], &again} {
			slot.Release()
		}
		inUse(t, l, 0, 0)
	}
	if len(l.perCaller) != 0 {
		t.Errorf("%d callers without calls are remembered", len(l.perCaller))
	}
}

func TestAllCallersTogetherHaveAtMostAllSlots(t *testing.T) {
	l := New(5, 3, 1000)
	var taken []Slot
	for i := range 5 {
		slot, err := l.Acquire(auth.Caller{Address: fmt.Sprint(i)})
		if err != nil {
			t.Fatal(err)
		}
		taken = append(taken, slot)
	}
	_, err := l.Acquire(auth.Caller{Address: "another"})
	refusedWith(t, err, 503, api.CodeServiceUnavailable)
	_, err = l.Acquire(auth.Caller{Address: "0"})
	refusedWith(t, err, 503, api.CodeServiceUnavailable)
	inUse(t, l, 5, 0)
	taken[0].Release()
	if _, err := l.Acquire(auth.Caller{Address: "another"}); err != nil {
		t.Error(err)
	}
	inUse(t, l, 5, 0)
}

func TestBytesAreLimitedAndReleased(t *testing.T) {
	l := New(10, 10, 100)
	one, _ := l.Acquire(auth.Caller{Address: "1"})
	other, _ := l.Acquire(auth.Caller{Address: "2"})
	for _, step := range []struct {
		slot  *Slot
		bytes int64
		ok    bool
		all   int64
	}{{&one, 60, true, 60}, {&other, 41, false, 60}, {&other, 40, true, 100}, {&one, 1, false, 100}, {&one, 0, true, 100}} {
		err := step.slot.Reserve(step.bytes)
		if (err == nil) != step.ok {
			t.Errorf("%d more: %v", step.bytes, err)
		}
		if !step.ok {
			refusedWith(t, err, 503, api.CodeServiceUnavailable)
		}
		inUse(t, l, 2, step.all)
	}
	for _, alone := range []int64{61, 1 << 40} { // a call that can never have as much need not try again
		e, ok := errors.AsType[*api.Error](other.Reserve(alone))
		if !ok || e.Status != 413 || e.Code != api.CodeRequestTooLarge || e.ShouldRetry() {
			t.Errorf("%d more than 40 of 100: %v", alone, e)
		}
		inUse(t, l, 2, 100)
	}
	one.Release()
	inUse(t, l, 1, 40)
	if err := other.Reserve(60); err != nil {
		t.Error(err)
	}
	other.Release()
	inUse(t, l, 0, 0)
	if err := (*Slot)(nil).Reserve(1 << 40); err != nil {
		t.Errorf("a call that is not counted: %v", err)
	}
}

// The limits are exact at every moment, and nothing stays reserved at the end.
func TestLimitsAreExactUnderConcurrency(t *testing.T) {
	const crowd, rounds, callers = 200, 50, 8
	const most, mostEach, mostBytes = 40, 7, 5000
	l := New(most, mostEach, mostBytes)
	var live, bytes, busy, heavy atomic.Int64
	var ofOne [callers]atomic.Int64
	var all sync.WaitGroup
	for n := range crowd {
		who := n % callers
		all.Go(func() {
			for range rounds {
				slot, err := l.Acquire(auth.Caller{KeyID: fmt.Sprint(who)})
				if err != nil {
					busy.Add(1)
					continue
				}
				func() {
					defer func() { _ = recover() }()
					defer slot.Release()
					if all, one := live.Add(1), ofOne[who].Add(1); all > most || one > mostEach {
						t.Errorf("%d calls, %d of one", all, one)
					}
					defer live.Add(-1)
					defer ofOne[who].Add(-1)
					runtime.Gosched() // so that others find the slots taken, and not only the bytes
					held := rand.Int64N(400)
					if slot.Reserve(held) != nil {
						heavy.Add(1)
						panic("too much")
					}
					if b := bytes.Add(held); b > mostBytes {
						t.Errorf("%d bytes", b)
					}
					defer bytes.Add(-held)
					runtime.Gosched()
					if rand.IntN(10) == 0 {
						panic("a handler's")
					}
				}()
			}
		})
	}
	all.Wait()
	inUse(t, l, 0, 0)
	if len(l.perCaller) != 0 {
		t.Errorf("%d callers are remembered", len(l.perCaller))
	}
	if busy.Load() == 0 || heavy.Load() == 0 {
		t.Errorf("%d were refused a slot and %d their bytes: the test proves nothing", busy.Load(), heavy.Load())
	}
	for i := range most {
		if _, err := l.Acquire(auth.Caller{Address: fmt.Sprint(i)}); err != nil {
			t.Fatalf("a slot is lost: %v", err)
		}
	}
}

func TestConcurrentCallersTakeExactlyTheSlots(t *testing.T) {
	const crowd = 200
	for _, tt := range []struct{ most, mostEach, taken int }{{1000, 17, 17}, {23, 1000, 23}, {1000, 1000, crowd}} {
		l := New(tt.most, tt.mostEach, 10*crowd)
		var taken atomic.Int64
		var all sync.WaitGroup
		for range crowd {
			all.Go(func() {
				if slot, err := l.Acquire(auth.Caller{KeyID: "k"}); err == nil {
					taken.Add(1)
					_ = slot.Reserve(10)
				}
			})
		}
		all.Wait()
		if n := int(taken.Load()); n != tt.taken {
			t.Errorf("%d of %d", n, tt.taken)
		}
		inUse(t, l, tt.taken, int64(10*tt.taken))
	}
}
