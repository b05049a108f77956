package ledger

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/tests/storetest"
)

// seriesNow is after the end of summer time in Europe and its beginning in Australia.
var seriesNow = time.Date(2026, 11, 2, 13, 7, 23, 0, time.UTC)

// randomCalls are calls of the last 75 days, more of them in the last hours.
func randomCalls(n int) []models.Call {
	random := rand.New(rand.NewPCG(3, 4))
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	all := make([]models.Call, n)
	for i := range all {
		age := time.Duration(random.Int64N(int64(75 * 24 * time.Hour)))
		if i%3 == 0 {
			age = time.Duration(random.Int64N(int64(30 * time.Hour)))
		}
		at := seriesNow.Add(-age)
		all[i] = models.Call{
			ID: storetest.CallID(at, fmt.Sprint("c", i)), UserID: pick("", "ada", "bob"), KeyID: pick("", "k1", "k2", "k3"),
			Model: pick("m1", "m2", "m3", "m4"), Provider: pick("openai", "anthropic"), Priced: random.IntN(9) > 0,
			Outcome: models.OutcomeOK, Status: 200, Estimated: random.IntN(9) == 0,
			InputTokens: random.Int64N(5000), CachedTokens: random.Int64N(50), CacheWriteTokens: random.Int64N(3),
			OutputTokens: random.Int64N(900), ReasoningTokens: random.Int64N(2) * random.Int64N(300), Cost: random.Int64N(90_000),
			BeganAt: at.UnixMicro(), DurationUS: int64(math.Exp(random.NormFloat64()) * 3e6),
		}
		if all[i].KeyID == "k2" {
			all[i].TeamID = "t1"
		}
		if random.IntN(5) > 0 {
			all[i].FirstTokenUS = all[i].DurationUS / 4
		}
		switch random.IntN(40) {
		case 0:
			all[i].Outcome, all[i].Status = models.OutcomeRefused, 429
		case 1:
			all[i].Outcome = pick(models.OutcomeRefused, models.OutcomeTimeout, models.OutcomeFailed, models.OutcomeLost, "another")
		case 2:
			all[i].Outcome = models.OutcomeClient
		}
	}
	return all
}

// byHand is the series of the calls that are selected, counted call by call.
type byHand struct {
	starts      map[int64]*models.Sum
	first, took map[int64][]int64
	errors      map[string]int64
	total       models.Sum
}

// startByHand is the beginning of the step of a time: found by going back until the clock
// on the wall shows another day, week or month, and from there in whole steps.
func startByHand(at time.Time, name string) time.Time {
	same := func(a, b time.Time) bool { return a.Format(time.DateOnly) == b.Format(time.DateOnly) }
	lengths := map[string]time.Duration{"1m": time.Minute, "30m": 30 * time.Minute, "2h": 2 * time.Hour, "6h": 6 * time.Hour}
	switch name {
	case "7d":
		same = func(a, b time.Time) bool {
			ay, aw := a.ISOWeek()
			by, bw := b.ISOWeek()
			return ay == by && aw == bw
		}
	case "1mo":
		same = func(a, b time.Time) bool { return a.Month() == b.Month() }
	}
	first := at.Truncate(15 * time.Minute)
	for same(first.Add(-15*time.Minute), at) {
		first = first.Add(-15 * time.Minute)
	}
	if length := lengths[name]; length > 0 {
		return first.Add(at.Sub(first) / length * length)
	}
	return first
}

func countByHand(calls []models.Call, loc *time.Location, ask UsageRequest, from, to int64) byHand {
	b := byHand{starts: map[int64]*models.Sum{}, first: map[int64][]int64{}, took: map[int64][]int64{}, errors: map[string]int64{}}
	for _, c := range calls {
		at := time.UnixMicro(c.BeganAt).In(loc)
		if at.Unix() < from || at.Unix() >= to || ask.UserID != "" && c.UserID != ask.UserID || ask.Model != "" && c.Model != ask.Model {
			continue
		}
		start := startByHand(at, ask.Step).Unix()
		if b.starts[start] == nil {
			b.starts[start] = &models.Sum{}
		}
		one := models.Sum{
			Calls: 1, InputTokens: c.InputTokens, CachedTokens: c.CachedTokens, CacheWriteTokens: c.CacheWriteTokens,
			OutputTokens: c.OutputTokens, ReasoningTokens: c.ReasoningTokens, Cost: c.Cost,
		}
		if c.Estimated {
			one.Estimated = 1
		}
		if !c.Priced {
			one.Unpriced = 1
		}
		if c.Outcome != models.OutcomeOK && c.Outcome != models.OutcomeClient {
			one.Failed = 1
			kind := c.Outcome
			switch {
			case kind == models.OutcomeRefused && c.Status == 429:
				kind = "rate_limited"
			case kind == "another":
				kind = "other"
			}
			b.errors[kind]++
		}
		b.starts[start].Add(&one)
		b.total.Add(&one)
		if c.FirstTokenUS > 0 {
			b.first[start] = append(b.first[start], c.FirstTokenUS)
		}
		b.took[start] = append(b.took[start], c.DurationUS)
	}
	return b
}

