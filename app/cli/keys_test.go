package cli_test

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"modelgateway/models"
	"modelgateway/tests/storetest"
)

// withUsers is a gateway with the users ada and bob.
func withUsers(t *testing.T, test func(g *gateway, d *storetest.Database)) {
	storetest.Each(t, func(t *testing.T, d *storetest.Database) {
		test(&gateway{t: t, environ: []string{"MODEL_DISCOVERY=false", "DATABASE_URL=" + d.Address}}, d)
	})
}

func TestKeyIsCreatedWithLimitsAndAloneOnItsLine(t *testing.T) {
	t.Parallel()
	withUsers(t, func(g *gateway, d *storetest.Database) {
		r := g.run("key", "create", "--user", "ada@example.com", "--name", "laptop", "--budget-usd", "50", "--rpm-limit", "60",
			"--models", "gpt-4, claude-haiku-4-5-20251001", "--expires-at", "30d")
		if r.code != 0 || !strings.HasPrefix(r.out, "mgw_") || strings.Count(r.out, "\n") != 1 || !strings.Contains(r.err, "shown only now") {
			t.Fatalf("%+v", r)
		}
		quiet := g.run("key", "create", "--user", "bob", "--name", "ci", "-q")
		if quiet.code != 0 || !strings.HasPrefix(quiet.out, "mgw_") || quiet.err != "" {
			t.Fatalf("%+v", quiet)
		}
		list, _ := g.json("key", "list", "--user", "ADA@example.com")["data"].([]any)
		if len(list) != 1 {
			t.Fatal(list)
		}
		key, _ := list[0].(map[string]any)
		models, _ := key["models"].([]any)
		if key["name"] != "laptop" || key["budget_usd"] != 50.0 || key["budget_window"] != "month" || key["rpm_limit"] != 60.0 ||
			len(models) != 2 || key["expires_at"] == nil || key["user_email"] != "ada@example.com" {
			t.Errorf("%v", key)
		}
		text := g.do("key", "list")
		for _, part := range []string{"laptop", "ada@example.com", "$50.00 a month", "ci", "bob@example.com", "never"} {
			if !strings.Contains(text, part) {
				t.Errorf("%q is missing:\n%s", part, text)
			}
		}
		if strings.Contains(text, strings.TrimSpace(r.out)) {
			t.Error("the list shows the key")
		}
	})
}

func TestKeyCommandsRefuseWhatTheAPIRefuses(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	g.do("migrate")
	for _, tt := range []struct {
		code  int
		words string
		args  string
	}{
		{2, "name", "key create"}, {2, "user team", "key create --name x"},
		{2, "dollars", "key create --user a@example.com --name x --budget-usd much"},
		{2, "whole number", "key create --user a@example.com --name x --rpm-limit 1.5"},
		{2, "30d", "key create --user a@example.com --name x --expires-at soon"},
		{1, "no user", "key create --user nobody@example.com --name x"},
		{1, "e-mail", "key create --user a@b@c --name x"},
		{1, "no user", "key list --user usr_X"},
	} {
		g.refuses(tt.code, strings.Fields(tt.words)[:1], strings.Fields(tt.args)...)
	}
}

func TestJSONOfAnErrorIsThatOfTheAPI(t *testing.T) {
	t.Parallel()
	withUsers(t, func(g *gateway, _ *storetest.Database) {
		r := g.run("key", "create", "--user", "ada@example.com", "--name", "x", "--models", "no-such", "--json")
		if r.code != 1 || r.out != "" || !strings.HasPrefix(r.err, `{"error":{"type":"invalid_request_error"`) ||
			!strings.Contains(r.err, `"param":"models[0]"`) {
			t.Errorf("%+v", r)
		}
	})
}

