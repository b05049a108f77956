package metrics

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"modelgateway/models"
)

func TestAnEndedCallIsCountedInEachMetric(t *testing.T) {
	var gaps Gaps
	gaps.Add(40 * time.Millisecond)
	gaps.Add(60 * time.Millisecond)
	whole := CallFacts{
		Provider: "anthropic", Model: "claude", Outcome: models.OutcomeOK, Stream: true,
		InputTokens: 100, CachedTokens: 60, CacheWriteTokens: 7, OutputTokens: 50, ReasoningTokens: 20,
		Priced: true, Cost: 1_250_001, FirstToken: 2 * time.Second, Overhead: 300 * time.Microsecond, Gaps: &gaps,
	}
	for _, tt := range []struct {
		name  string
		facts CallFacts
		want  map[string]float64
	}{
		{"a stream with everything", whole, map[string]float64{
			"calls_total{claude,ok,anthropic}":     1,
			"tokens_total{claude,anthropic,input}": 100, "tokens_total{claude,anthropic,output}": 50,
			"tokens_total{claude,anthropic,cached}": 60, "tokens_total{claude,anthropic,cache_write}": 7,
			"tokens_total{claude,anthropic,reasoning}":     20,
			"cost_usd_total{claude,anthropic}":             1.250001,
			"time_to_first_token_seconds_count{anthropic}": 1,
			"time_to_first_token_seconds_sum{anthropic}":   2,
			"overhead_seconds_count{anthropic}":            1,
			"overhead_seconds_sum{anthropic}":              0.0003,
			"stream_gap_seconds_count{anthropic}":          2,
			"stream_gap_seconds_sum{anthropic}":            0.1,
		}},
		{"an answer has no first token", CallFacts{
			Provider: "openai", Model: "gpt", Outcome: models.OutcomeClient, Priced: true, FirstToken: time.Second,
		}, map[string]float64{
			"calls_total{gpt,client_gone,openai}": 1,
		}},
		{"a stream that never began", CallFacts{
			Provider: "openai", Model: "gpt", Outcome: models.OutcomeFailed, Priced: true, Stream: true, Overhead: time.Millisecond, Gaps: new(Gaps),
		}, map[string]float64{
			"calls_total{gpt,provider_error,openai}": 1,
			"overhead_seconds_count{openai}":         1, "overhead_seconds_sum{openai}": 0.001,
		}},
		{"estimated and unpriced", CallFacts{
			Provider: "gemini", Model: "flash", Outcome: models.OutcomeTimeout, Estimated: true, InputTokens: 3,
		}, map[string]float64{
			"calls_total{flash,timeout,gemini}": 1, "tokens_total{flash,gemini,input}": 3,
			"estimated_calls_total{flash,gemini}": 1, "unpriced_calls_total{flash,gemini}": 1,
		}},
		{"no provider was called", CallFacts{Outcome: models.OutcomeRefused, Priced: true},
			map[string]float64{"calls_total{none,refused,none}": 1}},
		{"stopped", CallFacts{Outcome: models.OutcomeStopped, Priced: true}, map[string]float64{"calls_total{none,stopped,none}": 1}},
		{"an error of the gateway", CallFacts{Outcome: models.OutcomeInternal, Priced: true},
			map[string]float64{"calls_total{none,internal_error,none}": 1}},
		{"an unknown outcome", CallFacts{Outcome: "?", Priced: true}, map[string]float64{"calls_total{none,internal_error,none}": 1}},
		{"negative values are not counted", CallFacts{
			Outcome: models.OutcomeOK, Priced: true, Stream: true, InputTokens: -1, OutputTokens: -1, Cost: -1, Overhead: -1, FirstToken: -1,
		},
			map[string]float64{"calls_total{none,ok,none}": 1}},
		{"invalid UTF-8 is replaced", CallFacts{Provider: "openai", Model: "a\xffb", Outcome: models.OutcomeOK, Priced: true},
			map[string]float64{"calls_total{a?b,ok,openai}": 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := New()
			before := samples(t, m)
			m.Ended(tt.facts)
			if got := changes(before, samples(t, m)); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%v\nwant %v", got, tt.want)
			}
		})
	}
}