// compare compares an answer with what was counted by hand.
func (b byHand) compare(list api.UsageList) error {
	if list.Total.Calls != b.total.Calls || int64(list.Total.CostUSD) != b.total.Cost || list.Total.Failed != b.total.Failed ||
		list.Total.InputTokens != b.total.InputTokens || list.Total.OutputTokens != b.total.OutputTokens ||
		list.Total.Estimated != b.total.Estimated || list.Total.Unpriced != b.total.Unpriced ||
		list.Total.CacheWriteTokens != b.total.CacheWriteTokens {
		return fmt.Errorf("total %+v, by hand %+v", list.Total, b.total)
	}
	sum, kinds := int64(0), int64(0)
	for i := range list.Data {
		sum += int64(list.Data[i].CostUSD)
	}
	for _, e := range list.Total.Errors {
		if kinds += e.Calls; b.errors[e.Code] != e.Calls {
			return fmt.Errorf("%d errors %s, by hand %v", e.Calls, e.Code, b.errors)
		}
	}
	if sum != b.total.Cost || kinds != b.total.Failed {
		return fmt.Errorf("the rows cost %d, and %d calls failed: %+v", sum, kinds, b.total)
	}
	for start := range b.starts {
		if !slices.Contains(list.Series.Times, start) {
			return fmt.Errorf("%s is no step", time.Unix(start, 0).UTC())
		}
	}
	for i, start := range list.Series.Times {
		if i > 0 && start <= list.Series.Times[i-1] {
			return fmt.Errorf("step %d does not begin after the one before", i)
		}
		want := cmp.Or(b.starts[start], &models.Sum{})
		var got models.Sum
		for _, g := range list.Series.Groups {
			got.Add(&models.Sum{
				Calls: g.Calls[i], Failed: g.Failed[i], Cost: int64(g.CostUSD[i]), InputTokens: g.InputTokens[i],
				CachedTokens: g.CachedTokens[i], OutputTokens: g.OutputTokens[i], ReasoningTokens: g.ReasoningTokens[i],
			})
		}
		got.Estimated, got.Unpriced, got.CacheWriteTokens = want.Estimated, want.Unpriced, want.CacheWriteTokens // the series has none
		if got != *want {
			return fmt.Errorf("step %d: %+v, by hand %+v", i, got, *want)
		}
		for _, p := range []struct {
			times []int64
			part  float64
			got   *int64
		}{
			{b.first[start], 0.5, list.Series.FirstToken.P50[i]}, {b.first[start], 0.95, list.Series.FirstToken.P95[i]},
			{b.took[start], 0.5, list.Series.Duration.P50[i]}, {b.took[start], 0.95, list.Series.Duration.P95[i]},
		} {
			if err := checkPercentile(p.times, p.part, p.got); err != nil {
				return fmt.Errorf("step %d: %w", i, err)
			}
		}
	}
	return nil
}

func checkPercentile(times []int64, part float64, got *int64) error {
	if len(times) == 0 || got == nil {
		if len(times) != 0 || got != nil {
			return fmt.Errorf("%d times, %v", len(times), got)
		}
		return nil
	}
	slices.Sort(times)
	want := float64(times[int(math.Ceil(part*float64(len(times))))-1]) / 1000
	if math.Abs(float64(*got)-want) > 0.091*want+0.5 {
		return fmt.Errorf("p%v is %d ms, by hand %f", part*100, *got, want)
	}
	return nil
}

