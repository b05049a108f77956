package pool

import (
	"math/bits"
	"time"
)

// The last hour is counted by minutes; what needs more memory is counted by slots of five
// minutes.
const (
	minutes     = 60
	slots       = 12
	slotMinutes = minutes / slots
)

// ended is the result of a call, as the hour counts it.
type ended struct {
	failed  bool          // by a fault of the provider, or of the key
	refused bool          // for another reason: a rate limit, or a request that is not accepted
	first   time.Duration // until the first event of a stream; 0: there was none
	key     *keyHour
}

// hour counts the calls of a provider in the last hour, for people who look at it. Its
// window's lock guards it.
type hour struct {
	minutes [minutes]minute
	firsts  [slots]firsts
}

type minute struct {
	number                 int64 // since 1970
	calls, failed, refused uint32
}

// firsts is a histogram of the times until the first event.
type firsts struct {
	number int64 // of the slot, since 1970
	counts [bins]uint32
}

// keyHour counts the calls with one key in the last hour. The window's lock guards it.
type keyHour [slots]struct {
	number int64 // of the slot, since 1970
	calls  uint32
}

func minuteOf(at time.Time) int64 { return at.Unix() / int64(time.Minute/time.Second) }

func (h *hour) add(e ended, at time.Time) {
	m := h.minute(at)
	m.calls++
	if e.failed {
		m.failed++
	}
	if e.refused {
		m.refused++
	}
	slot := m.number / slotMinutes
	if e.first > 0 {
		f := &h.firsts[slot%slots]
		if f.number != slot {
			*f = firsts{number: slot}
		}
		f.counts[bin(e.first)]++
	}
	if e.key != nil {
		k := &e.key[slot%slots]
		if k.number != slot {
			k.number, k.calls = slot, 0
		}
		k.calls++
	}
}

// fail turns a call that was added as a success into a failure.
func (h *hour) fail(at time.Time) {
	m := h.minute(at)
	if m.calls == m.failed+m.refused { // the call was added to an earlier minute
		m.calls++
	}
	m.failed++
}

func (h *hour) minute(at time.Time) *minute {
	number := minuteOf(at)
	m := &h.minutes[number%minutes]
	if m.number != number {
		*m = minute{number: number}
	}
	return m
}

// Hour is the calls of a provider in the last hour, the present minute included.
type Hour struct {
	Calls, Failed, Refused int64
	Minutes                [minutes]Minute // the oldest first
	P50, P95               time.Duration   // until the first event of a stream; 0: there was none
}

// Minute is the calls that ended within one minute.
type Minute struct {
	Begins        time.Time
	Calls, Failed int64
}

func (h *hour) report(at time.Time) (r Hour) {
	last := minuteOf(at)
	for i := range r.Minutes {
		number := last - minutes + 1 + int64(i)
		r.Minutes[i].Begins = time.Unix(number*int64(time.Minute/time.Second), 0)
		m := h.minutes[number%minutes]
		if m.number != number {
			continue
		}
		r.Minutes[i].Calls, r.Minutes[i].Failed = int64(m.calls), int64(m.failed)
		r.Calls += int64(m.calls)
		r.Failed += int64(m.failed)
		r.Refused += int64(m.refused)
	}
	var all [bins]uint32
	for i := range h.firsts {
		if last/slotMinutes-h.firsts[i].number < slots {
			for b, n := range h.firsts[i].counts {
				all[b] += n
			}
		}
	}
	r.P50, r.P95 = percentile(&all, 50), percentile(&all, 95)
	return r
}

func (k *keyHour) calls(at time.Time) (n int64) {
	slot := minuteOf(at) / slotMinutes
	for i := range k {
		if slot-k[i].number < slots {
			n += int64(k[i].calls)
		}
	}
	return n
}

// A bin is a quarter of a doubling: its bounds differ by a quarter at most. The first one
// has all times below 2^firstOctave microseconds, the last one all from 36 minutes on.
const (
	firstOctave = 8 // 256 µs
	octaves     = 24
	perOctave   = 4
	bins        = 1 + octaves*perOctave
)

// bin is the number of the bin of a time.
func bin(d time.Duration) int {
	micro := uint64(max(d.Microseconds(), 0))
	octave := bits.Len64(micro) - 1
	if octave < firstOctave {
		return 0
	}
	quarter := micro >> (octave - 2) & (perOctave - 1)
	return min(1+(octave-firstOctave)*perOctave+int(quarter), bins-1)
}

// binStart is the least time of a bin.
func binStart(b int) time.Duration {
	if b == 0 {
		return 0
	}
	octave, quarter := (b-1)/perOctave+firstOctave, (b-1)%perOctave
	return time.Duration((perOctave+quarter)<<(octave-2)) * time.Microsecond
}

// percentile is the time that a percentage of the calls stayed below, within the width of a
// bin; 0 without calls.
func percentile(counts *[bins]uint32, percent int64) time.Duration {
	var total int64
	for _, n := range counts {
		total += int64(n)
	}
	if total == 0 {
		return 0
	}
	left := float64(total*percent) / 100
	for b, n := range counts {
		if n > 0 && left <= float64(n) {
			start, end := binStart(b), binStart(b+1)
			return start + time.Duration(float64(end-start)*left/float64(n))
		}
		left -= float64(n)
	}
	return binStart(bins)
}