// Counters of Prometheus are floating: a thousand times a tenth of a cent adds
// up to 0.9999999999999062 dollars there.
func TestMoneyAddsUpExactly(t *testing.T) {
	m := New()
	for range 1000 {
		m.Ended(CallFacts{Provider: "openai", Model: "a", Outcome: models.OutcomeOK, Priced: true, Cost: 1000})
	}
	if got := samples(t, m)["cost_usd_total{a,openai}"]; got != 1 {
		t.Errorf("%v dollars", got)
	}
}

func TestCallsOfProvidersAreCounted(t *testing.T) {
	m := New()
	before := samples(t, m)
	for i, outcome := range []string{OK, Failed, Failed, Refused, Canceled} {
		m.Called("openai", "a", outcome, time.Duration(i)*time.Second)
	}
	want := map[string]float64{
		"upstream_calls_total{a,ok,openai}": 1, "upstream_calls_total{a,failed,openai}": 2, "upstream_calls_total{a,refused,openai}": 1,
		"upstream_calls_total{a,canceled,openai}": 1, "upstream_wait_seconds_count{openai}": 5, "upstream_wait_seconds_sum{openai}": 10,
	}
	if got := changes(before, samples(t, m)); !reflect.DeepEqual(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
}

func TestModelsBeyondTheBoundAreCountedTogether(t *testing.T) {
	m := New()
	const each = 3
	for range each {
		for i := range 2 * maxModels {
			m.Ended(CallFacts{Provider: "openai", Model: fmt.Sprint("ft:", i), Outcome: models.OutcomeOK, Priced: true, Cost: 1e6})
		}
	}
	m.Ended(CallFacts{Provider: "gemini", Model: "late", Outcome: models.OutcomeOK, Priced: true})
	series, dollars := 0, 0.0
	for name, n := range samples(t, m) {
		if strings.HasPrefix(name, "cost_usd_total{") {
			series++
			dollars += n
		}
	}
	if series != maxModels+2 || dollars != each*2*maxModels {
		t.Errorf("%d series, %v dollars", series, dollars)
	}
	if got := samples(t, m)["cost_usd_total{other,openai}"]; got != each*maxModels {
		t.Errorf("other: %v dollars", got)
	}
}

// For the race detector as well: models are added, counted and scraped at once.
func TestNothingIsLostWhileMetricsAreScraped(t *testing.T) {
	m := New()
	const workers, each, kinds = 8, 500, 40
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := range each {
				var gaps Gaps
				gaps.Add(time.Millisecond)
				m.Ended(CallFacts{
					Provider: "openai", Model: fmt.Sprint((i + w) % kinds), Outcome: models.OutcomeOK, Priced: true, Cost: 1e6,
					Overhead: time.Second, Gaps: &gaps,
				})
			}
		})
	}
	for range 20 {
		samples(t, m)
	}
	all.Wait()
	got, dollars := samples(t, m), 0.0
	for name, n := range got {
		if strings.HasPrefix(name, "cost_usd_total{") {
			dollars += n
		}
	}
	const want = workers * each
	if dollars != want || got["overhead_seconds_count{openai}"] != want || got["stream_gap_seconds_count{openai}"] != want {
		t.Errorf("%v dollars, %v", dollars, got)
	}
}

// Counting takes no lock, so that only the race detector would notice a map that
// changes meanwhile. The two goroutines share nothing else that would order them.
func TestModelsAreAddedWhileOthersAreCounted(t *testing.T) {
	m := New()
	count := func(provider, model string) {
		m.Ended(CallFacts{Provider: provider, Model: model, Outcome: models.OutcomeOK, Priced: true, Cost: 1e6})
	}
	const each = 200
	count("gemini", "known")
	var both sync.WaitGroup
	both.Go(func() {
		for range each {
			count("gemini", "known")
		}
	})
	both.Go(func() {
		for i := range each {
			count("openai", fmt.Sprint(i))
		}
	})
	both.Wait()
	got := samples(t, m)
	first, last := got["cost_usd_total{0,openai}"], got[fmt.Sprintf("cost_usd_total{%d,openai}", each-1)]
	if got["cost_usd_total{known,gemini}"] != each+1 || first != 1 || last != 1 {
		t.Errorf("%v", got)
	}
}
