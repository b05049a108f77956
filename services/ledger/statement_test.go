package ledger

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/tests/storetest"
)

// statementCalls are calls of four months, many of them near the ends of the months.
func statementCalls(random *rand.Rand, n int) []models.Call {
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	all := make([]models.Call, n)
	for i := range all {
		at := seriesNow.Add(-time.Duration(random.Int64N(int64(100 * 24 * time.Hour))))
		if i%3 == 0 {
			end := time.Date(2026, time.Month(8+random.IntN(4)), 1, 0, 0, 0, 0, time.UTC)
			at = end.Add(time.Duration(random.Int64N(int64(32*time.Hour))) - 16*time.Hour)
		}
		all[i] = models.Call{
			ID: storetest.CallID(at, fmt.Sprint("s", i)), UserID: pick("", "ada", "bob", "unknown"), KeyID: pick("", "k1", "k2", "k3"),
			TeamID: pick("", "t1", "t2"), Project: pick("", "", "ship", "=1+1", "none"), Agent: pick("", "codex"),
			Model: pick("m1", "m2"), Served: pick("", "m3"), Provider: pick("openai", "anthropic", ""),
			Outcome: pick(models.OutcomeOK, models.OutcomeLost),
			Priced:  true, InputTokens: random.Int64N(5000), CachedTokens: random.Int64N(50), OutputTokens: random.Int64N(900),
			Images: random.Int64N(3), Seconds: random.Int64N(2), Cost: random.Int64N(1_000_000), BeganAt: at.UnixMicro(),
		}
		if random.IntN(20) == 0 {
			all[i].Cost = random.Int64N(1_000_000_000_000)
		}
	}
	return all
}

// amounts are those of a line of a statement.
type amounts struct {
	calls, input, cached, output int64
	cost                         api.USD
}

func (a *amounts) add(b amounts) {
	a.calls, a.input, a.cached, a.output, a.cost = a.calls+b.calls, a.input+b.input, a.cached+b.cached, a.output+b.output, a.cost+b.cost
}

func amountsOf(t *api.UsageTotals) amounts {
	return amounts{t.Calls, t.InputTokens, t.CachedTokens, t.OutputTokens, t.CostUSD}
}

// handMonth are the lines of a month, counted call by call.
func handMonth(calls []models.Call, month string, loc *time.Location) (lines map[[5]string]amounts, total amounts) {
	lines = map[[5]string]amounts{}
	for i := range calls {
		c := &calls[i]
		if time.UnixMicro(c.BeganAt).In(loc).Format("2006-01") != month {
			continue
		}
		name := [5]string{c.TeamID, c.UserID, c.Project, c.Model, c.Provider}
		if c.Served != "" {
			name[3] = c.Served
		}
		one := amounts{1, c.InputTokens, c.CachedTokens, c.OutputTokens, api.USD(c.Cost)}
		sum := lines[name]
		sum.add(one)
		lines[name] = sum
		total.add(one)
	}
	return lines, total
}

// compareStatement compares a statement with the lines that were counted by hand, and each of its
// lists with its total.
func compareStatement(s *api.Statement, want map[[5]string]amounts, total amounts) error {
	if got := amountsOf(&s.Total); got != total {
		return fmt.Errorf("total %+v, by hand %+v", got, total)
	}
	if len(s.Lines) != len(want) {
		return fmt.Errorf("%d lines, by hand %d", len(s.Lines), len(want))
	}
	var sum amounts
	for i := range s.Lines {
		l := &s.Lines[i]
		name := [5]string{string(*l.TeamID), string(*l.UserID), string(*l.Project), l.Model, string(*l.Provider)}
		if got := amountsOf(&l.UsageTotals); got != want[name] || l.Month != s.Month {
			return fmt.Errorf("%q: %+v, by hand %+v", name, got, want[name])
		}
		sum.add(amountsOf(&l.UsageTotals))
	}
	if sum != total {
		return fmt.Errorf("the lines add up to %+v, not %+v", sum, total)
	}
	for name, rows := range map[string][]api.UsageRow{"teams": s.Teams, "people": s.People, "projects": s.Projects, "models": s.Models} {
		var sum amounts
		for i := range rows {
			sum.add(amountsOf(&rows[i].UsageTotals))
			if i > 0 && rows[i].CostUSD > rows[i-1].CostUSD {
				return fmt.Errorf("%s are not in the order of their cost", name)
			}
		}
		if sum != total {
			return fmt.Errorf("%s add up to %+v, not %+v", name, sum, total)
		}
	}
	return nil
}

