package inflight

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"modelgateway/models/api"
	"modelgateway/services/auth"
)

// holds checks how many calls there are and how many bytes they hold.
func holds(t *testing.T, s *Slots, calls int, bytes int64) {
	t.Helper()
	if c, b := s.Live(); c != calls || b != bytes {
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

func TestOneCallerHasNoMoreThanItsSlots(t *testing.T) {
	s := New(100, 3, 1000)
	for _, same := range [][2]auth.Caller{
		{{KeyID: "k", UserID: "u", Address: "1"}, {KeyID: "k", UserID: "v", Address: "2"}},
		{{UserID: "u", Address: "1"}, {UserID: "u", Address: "2"}},
		{{Address: "1"}, {Address: "1"}},
	} {
		var taken []Slot
		for i := range 3 {
			slot, err := s.Take(same[i%2])
			if err != nil {
				t.Fatal(err)
			}
			taken = append(taken, slot)
		}
		_, err := s.Take(same[1])
		refusedWith(t, err, 429, api.CodeRateLimitExceeded)
		for _, other := range []auth.Caller{{KeyID: "other", UserID: "u", Address: "1"}, {UserID: "other", Address: "1"}, {Address: "other"}, {UserID: "k"}, {Address: "k"}, {Address: "u"}} {
			slot, err := s.Take(other)
			if err != nil {
				t.Errorf("%+v beside %+v: %v", other, same[0], err)
				continue
			}
			slot.Free()
		}
		holds(t, s, 3, 0)
		taken[1].Free()
		again, err := s.Take(same[0])
		if err != nil {
			t.Errorf("after one has ended: %v", err)
		}
		for _, slot := range []*Slot{&taken[0], &taken[2], &again} {
			slot.Free()
		}
		holds(t, s, 0, 0)
	}
	if len(s.callers) != 0 {
		t.Errorf("%d callers without calls are remembered", len(s.callers))
	}
}

func TestAllCallersTogetherHaveNoMoreThanTheSlots(t *testing.T) {
	s := New(5, 3, 1000)
	var taken []Slot
	for i := range 5 {
		slot, err := s.Take(auth.Caller{Address: fmt.Sprint(i)})
		if err != nil {
			t.Fatal(err)
		}
		taken = append(taken, slot)
	}
	_, err := s.Take(auth.Caller{Address: "another"})
	refusedWith(t, err, 503, api.CodeServiceUnavailable)
	_, err = s.Take(auth.Caller{Address: "0"})
	refusedWith(t, err, 503, api.CodeServiceUnavailable)
	holds(t, s, 5, 0)
	taken[0].Free()
	if _, err := s.Take(auth.Caller{Address: "another"}); err != nil {
		t.Error(err)
	}
	holds(t, s, 5, 0)
}

func TestBytesAreBoundedAndGivenBack(t *testing.T) {
	s := New(10, 10, 100)
	one, _ := s.Take(auth.Caller{Address: "1"})
	other, _ := s.Take(auth.Caller{Address: "2"})
	for _, step := range []struct {
		slot  *Slot
		bytes int64
		ok    bool
		all   int64
	}{{&one, 60, true, 60}, {&other, 41, false, 60}, {&other, 40, true, 100}, {&one, 1, false, 100}, {&one, 0, true, 100}, {&other, 1 << 40, false, 100}} {
		err := step.slot.Hold(step.bytes)
		if (err == nil) != step.ok {
			t.Errorf("%d more: %v", step.bytes, err)
		}
		if !step.ok {
			refusedWith(t, err, 503, api.CodeServiceUnavailable)
		}
		holds(t, s, 2, step.all)
	}
	one.Free()
	holds(t, s, 1, 40)
	if err := other.Hold(60); err != nil {
		t.Error(err)
	}
	other.Free()
	holds(t, s, 0, 0)
	if err := (*Slot)(nil).Hold(1 << 40); err != nil {
		t.Errorf("a call that is not counted: %v", err)
	}
}

// Whatever a crowd does, the bounds are exact at every moment and nothing is
// left at its end.
func TestSlotsAreExactInACrowd(t *testing.T) {
	const crowd, rounds, callers = 200, 50, 8
	const most, mostEach, mostBytes = 40, 7, 5000
	s := New(most, mostEach, mostBytes)
	var live, bytes, busy, heavy atomic.Int64
	var ofOne [callers]atomic.Int64
	var all sync.WaitGroup
	for n := range crowd {
		who := n % callers
		all.Go(func() {
			for range rounds {
				slot, err := s.Take(auth.Caller{KeyID: fmt.Sprint(who)})
				if err != nil {
					busy.Add(1)
					continue
				}
				func() {
					defer func() { _ = recover() }()
					defer slot.Free()
					if l, o := live.Add(1), ofOne[who].Add(1); l > most || o > mostEach {
						t.Errorf("%d calls, %d of one", l, o)
					}
					defer live.Add(-1)
					defer ofOne[who].Add(-1)
					held := rand.Int64N(400)
					if slot.Hold(held) != nil {
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
	holds(t, s, 0, 0)
	if len(s.callers) != 0 {
		t.Errorf("%d callers are remembered", len(s.callers))
	}
	if busy.Load() == 0 || heavy.Load() == 0 {
		t.Errorf("%d were refused a slot and %d their bytes: that proves nothing", busy.Load(), heavy.Load())
	}
	for i := range most {
		if _, err := s.Take(auth.Caller{Address: fmt.Sprint(i)}); err != nil {
			t.Fatalf("a slot is lost: %v", err)
		}
	}
}

func TestOfACrowdExactlyTheSlotsAreTaken(t *testing.T) {
	const crowd = 200
	for _, tt := range []struct{ most, mostEach, taken int }{{1000, 17, 17}, {23, 1000, 23}, {1000, 1000, crowd}} {
		s := New(tt.most, tt.mostEach, 10*crowd)
		var taken atomic.Int64
		var all sync.WaitGroup
		for range crowd {
			all.Go(func() {
				if slot, err := s.Take(auth.Caller{KeyID: "k"}); err == nil {
					taken.Add(1)
					_ = slot.Hold(10)
				}
			})
		}
		all.Wait()
		if n := int(taken.Load()); n != tt.taken {
			t.Errorf("%d of %d", n, tt.taken)
		}
		holds(t, s, tt.taken, int64(10*tt.taken))
	}
}
