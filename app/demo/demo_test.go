package demo

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"modelgateway/app"
	"modelgateway/catalog"
	"modelgateway/models"
)

func TestDemonstrationHasAWeekOfCallsThatSayWhatTheyAre(t *testing.T) {
	cfg, err := app.Settings([]string{"SIMULATOR=true", "DATABASE_URL=sqlite:" + t.TempDir() + "/demo.db"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := app.Open(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	if err := Fill(t.Context(), s, now); err != nil {
		t.Fatal(err)
	}
	for _, k := range keys() {
		for _, name := range k.models {
			if m, err := s.Models.Resolve(name); err != nil || m.State(now.AddDate(0, 1, 0)) != catalog.Active || !m.Price.Known {
				t.Errorf("%s of %s is not sold: %+v, %v", name, k.name, m, err)
			}
		}
	}
	rows := allCalls(t, s.Store)
	if len(rows) != calls {
		t.Fatalf("%d calls", len(rows))
	}
	outcomes, keys := map[string]int{}, map[string]int64{}
	for i := range rows {
		c := &rows[i]
		began := time.UnixMicro(c.BeganAt)
		if !strings.HasPrefix(c.RequestID, "demo-") || !strings.HasPrefix(c.UserEmail, "demo-") || !strings.HasPrefix(c.KeyName, "demo ") {
			t.Fatalf("a call is not marked: %+v", c)
		}
		if began.After(now) || began.Before(now.Add(-week)) || !c.Priced || c.FirstTokenUS > c.DurationUS {
			t.Fatalf("not a call of the week: %+v", c)
		}
		outcomes[c.Outcome]++
		keys[c.KeyName] += c.Cost
	}
	if outcomes[models.OutcomeOK] < calls*9/10 || outcomes[models.OutcomeRefused] == 0 || outcomes[models.OutcomeTimeout] == 0 {
		t.Errorf("%v", outcomes)
	}
	if len(keys) != 5 || keys["demo notebook"] < dollar/10 {
		t.Errorf("%v", keys)
	}
	made, err := s.Store.AllKeys(t.Context(), models.KeyFilter{}, models.Page{Limit: len(keys) + 1})
	if err != nil || len(made) != len(keys) {
		t.Fatalf("%d keys, %v", len(made), err)
	}
	for _, k := range made {
		if last := time.UnixMicro(k.LastUsedAt); last.After(now) || last.Before(now.Add(-2*24*time.Hour)) {
			t.Errorf("%s was last used at %s", k.Name, last)
		}
		if at := time.UnixMicro(k.CreatedAt); !at.Before(now.Add(-week)) {
			t.Errorf("%s was made at %s, within its calls", k.Name, at)
		}
	}
	users, err := s.Store.Users(t.Context(), models.UserFilter{}, models.Page{Limit: 10})
	if err != nil || len(users) != 3 || users[0].CreatedAt >= now.Add(-week).UnixMicro() {
		t.Errorf("%+v, %v", users, err)
	}
	teams, err := s.Store.Teams(t.Context(), models.Page{Limit: 10})
	if err != nil || len(teams) != 2 || teams[0].CreatedAt >= now.Add(-week).UnixMicro() {
		t.Errorf("%+v, %v", teams, err)
	}
	t.Logf("%v %v", outcomes, keys)
}

// allCalls reads the calls in pages, as a list of that many may take longer than a query is given.
func allCalls(t *testing.T, store *models.Store) (rows []models.NamedCall) {
	t.Helper()
	for page := (models.Page{Limit: 500}); ; page.After = rows[len(rows)-1].ID {
		found, err := store.Calls(t.Context(), models.CallFilter{}, page)
		if err != nil {
			t.Fatal(err)
		}
		if rows = append(rows, found.Rows...); len(found.Rows) < page.Limit {
			return rows
		}
	}
}
