package models

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestTimesAreCountedWithAnErrorOfAtMostATenth(t *testing.T) {
	last := uint8(0)
	for us := int64(1); us > 0 && us < 1<<38; us += 1 + us/50 {
		bucket := timeBucket(us)
		if bucket < last {
			t.Fatalf("%d µs are in bucket %d, less in %d", us, bucket, last)
		}
		last = bucket
		if middle := bucketMiddle(int(bucket)); us >= 1<<firstDoubling && math.Abs(middle-float64(us))/float64(us) > 0.091 {
			t.Fatalf("%d µs are counted as %f", us, middle)
		}
	}
	for us, want := range map[int64]uint8{math.MinInt64: 0, -1: 0, 0: 0, 127: 0, 128: 0, 1 << 39: 127, math.MaxInt64: 127} {
		if got := timeBucket(us); got != want {
			t.Errorf("%d µs are in bucket %d", us, got)
		}
	}
}

func TestQuantilesAreThoseOfTheCalls(t *testing.T) {
	var h Histogram
	if _, ok := h.Quantile(0.5); ok {
		t.Error("a quantile of no calls")
	}
	var times []int64
	for range 5000 {
		us := int64(math.Exp(rand.NormFloat64()) * 1e6)
		times = append(times, us)
		var one Times
		one.add(timeBucket(us), 1)
		h.Add(one)
	}
	slices.Sort(times)
	for _, part := range []float64{0, 0.001, 0.5, 0.9, 0.95, 0.999, 1} {
		want := float64(times[max(0, int(math.Ceil(part*5000))-1)])
		if got, ok := h.Quantile(part); !ok || math.Abs(got-want) > 0.091*want {
			t.Errorf("the quantile %v is %f, not %f", part, got, want)
		}
	}
}

// randomMinutes are sums of up to n groups.
func randomMinutes(random *rand.Rand, begin int64, n int) minutesOf {
	all := minutesOf{}
	for range n {
		text := func() string { return fmt.Sprint("text", random.IntN(4))[:random.IntN(6)] }
		g := UsageGroup{text(), text(), text(), text(), text(), text(), text()}
		for range random.IntN(5) {
			of := all[g]
			t := tallyOf(&of, begin+random.Int64N(1440))
			all[g] = of
			for _, n := range t.numbers() {
				*n += random.Int64N(1 << random.IntN(40))
			}
			for range random.IntN(9) {
				t.FirstToken.add(uint8(random.IntN(timeBuckets)), 1+uint32(random.IntN(1<<random.IntN(20))))
				t.Duration.add(uint8(random.IntN(timeBuckets)), 1)
			}
			t.Errors[random.IntN(int(errorKinds))] += random.Int64N(3)
		}
	}
	return all
}

func TestPackedSumsAreReadAsTheyWere(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		begin := random.Int64N(1 << 25)
		all := randomMinutes(random, begin, random.IntN(20))
		p := pack(packedForm, begin, all)
		again := minutesOf{}
		for one, err := range p.each(anyGroup) {
			if err != nil {
				t.Fatal(err)
			}
			of := again[one.group]
			tallyOf(&of, begin+one.minute).add(&one.tally)
			again[one.group] = of
		}
		if same := pack(packedForm, begin, again); !bytes.Equal(same.totals, p.totals) || !bytes.Equal(same.details, p.details) {
			t.Fatalf("%+v was read as %+v", all, again)
		}
		totals := minutesOf{}
		for one, err := range (packed{totals: p.totals}).each(anyGroup) {
			if err != nil || one.minute != 0 {
				t.Fatalf("%+v, %v", one, err)
			}
			var want Tally
			for i := range all[one.group] {
				want.add(&all[one.group][i].Tally)
			}
			if fmt.Sprint(one.tally) != fmt.Sprint(want) {
				t.Fatalf("%+v, not %+v", one.tally, want)
			}
			totals[one.group] = nil
		}
		if len(totals) != len(all) {
			t.Fatalf("%d of %d groups", len(totals), len(all))
		}
		wanted := UsageGroup{User: "text1"[:random.IntN(6)]}
		for one, err := range p.each(func(g UsageGroup) bool { return g.User == wanted.User }) {
			if err != nil || one.group.User != wanted.User {
				t.Fatalf("%+v, %v", one.group, err)
			}
		}
	}
}

// FuzzPackedSums reads damaged sums: with an error or without one, but never without end,
// and never with numbers of buckets that there are not.
func FuzzPackedSums(f *testing.F) {
	random := rand.New(rand.NewPCG(7, 8))
	for n := range 5 {
		p := pack(packedForm, 60, randomMinutes(random, 60, 3*n))
		f.Add(p.totals, p.details)
	}
	f.Add([]byte{packedForm, 1, 0xff, 0xff, 0x7f}, []byte{packedForm})
	f.Fuzz(func(t *testing.T, totals, details []byte) {
		read := 0
		for one, err := range (packed{totals, details}).each(anyGroup) {
			if err != nil {
				break
			}
			if read++; read > len(totals)+len(details) {
				t.Fatal("more sums than bytes")
			}
			var h Histogram
			h.Add(one.tally.FirstToken)
			h.Add(one.tally.Duration)
		}
	})
}