// seriesCases are requests in time zones with whole and with odd offsets, over changes of
// summer time.
func seriesCases() []UsageRequest {
	return []UsageRequest{
		{Step: "1m", From: "2026-11-02T08:00:00Z", GroupBy: "key"},
		{Step: "30m", From: "2026-11-01", TimeZone: "Asia/Kathmandu", GroupBy: "model"},
		{Step: "2h", From: "2026-10-24", To: "2026-10-26", TimeZone: "Europe/Berlin", GroupBy: "user,model"}, // 25 hours
		{Step: "6h", From: "2026-10-02", To: "2026-10-06", TimeZone: "Australia/Lord_Howe"},                  // 23.5 hours
		{Step: "1d", From: "2026-10-01", TimeZone: "Europe/Berlin", GroupBy: "provider"},
		{Step: "1d", From: "2026-10-20T10:20:00Z", To: "2026-10-28T10:50:00Z", TimeZone: "America/St_Johns", GroupBy: "user,key,model"},
		{Step: "7d", From: "2026-09-01", TimeZone: "America/Havana", GroupBy: "model", UserID: "ada"},
		{Step: "1mo", From: "2026-08-25", TimeZone: "Pacific/Chatham", GroupBy: "key", Model: "m2"},
		{Step: "1d", From: "2026-10-01"},
		{Step: "7d", From: "2026-09-01", To: "2026-10-20", TimeZone: "Asia/Kolkata"},
	}
}

// checkSeries compares all cases with the calls, and returns their answers.
func checkSeries(t *testing.T, u *Usage, calls []models.Call) (answers []string) {
	t.Helper()
	for _, ask := range seriesCases() {
		ask.Previous = "true"
		report, err := u.All(t.Context(), ask)
		if err != nil {
			t.Fatalf("%+v: %v", ask, err)
		}
		list := report.Show()
		loc := report.Details.count.period.from.Location()
		p, before := report.Details.count.period, report.Details.previous.period
		if err := countByHand(calls, loc, ask, p.from.Unix(), p.to.Unix()).compare(list); err != nil {
			t.Errorf("%+v: %v", ask, err)
		}
		previous := countByHand(calls, loc, ask, before.from.Unix(), before.end().Unix())
		for _, c := range calls { // it is counted in quarter hours
			if at := time.UnixMicro(c.BeganAt); !at.Before(before.end()) && at.Before(before.end().Add(15*time.Minute)) {
				previous.total.Calls = list.Previous.Total.Calls
			}
		}
		shown := list.Previous
		if shown.Total.Calls != previous.total.Calls || len(shown.Series.Times) != len(list.Series.Times) && p.step.length == 0 {
			t.Errorf("%+v: %d calls in the period before, by hand %d; %d steps", ask, shown.Total.Calls, previous.total.Calls,
				len(shown.Series.Times))
		}
		text, err := json.Marshal(list, api.Lenient)
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, string(text))
	}
	return answers
}