// writeStatementCalls writes calls in batches, in any order. Some batches are killed at any point, and
// some are written again. Meanwhile sums are merged, and old rows are deleted.
func writeStatementCalls(t *testing.T, random *rand.Rand, store *models.Store, calls []models.Call) (killed, again, deleted int) {
	t.Helper()
	random.Shuffle(len(calls), func(i, j int) { calls[i], calls[j] = calls[j], calls[i] })
	for rest := calls; len(rest) > 0; {
		batch := rest[:min(len(rest), 1+random.IntN(100))]
		rest = rest[len(batch):]
		if random.IntN(3) == 0 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.Int64N(int64(5*time.Millisecond))))
			if err := store.WriteCalls(ctx, "r", batch); err != nil {
				killed++
			}
			cancel()
		}
		times := 1 + random.IntN(2)
		again += times - 1
		for range times {
			if err := store.WriteCalls(t.Context(), "r", batch); err != nil {
				t.Fatal(err)
			}
		}
		if random.IntN(3) == 0 {
			if _, err := store.MergeUsage(t.Context(), seriesNow); err != nil {
				t.Fatal(err)
			}
			n, err := store.DeleteCallsBefore(t.Context(), seriesNow.AddDate(0, 0, -random.IntN(100)), 50)
			if err != nil {
				t.Fatal(err)
			}
			deleted += int(n)
		}
	}
	return killed, again, deleted
}

