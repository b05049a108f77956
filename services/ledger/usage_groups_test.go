package ledger

import (
	"fmt"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/tests/storetest"
)

// addTeam adds a team, and a key of ada in it.
func addTeam(t *testing.T, d *storetest.Database) {
	t.Helper()
	err := d.Store.Change(t.Context(), func(tx *models.Transaction) error {
		if err := tx.CreateTeam(&models.Team{ID: "t1", Name: "Team", CreatedAt: 1}); err != nil {
			return err
		}
		return tx.CreateKey(&models.Key{ID: "k2", UserID: "ada", TeamID: "t1", Name: "two", Hash: "h2", Prefix: "p"}, 9)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// sinceOctober counts calls of October and November, and those of the period before.
func sinceOctober(calls []models.Call, wanted func(c *models.Call) bool) (now, before int64) {
	for i := range calls {
		switch at := time.UnixMicro(calls[i].BeganAt); {
		case !wanted(&calls[i]):
		case !at.Before(time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)):
			now++
		case !at.Before(time.Date(2026, 8, 29, 0, 0, 0, 0, time.UTC)) && at.Before(time.Date(2026, 9, 30, 13, 15, 0, 0, time.UTC)):
			before++
		}
	}
	return now, before
}

func TestGroupsOfTheSeriesHaveNames(t *testing.T) {
	storetest.Each(t, func(t *testing.T, d *storetest.Database) {
		addTeam(t, d)
		if err := d.Store.WriteCalls(t.Context(), "r", randomCalls(900)); err != nil {
			t.Fatal(err)
		}
		u := NewUsage(d.Store, func() time.Time { return seriesNow })
		named, err := u.All(t.Context(), UsageRequest{Step: "1d", GroupBy: "user,key,team", KeyID: "k2", UserID: "ada"})
		if err != nil || len(named.Rows) != 1 || named.Rows[0].UserEmail != "ada@example.com" || named.Rows[0].KeyName != "two" ||
			named.Rows[0].TeamName != "Team" || named.Rows[0].TeamID != "t1" {
			t.Errorf("%+v, %v", named, err)
		}
	})
}

func TestCallersSeeTheSeriesOfTheirOwnCalls(t *testing.T) {
	storetest.Each(t, func(t *testing.T, d *storetest.Database) {
		addTeam(t, d)
		calls := randomCalls(900)
		if err := d.Store.WriteCalls(t.Context(), "r", calls); err != nil {
			t.Fatal(err)
		}
		u := NewUsage(d.Store, func() time.Time { return seriesNow })
		ask := func(more UsageRequest) UsageRequest {
			more.Step, more.From, more.Previous = "1d", "2026-10-01", "true"
			return more
		}
		for name, tt := range map[string]struct {
			report func() (*UsageReport, error)
			wanted func(c *models.Call) bool
		}{
			"a user": {
				func() (*UsageReport, error) {
					return u.Own(t.Context(), "ada", "", ask(UsageRequest{UserID: "bob", GroupBy: "key"}))
				},
				func(c *models.Call) bool { return c.UserID == "ada" },
			},
			"a key": {
				func() (*UsageReport, error) { return u.Own(t.Context(), "", "k2", ask(UsageRequest{GroupBy: "team"})) },
				func(c *models.Call) bool { return c.KeyID == "k2" },
			},
			"a user's key": {
				func() (*UsageReport, error) {
					return u.Own(t.Context(), "ada", "", ask(UsageRequest{KeyID: "k2", Provider: "openai", GroupBy: "provider"}))
				},
				func(c *models.Call) bool { return c.UserID == "ada" && c.KeyID == "k2" && c.Provider == "openai" },
			},
			"a team": {
				func() (*UsageReport, error) {
					return u.Team(t.Context(), "t1", ask(UsageRequest{TeamID: "t2", GroupBy: "user"}))
				},
				func(c *models.Call) bool { return c.KeyID == "k2" },
			},
			"a team without keys": {
				func() (*UsageReport, error) { return u.Team(t.Context(), "t2", ask(UsageRequest{})) },
				func(*models.Call) bool { return false },
			},
		} {
			report, err := tt.report()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			list := report.Show()
			now, before := sinceOctober(calls, tt.wanted)
			if list.Total.Calls != now || list.Previous.Total.Calls != before {
				t.Errorf("%s: %d and %d calls, by hand %d and %d", name, list.Total.Calls, list.Previous.Total.Calls, now, before)
			}
			sum := int64(0)
			for _, g := range list.Series.Groups {
				for _, n := range g.Calls {
					sum += n
				}
			}
			if sum != now {
				t.Errorf("%s: the series has %d calls of %d", name, sum, now)
			}
		}
		if _, err := u.Own(t.Context(), "", "", ask(UsageRequest{})); code(err) != api.CodeMissingCredentials {
			t.Error(err)
		}
	})
}

func TestTheSeriesHasTheGreatestGroupsAndTheOthersTogether(t *testing.T) {
	storetest.Each(t, func(t *testing.T, d *storetest.Database) {
		var calls []models.Call
		for i := range 30 {
			at := seriesNow.Add(-time.Duration(i) * time.Hour)
			calls = append(calls, models.Call{
				ID: storetest.CallID(at, fmt.Sprint(i)), KeyID: fmt.Sprint("k", i), Model: "m", Outcome: models.OutcomeOK, Cost: int64(i + 1),
				BeganAt: at.UnixMicro(),
			})
		}
		if err := d.Store.WriteCalls(t.Context(), "r", calls); err != nil {
			t.Fatal(err)
		}
		u := NewUsage(d.Store, func() time.Time { return seriesNow })
		for _, u.cells = range []int{usageCells, 20} {
			report, err := u.All(t.Context(), UsageRequest{Step: "6h", From: "2026-11-01", GroupBy: "key"})
			if err != nil {
				t.Fatal(err)
			}
			groups := report.Show().Series.Groups
			if len(groups) != usageSeries+1 || groups[0].CostUSD[0]+groups[0].CostUSD[1] != 30 || groups[usageSeries].Other != 10 {
				t.Fatalf("%+v", groups)
			}
			rest := api.USD(0)
			for _, n := range groups[usageSeries].CostUSD {
				rest += n
			}
			if rest != 10*11/2 {
				t.Errorf("the others cost %d", rest)
			}
		}
		u.groups = 29
		if _, err := u.All(t.Context(), UsageRequest{Step: "6h", From: "2026-11-01", GroupBy: "key"}); api.AsError(err).Param != "group_by" {
			t.Errorf("%v", err)
		}
	})
}