// mergeAll merges all sums.
func mergeAll(t *testing.T, store *models.Store, now time.Time) {
	t.Helper()
	for more := true; more; {
		var err error
		if more, err = store.MergeUsage(t.Context(), now); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheSeriesHasWhatTheRowsHave(t *testing.T) {
	storetest.Each(t, func(t *testing.T, d *storetest.Database) {
		calls := randomCalls(6000)
		for some := range slices.Chunk(calls, 1000) {
			if err := d.Store.WriteCalls(t.Context(), "r", some); err != nil {
				t.Fatal(err)
			}
		}
		u := NewUsage(d.Store, func() time.Time { return seriesNow })
		fresh := checkSeries(t, u, calls)
		if _, err := d.Store.MergeUsage(t.Context(), seriesNow); err != nil { // one of many
			t.Fatal(err)
		}
		checkSeries(t, u, calls)
		mergeAll(t, d.Store, seriesNow)
		if n := d.Query(t, "SELECT count(*) FROM ledger_sums WHERE part <> ''"); n[0] != "0" {
			t.Errorf("%s parts are left", n[0])
		}
		merged := checkSeries(t, u, calls)
		u.cells = 0 // so that the series is read a second time
		twice := checkSeries(t, u, calls)
		for i := range merged {
			if merged[i] != twice[i] {
				t.Errorf("case %d differs when it is read twice:\n%s\n%s", i, merged[i], twice[i])
			}
			if i < 2 && merged[i] != fresh[i] { // others are told apart by quarter hours in the period before
				t.Errorf("case %d differs when it is merged:\n%s\n%s", i, fresh[i], merged[i])
			}
		}
	})
}

func TestRowsOfAFormerReleaseAreSummed(t *testing.T) {
	storetest.Each(t, func(t *testing.T, d *storetest.Database) {
		calls := randomCalls(3000)
		for i := range calls {
			calls[i].ID = fmt.Sprintf("call_%016dformer%07d", calls[i].BeganAt, i)
		}
		d.Query(t, "UPDATE ledger_state SET write_from = 253402300800") // replicas of the former release may live
		for some := range slices.Chunk(calls, 1000) {
			if err := d.Store.WriteCalls(t.Context(), "r", some); err != nil {
				t.Fatal(err)
			}
		}
		for _, statement := range []string{
			"DELETE FROM usage_sums", "UPDATE calls SET summed = FALSE",
			"UPDATE usage_since SET since = 253402300800, fill_from = 'call_9999999999999999'",
			"UPDATE schema_migrations SET applied_at = applied_at - 3600", "UPDATE ledger_state SET write_from = 0",
		} {
			d.Query(t, statement)
		}
		u := NewUsage(d.Store, func() time.Time { return seriesNow })
		report, err := u.All(t.Context(), UsageRequest{Step: "1d", From: "2026-09-01"})
		if err != nil || report.Total.Calls == 0 || report.Show().DaysBefore == "" {
			t.Fatalf("%+v, %v", report, err)
		}
		before := report.Total
		if err := d.Store.WriteCalls(t.Context(), "r", []models.Call{{ID: storetest.CallID(seriesNow, "new"), BeganAt: seriesNow.UnixMicro(), Outcome: models.OutcomeOK}}); err != nil {
			t.Fatal(err) // by this release, while rows of the former one are not summed yet
		}
		calls = append(calls, models.Call{BeganAt: seriesNow.UnixMicro(), Outcome: models.OutcomeOK, Status: 200})
		steps := 0
		for more := true; more; steps++ {
			if more, err = d.Store.FillUsage(t.Context(), time.Now(), 200); err != nil {
				t.Fatal(err)
			}
			report, err := u.All(t.Context(), UsageRequest{Step: "1d", From: "2026-09-01"})
			if err != nil || report.Total.Calls != before.Calls+1 || report.Total.Cost != before.Cost {
				t.Fatalf("after %d steps: %+v, %v", steps, report.Total, err)
			}
		}
		if steps < 10 {
			t.Errorf("%d steps", steps)
		}
		checkSeries(t, u, calls)
		mergeAll(t, d.Store, seriesNow)
		checkSeries(t, u, calls)
		if more, err := d.Store.FillUsage(t.Context(), time.Now(), 200); more || err != nil {
			t.Errorf("%v, %v", more, err)
		}
		checkSeries(t, u, calls)
	})
}

func TestDaysWithoutFineSumsAreReportedFromTheSumsOfDays(t *testing.T) {
	storetest.Each(t, func(t *testing.T, d *storetest.Database) {
		calls := randomCalls(2000)
		if err := d.Store.WriteCalls(t.Context(), "r", calls); err != nil {
			t.Fatal(err)
		}
		mergeAll(t, d.Store, seriesNow)
		u := NewUsage(d.Store, func() time.Time { return seriesNow })
		ask := UsageRequest{Step: "1d", From: "2026-09-15", GroupBy: "user", Model: "m1"}
		before, err := u.All(t.Context(), ask)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Store.DeleteUsageBefore(t.Context(), time.Date(2026, 10, 20, 15, 0, 0, 0, time.UTC)); err != nil {
			t.Fatal(err)
		}
		after, err := u.All(t.Context(), ask)
		if err != nil || after.Total != before.Total {
			t.Fatalf("%+v, before %+v, %v", after.Total, before.Total, err)
		}
		was, is := before.Show(), after.Show()
		if is.DaysBefore != "" || was.DaysBefore != "" {
			t.Errorf("%q, before %q", is.DaysBefore, was.DaysBefore)
		}
		for i := range is.Series.Groups {
			if !slices.Equal(is.Series.Groups[i].CostUSD, was.Series.Groups[i].CostUSD) {
				t.Errorf("group %d: %v, before %v", i, is.Series.Groups[i].CostUSD, was.Series.Groups[i].CostUSD)
			}
		}
		if !slices.EqualFunc(is.Series.FirstToken.P50, was.Series.FirstToken.P50, func(a, b *int64) bool { return *a == *b }) {
			t.Error("days have other percentiles")
		}
		zone := ask
		zone.TimeZone = "Asia/Tokyo"
		shifted, err := u.All(t.Context(), zone)
		if err != nil || shifted.Total.Calls == 0 || shifted.Show().DaysBefore != "2026-10-20T00:00:00Z" {
			t.Errorf("%+v, %v", shifted, err)
		}
	})
}
