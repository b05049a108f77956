package metrics

import (
	rand "math/rand/v2"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Prometheus' own histogram counts the same waits.
func TestGapsAreCountedAsAHistogramDoes(t *testing.T) {
	var bounds []float64
	for _, b := range gapBuckets {
		bounds = append(bounds, b.Seconds())
	}
	want := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "gaps", Buckets: bounds})
	m := New()
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var gaps Gaps
		for range random.IntN(100) {
			wait := time.Duration(random.ExpFloat64() * float64(time.Second))
			switch random.IntN(5) {
			case 0:
				wait = gapBuckets[random.IntN(len(gapBuckets))]
			case 1:
				wait = gapBuckets[random.IntN(len(gapBuckets))] + 1
			case 2:
				wait = 0
			}
			gaps.Add(wait)
			want.Observe(wait.Seconds())
		}
		m.Ended(CallFacts{Provider: "openai", Gaps: &gaps})
	}
	var a, b dto.Metric
	collected := make(chan prometheus.Metric, 1)
	m.models.providers["openai"].gaps.Collect(collected)
	if err := (<-collected).Write(&a); err != nil {
		t.Fatal(err)
	}
	if err := want.Write(&b); err != nil {
		t.Fatal(err)
	}
	got, ok := a.GetHistogram(), b.GetHistogram()
	difference := got.GetSampleSum() - ok.GetSampleSum()
	if got.GetSampleCount() != ok.GetSampleCount() || difference > 1e-6 || difference < -1e-6 {
		t.Errorf("%v\nwant %v", got, ok)
	}
	for i, bucket := range ok.GetBucket() {
		if g := got.GetBucket()[i]; g.GetCumulativeCount() != bucket.GetCumulativeCount() || g.GetUpperBound() != bucket.GetUpperBound() {
			t.Errorf("%v, want %v", g, bucket)
		}
	}
}

func TestAClockThatIsSetBackMakesNoNegativeGap(t *testing.T) {
	var gaps Gaps
	gaps.Add(-time.Hour)
	if gaps.sum != 0 || gaps.counts[0] != 1 {
		t.Errorf("%+v", gaps)
	}
}