func TestEveryStatementAddsUpToWhatIsCountedByHand(t *testing.T) {
	storetest.Each(t, func(t *testing.T, d *storetest.Database) {
		addTeam(t, d)
		random := rand.New(rand.NewPCG(5, 6))
		calls := statementCalls(random, 3000)
		killed, again, deleted := writeStatementCalls(t, random, d.Store, calls)
		err := d.Store.Change(t.Context(), func(tx *models.Transaction) error {
			_, err := tx.DeleteUser("bob", time.Date(2026, 11, 1, 7, 0, 0, 0, time.UTC).UnixMicro())
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		u := NewUsage(d.Store, func() time.Time { return seriesNow })
		zones := []string{
			"", "Europe/Berlin", "Asia/Kolkata", "Asia/Kathmandu", "America/St_Johns", "Australia/Lord_Howe", "Pacific/Kiritimati",
		}
		months := []string{"2026-06", "2026-07", "2026-08", "2026-09", "2026-10", "2026-11"}
		check := func(zones ...string) (statements, lines int) {
			for _, zone := range zones {
				loc, err := time.LoadLocation(zone)
				if err != nil {
					t.Fatal(err)
				}
				counted := int64(0)
				for _, month := range months {
					s, err := u.Statement(t.Context(), month, zone)
					if err != nil {
						t.Fatal(err)
					}
					want, total := handMonth(calls, month, loc)
					if err := compareStatement(s, want, total); err != nil {
						t.Errorf("%s %s: %v", month, zone, err)
					}
					counted += s.Total.Calls
					statements++
					lines += len(s.Lines)
				}
				if counted != int64(len(calls)) {
					t.Errorf("%s: the months have %d of %d calls", zone, counted, len(calls))
				}
			}
			return statements, lines
		}
		statements, lines := check(zones...)
		t.Logf("%d calls; %d batches killed, %d written again, %d rows deleted; %d statements with %d lines",
			len(calls), killed, again, deleted, statements, lines)
		if killed == 0 || again == 0 || deleted == 0 || deleted >= len(calls) {
			t.Error("the test has not tried everything")
		}
		for more := true; more; {
			if more, err = d.Store.MergeUsage(t.Context(), seriesNow); err != nil {
				t.Fatal(err)
			}
		}
		check(zones...)

		// The months of UTC are exact even of days that have no times any more; the others divide
		// these days between them.
		if err := d.Store.DeleteUsageBefore(t.Context(), time.Date(2026, 9, 15, 0, 0, 0, 0, time.UTC)); err != nil {
			t.Fatal(err)
		}
		check("")
		all := api.USD(0)
		for _, month := range months {
			s, err := u.Statement(t.Context(), month, "Asia/Kolkata")
			if err != nil {
				t.Fatal(err)
			}
			all += s.Total.CostUSD
			if before := s.DaysBefore != ""; before != (month < "2026-10" && s.Total.Calls > 0) {
				t.Errorf("%s has days before %q", month, s.DaysBefore)
			}
		}
		for i := range calls {
			all -= api.USD(calls[i].Cost)
		}
		if all != 0 {
			t.Errorf("the months have %s dollars more than the calls", all)
		}
	})
}

func TestAStatementNamesWhomItIsOf(t *testing.T) {
	storetest.Each(t, func(t *testing.T, d *storetest.Database) {
		addTeam(t, d)
		at := time.Date(2026, 10, 31, 23, 45, 0, 0, time.UTC)
		var calls []models.Call
		for i, of := range [][4]string{
			{"t1", "ada", "ship", "1000000"}, {"t1", "bob", "", "2000000"}, {"", "", "", "500001"},
			{"gone", "ghost", "none", "3"}, {"t1", "ada", "=1+1", "1000001"},
		} {
			c := models.Call{
				ID: storetest.CallID(at, fmt.Sprint("n", i)), TeamID: of[0], UserID: of[1], Project: of[2], Model: "m", Provider: "p",
				Outcome: models.OutcomeOK, BeganAt: at.UnixMicro(),
			}
			if _, err := fmt.Sscan(of[3], &c.Cost); err != nil {
				t.Fatal(err)
			}
			calls = append(calls, c)
		}
		if err := d.Store.WriteCalls(t.Context(), "r", calls); err != nil {
			t.Fatal(err)
		}
		err := d.Store.Change(t.Context(), func(tx *models.Transaction) error {
			_, err := tx.DeleteUser("bob", time.Date(2026, 11, 3, 7, 0, 0, 0, time.UTC).UnixMicro())
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		clock := clock{at: time.Date(2026, 11, 1, 23, 59, 59, 0, time.UTC)}
		u := NewUsage(d.Store, clock.now)
		s, err := u.Statement(t.Context(), "2026-10", "")
		if err != nil || s.Complete || s.TimeZone != "UTC" || s.GeneratedAt != clock.at.Unix() {
			t.Errorf("%+v, %v", s, err)
		}
		var file strings.Builder
		err = api.WriteFile(&file, api.CSV, func(string) ([]api.StatementCells, string, error) { return StatementCells(s.Lines), "", nil })
		want := `month,team,user,project,model,provider,calls,input_tokens,cached_tokens,output_tokens,cost_usd
2026-10,Team,ada@example.com,'=1+1,m,p,1,0,0,0,1.000001
2026-10,Team,ada@example.com,ship,m,p,1,0,0,0,1
2026-10,Team,"bob@example.com, deleted 3 Nov 2026",none,m,p,1,0,0,0,2
2026-10,none,none,none,m,p,1,0,0,0,0.500001
2026-10,gone,ghost,none,m,p,1,0,0,0,0.000003
`
		if err != nil || file.String() != want {
			t.Errorf("%v\n%s", err, file.String())
		}
		clock.at = clock.at.Add(time.Second)
		if s, err = u.Statement(t.Context(), "2026-10", ""); err != nil || !s.Complete {
			t.Errorf("a day after its end: %+v, %v", s, err)
		}
		if s, err = u.Statement(t.Context(), "2026-11", "Asia/Kolkata"); err != nil || s.Total.Calls != int64(len(calls)) {
			t.Errorf("%+v, %v", s, err)
		}
		u.mostLines = 4
		if _, err := u.Statement(t.Context(), "2026-10", ""); api.AsError(err).Param != "month" {
			t.Error(err)
		}
		for _, ask := range [][3]string{
			{"2026-12", "", "month"}, {"2026-13", "", "month"}, {"2026-1", "", "month"}, {"", "", "month"}, {"2026-10-01", "", "month"},
			{"2026-10", "Mars", "time_zone"},
		} {
			if _, err := u.Statement(t.Context(), ask[0], ask[1]); api.AsError(err).Param != ask[2] {
				t.Errorf("%q: %v", ask, err)
			}
		}
	})
}
