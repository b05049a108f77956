package models

import (
	"math"
	"math/bits"
	"slices"
)

// timeBuckets is the number of the buckets in which times are counted. Each is 2^(1/4)
// times as wide as the one before: the middle of a bucket differs by at most 9.1 % from
// every time in it. The first begins at 0 and ends at 2^7.25 µs (0.15 ms), the last
// begins at 2^38.75 µs (5.3 days).
const timeBuckets = 128

const (
	bucketsPerDoubling = 4
	firstDoubling      = 7 // the bits of 128 µs
)

// timeBucket is the bucket of a time in microseconds.
func timeBucket(us int64) uint8 {
	if us < 1<<firstDoubling {
		return 0
	}
	doubling := bits.Len64(uint64(us)) - 1
	const fraction = 31 // bits: the time is compared as a number from 2^31 to 2^32
	part := uint64(us) << (63 - doubling) >> (63 - fraction)
	bucket := (doubling - firstDoubling) * bucketsPerDoubling
	const first, second, third = 2553802834, 3037000500, 3611622603 // 2^31 times 2^(1/4), 2^(1/2), 2^(3/4), rounded up
	switch {
	case part >= third:
		bucket += 3
	case part >= second:
		bucket += 2
	case part >= first:
		bucket++
	}
	return uint8(min(bucket, timeBuckets-1))
}

// bucketMiddle is the time in microseconds that stands for those of a bucket.
func bucketMiddle(bucket int) float64 {
	return math.Exp2(firstDoubling + (float64(bucket)+0.5)/bucketsPerDoubling)
}

// Times counts calls by how long something took. Its buckets ascend.
type Times []TimeCount

// TimeCount is the number of the calls whose time is in a bucket.
type TimeCount struct {
	Bucket uint8
	Calls  uint32
}

func (t *Times) add(bucket uint8, calls uint32) {
	all := *t
	i := len(all)
	for i > 0 && all[i-1].Bucket >= bucket {
		i--
	}
	if i < len(all) && all[i].Bucket == bucket {
		all[i].Calls += min(calls, math.MaxUint32-all[i].Calls)
		return
	}
	*t = slices.Insert(all, i, TimeCount{bucket, calls})
}

// Histogram counts calls by how long something took. It is the sum of any number of Times.
type Histogram [timeBuckets]int64

// Add adds times.
func (h *Histogram) Add(times Times) {
	for _, t := range times {
		h[t.Bucket%timeBuckets] += int64(t.Calls)
	}
}

// Quantile is the time in microseconds that a part of the calls did not exceed, such as
// 0.95 of them, with an error of at most 9.1 %. False without calls.
func (h *Histogram) Quantile(part float64) (us float64, ok bool) {
	all := int64(0)
	for _, n := range h {
		all += n
	}
	if all == 0 {
		return 0, false
	}
	rank := max(1, int64(math.Ceil(part*float64(all))))
	for bucket, n := range h {
		if rank -= n; rank <= 0 {
			return bucketMiddle(bucket), true
		}
	}
	return bucketMiddle(timeBuckets - 1), true
}
