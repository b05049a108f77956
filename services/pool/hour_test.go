package pool

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestPercentilesOfTheFirstTokenAreWithinATenth(t *testing.T) {
	t.Parallel()
	for _, scale := range []time.Duration{2 * time.Millisecond, 400 * time.Millisecond, 20 * time.Second} {
		var h hour
		var times []time.Duration
		for range 2000 {
			d := scale/4 + time.Duration(rand.ExpFloat64()*float64(scale))
			times = append(times, d)
			h.add(ended{first: d}, november)
		}
		slices.Sort(times)
		r := h.report(november)
		for percent, got := range map[int]time.Duration{50: r.P50, 95: r.P95} {
			want := times[len(times)*percent/100]
			if off := float64(got-want) / float64(want); off < -.1 || off > .1 {
				t.Errorf("p%d of about %s is %s, not %s", percent, scale, got, want)
			}
		}
	}
}

func TestBinsAreInOrderAndHoldEveryTime(t *testing.T) {
	t.Parallel()
	for b := range bins {
		if got := bin(binStart(b)); got != b {
			t.Errorf("bin %d begins with %s, which is in bin %d", b, binStart(b), got)
		}
		if b > 0 && bin(binStart(b)-time.Microsecond) != b-1 {
			t.Errorf("the time before %s is in bin %d", binStart(b), bin(binStart(b)-time.Microsecond))
		}
	}
	for _, d := range []time.Duration{-1, 0, 1, 1 << 62} {
		if b := bin(d); b < 0 || b >= bins {
			t.Errorf("%s is in bin %d", d, b)
		}
	}
}

func TestTheHourForgetsWhatIsOlder(t *testing.T) {
	t.Parallel()
	var h hour
	var key keyHour
	for i := range 120 {
		at := november.Add(time.Duration(i) * time.Minute)
		h.add(ended{failed: i%2 == 0, refused: i%4 == 1, first: time.Second, key: &key}, at)
	}
	now := november.Add(119*time.Minute + 59*time.Second)
	r := h.report(now)
	if r.Calls != 60 || r.Failed != 30 || r.Refused != 15 || key.calls(now) != 60 {
		t.Errorf("%d calls, %d failed, %d refused, %d with the key", r.Calls, r.Failed, r.Refused, key.calls(now))
	}
	if first, last := r.Minutes[0], r.Minutes[59]; first.Calls != 1 || !first.Begins.Equal(november.Add(time.Hour)) ||
		last.Failed != 0 || !last.Begins.Equal(november.Add(119*time.Minute)) {
		t.Errorf("%+v, %+v", first, last)
	}
	later := now.Add(2 * time.Hour)
	if r := h.report(later); r.Calls != 0 || r.P50 != 0 || key.calls(later) != 0 {
		t.Errorf("%d calls, p50 %s an hour after the last one", r.Calls, r.P50)
	}
}

func TestAStreamThatFailsLaterIsAFailureOfItsHour(t *testing.T) {
	t.Parallel()
	c := &clock{november}
	w := newWindow(trafficWindow, c.now)
	w.add(ended{first: time.Second})
	w.fail()
	c.at = c.at.Add(2 * time.Minute)
	w.fail() // of a call that was added in another minute, and is not known there
	if r := w.hour.report(c.at); r.Calls != 2 || r.Failed != 2 {
		t.Errorf("%d calls, %d failed", r.Calls, r.Failed)
	}
}