func TestUsageIsGroupedAndNamed(t *testing.T) {
	t.Parallel()
	withUsers(t, func(g *gateway, d *storetest.Database) {
		day := time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC)
		past := []models.Call{
			{UserID: "ada", InputTokens: 1234567, OutputTokens: 20, Cost: 12345678}, {UserID: "ada"}, {UserID: "ada", Outcome: models.OutcomeFailed},
			{UserID: "bob", InputTokens: 10, OutputTokens: 20, Cost: 150, BeganAt: day.AddDate(0, 0, 1).UnixMicro()},
		}
		for i := range past {
			c := &past[i]
			c.Model, c.Provider, c.Priced, c.Outcome = "gpt-4", "openai", true, cmp.Or(c.Outcome, models.OutcomeOK)
			c.BeganAt = cmp.Or(c.BeganAt, day.UnixMicro())
		}
		if err := d.Store.WriteCalls(t.Context(), "r", past); err != nil {
			t.Fatal(err)
		}
		days := []string{"--from", "2026-11-01", "--to", "2026-11-05"}
		lines := strings.Split(g.do(append([]string{"usage", "--by", "user,model"}, days...)...), "\n")
		for i, want := range []string{
			"USER MODEL CALLS FAILED INPUT OUTPUT COST", "ada@example.com gpt-4 3 1 1,234,567 20 $12.35",
			"bob@example.com gpt-4 1 0 10 20 $0.00015", "total 4 1 1,234,577 40 $12.35",
		} {
			if got := strings.Join(strings.Fields(lines[i]), " "); got != want {
				t.Errorf("%q, not %q", got, want)
			}
		}
		shown := g.json(append([]string{"usage", "--user", "bob@example.com"}, days...)...)
		data, _ := shown["data"].([]any)
		total, _ := shown["total"].(map[string]any)
		if len(data) != 1 || total["calls"] != 1.0 || total["cost_usd"] != 0.00015 || shown["from"] != "2026-11-01" {
			t.Errorf("%v", shown)
		}
		now := time.Now()
		calls := []models.Call{
			{ID: storetest.CallID(now, "a"), UserID: "ada", Provider: "openai", Outcome: models.OutcomeOK, FirstTokenUS: 480_000, BeganAt: now.UnixMicro()},
			{ID: storetest.CallID(now.AddDate(0, 0, -1), "b"), UserID: "bob", Provider: "openai", Outcome: models.OutcomeOK, BeganAt: now.AddDate(0, 0, -1).UnixMicro()},
		}
		if err := d.Store.WriteCalls(t.Context(), "r", calls); err != nil {
			t.Fatal(err)
		}
		lines = strings.Split(g.do("usage", "--by", "provider,user", "--previous", "--time-zone", "Asia/Kolkata", "--provider", "openai",
			"--from", now.Add(-time.Hour).UTC().Format(time.RFC3339)), "\n")
		for i, want := range []string{
			"PROVIDER USER CALLS FAILED INPUT OUTPUT COST FIRST TOKEN P50 P95", "openai ada@example.com 1 0 0 0 $0.00 481 ms 481 ms",
			"total 1 0 0 0 $0.00 481 ms 481 ms", "before 0 0 0 0 $0.00 - -",
		} {
			if got := strings.Join(strings.Fields(lines[i]), " "); got != want {
				t.Errorf("%q, not %q", got, want)
			}
		}
		g.refuses(1, []string{"group_by"}, "usage", "--by", "colour")
		g.refuses(1, []string{"time_zone"}, "usage", "--time-zone", "Mars")
	})
}

func TestKeyIsRotatedLimitedAndRevoked(t *testing.T) {
	t.Parallel()
	withUsers(t, func(g *gateway, d *storetest.Database) {
		first := strings.TrimSpace(g.do("key", "create", "--user", "ada@example.com", "--name", "laptop"))
		id := strings.TrimSpace(g.do("key", "list", "-q"))
		r := g.run("key", "rotate", id, "--overlap", "2h")
		if second := strings.TrimSpace(r.out); r.code != 0 || !strings.HasPrefix(second, "mgw_") || second == first ||
			!strings.Contains(r.err, "former secret works until") {
			t.Fatalf("%+v", r)
		}
		g.refuses(1, []string{"rotated before"}, "key", "rotate", id)
		g.refuses(1, []string{"overlap_seconds"}, "key", "rotate", id, "--overlap", "200h")

		changed := g.json("key", "limits", id, "--budget-usd", "12.5", "--budget-window", "week", "--tpm-limit", "9000")
		if changed["budget_usd"] != 12.5 || changed["budget_window"] != "week" || changed["tpm_limit"] != 9000.0 || changed["limited_by"] != "admin" {
			t.Errorf("%v", changed)
		}
		raised := []string{"key", "limits", id, "--budget-extra-usd", "5", "--budget-extra-until", "2d", "--session-budget-usd", "2"}
		if r := g.run(raised...); !strings.Contains(r.err, "$12.50 a week and $5.00 more until ") || !strings.Contains(r.err, "; $2.00 a session; ") {
			t.Errorf("%+v", r)
		}
		if r := g.run("key", "limits", id, "--budget-usd", "none", "--release"); !strings.Contains(r.err, "9,000 tokens a minute") {
			t.Errorf("%+v", r)
		}
		if freed := g.json("key", "limits", id, "--tpm-limit", "none", "--release"); freed["limited_by"] != nil || freed["tpm_limit"] != nil {
			t.Errorf("%v", freed)
		}
		g.refuses(1, []string{"no limit is named"}, "key", "limits", id)

		if deleted := g.json("key", "revoke", id); deleted["deleted"] != true || deleted["id"] != id {
			t.Errorf("%v", deleted)
		}
		g.refuses(1, []string{"no such key"}, "key", "revoke", id)
		audit := d.Query(t, "SELECT action, actor_email FROM audit ORDER BY id")
		if got := strings.Join(audit, " "); got != "key.create command line key.rotate command line key.limit command line key.limit command line key.limit command line key.limit command line key.revoke command line" {
			t.Errorf("%q", audit)
		}
	})
}

func TestUserIsDisabledAndEnabled(t *testing.T) {
	t.Parallel()
	withUsers(t, func(g *gateway, _ *storetest.Database) {
		if u := g.json("user", "disable", "Ada@example.com"); u["disabled_at"] == nil || u["email"] != "ada@example.com" {
			t.Errorf("%v", u)
		}
		if text := g.do("user", "list"); !strings.Contains(text, "disabled") {
			t.Error(text)
		}
		if u := g.json("user", "enable", "ada"); u["disabled_at"] != nil {
			t.Errorf("%v", u)
		}
		if emails := strings.Fields(g.do("user", "list", "-q")); len(emails) != 2 {
			t.Errorf("%q", emails)
		}
		g.refuses(1, []string{"no user"}, "user", "disable", "eve@example.com")
		g.refuses(2, []string{"needs USER"}, "user", "disable")
	})
}
