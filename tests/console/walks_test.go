package console

import (
	"encoding/csv"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"modelgateway/models"
	"modelgateway/tests/gatewaytest"
)

// The first tasks of those who come to a gateway that is in use, one after the other. A newcomer's is
// TestNewcomerFindsTheirWayThroughTheDemonstration.
func TestFirstTasks(whole *testing.T) {
	whole.Parallel()
	const encryption = "ENCRYPTION_KEY=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
	database := "sqlite:" + whole.TempDir() + "/gateway.db"
	p := onDesktop(whole, "LOG_PROMPTS=all", encryption, "DATABASE_URL="+database)
	for _, task := range []struct {
		name string
		walk func(t *testing.T, p *page)
	}{
		{"an administrator lets five people in", invitesFive},
		{"a developer learns why a call was refused", learnsWhyRefused},
		{"a team lead finds who hit a wall", findsWhoHitAWall},
		{"security finds who saw which prompt", findsWhoSawAPrompt},
		{"finance saves last month by person and model", func(t *testing.T, p *page) { savesLastMonth(t, p, database) }},
		{"an operator sees whether all is well", seesWhetherAllIsWell},
	} {
		if !whole.Run(task.name, func(t *testing.T) {
			p.t = t
			defer func() { p.t = whole }()
			task.walk(t, p)
			p.inspect("walk-" + strings.ReplaceAll(task.name, " ", "-"))
		}) {
			break // the next one finds what this one has left
		}
	}
}

// The people of the walks: a lead and four members.
func crew() []string {
	return []string{"lead@example.com", "ben@example.com", "cleo@example.com", "dan@example.com", "eve@example.com"}
}

func invitesFive(t *testing.T, p *page) {
	p.visit("/")
	p.jump("Users")
	p.click("Invite")
	p.fill("E-mail addresses", strings.Join(crew(), ", "))
	p.click("Make links")
	p.see("Copy these links now.")
	links := ask[[]string](p, `[...document.querySelectorAll("dialog .url code")].map((el) => el.textContent)`)
	if len(links) != len(crew()) {
		t.Fatalf("links: %q", links)
	}
	for i, link := range links {
		_, secret, _ := strings.Cut(link, "=")
		a := p.Call(t, "POST", "/auth/register", fmt.Sprintf(`{"invitation":%q,"email":%q,"name":%q,"password":"correct horse battery"}`,
			secret, crew()[i], strings.Split(crew()[i], "@")[0]))
		if a.Status/100 != 2 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
	}
	admin := p.Administrator(t)
	team := gatewaytest.Field(t, p.Call(t, "POST", "/admin/teams", `{"name":"Crew","models":["claude-*"]}`, admin...), "id")
	for i, email := range crew() {
		role := []string{"manager", "member"}[min(i, 1)]
		p.Call(t, "POST", "/admin/teams/"+team+"/members", fmt.Sprintf(`{"email":%q,"role":%q}`, email, role), admin...)
	}
	p.visit("/users")
	for _, email := range crew() {
		p.see(email)
	}
}

// callOf makes a key of the team for a person, and calls with it. It returns the status of the last call.
func callOf(t *testing.T, p *page, email, key, model string, calls int) int {
	t.Helper()
	login := p.Call(t, "POST", "/auth/login", fmt.Sprintf(`{"email":%q,"password":"correct horse battery"}`, email))
	token := []string{"Authorization", "Bearer " + gatewaytest.Field(t, login, "token")}
	var teams struct{ Data []struct{ ID string } }
	p.Call(t, "GET", "/auth/teams", "", token...).JSON(t, &teams)
	made := p.Call(t, "POST", "/auth/keys", fmt.Sprintf(`{"name":%q,"team_id":%q,"rpm_limit":2}`, key, teams.Data[0].ID), token...)
	status := 0
	for range calls {
		status = p.Chat(t, fmt.Sprintf(`{"model":%q,%s}`, model, gatewaytest.HiMessages), "X-API-Key", gatewaytest.Field(t, made, "key")).Status
	}
	gatewaytest.Until(t, "the refusals are counted", func() bool {
		return strings.Contains(p.Call(t, "GET", "/auth/keys?days=1", "", token...).Body, `"refused_today":{"`)
	})
	return status
}

func learnsWhyRefused(t *testing.T, p *page) {
	if status := callOf(t, p, "ben@example.com", "notebook", "gpt-5", 1); status != 403 {
		t.Fatalf("a model that the team may not call: %d", status)
	}
	p.signIn("ben@example.com")
	p.visit("/keys")
	p.see("1 refused today: model not allowed")
	p.click("1 refused today: model not allowed")
	p.see("1 call of the last 24 hours")
	p.press("j")
	p.press(kb.Enter)
	p.see("status 403")
	p.see("the team Crew does not allow the model `gpt-5`; it allows `claude-*`")
}

func findsWhoHitAWall(t *testing.T, p *page) {
	if status := callOf(t, p, "cleo@example.com", "batch", "claude-haiku-4-5", 4); status != 429 {
		t.Fatalf("a call over the limit: %d", status)
	}
	p.signIn("lead@example.com")
	p.visit("/teams")
	p.click("Crew")
	p.see("Usage by user")
	p.see("Refused by the gateway")
	p.see("Rate limited")
	p.see("Model not allowed")
	p.see("batch")
	p.see("notebook")
}

func findsWhoSawAPrompt(t *testing.T, p *page) {
	p.signIn(root)
	p.visit("/calls?range=24h")
	p.openNewest()
	p.click("Show prompt")
	p.see("This look is in the audit log.")
	p.visit("/")
	p.jump("Audit log")
	p.see("looked at the prompt of the call")
	p.visit("/audit?action=call.read")
	p.see("root looked at the prompt")
}

// savesLastMonth has calls of the month before in the ledger, as a gateway has after a month.
func savesLastMonth(t *testing.T, p *page, database string) {
	now := time.Now().UTC()
	last := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, -10)
	var people struct{ Data []struct{ ID, Email string } }
	p.Call(t, "GET", "/admin/users", "", p.Administrator(t)...).JSON(t, &people)
	store, err := models.Open(database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	if err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	var calls []models.Call
	for i, person := range people.Data {
		for _, model := range []string{"claude-haiku-4-5", "gpt-6-sol"} {
			calls = append(calls, models.Call{
				ID: store.NewCallID(last), RequestID: fmt.Sprint("req_", i, model), UserID: person.ID, Model: model, Served: model, Provider: "openai",
				Outcome: models.OutcomeOK, Status: 200, Priced: true, Cost: 1_250_000, InputTokens: 1000, OutputTokens: 100, BeganAt: last.UnixMicro(),
			})
		}
	}
	if err := store.WriteCalls(t.Context(), "a replica", calls); err != nil {
		t.Fatal(err)
	}
	p.visit("/")
	p.jump("Statement")
	p.choose("Month", last.Format("January 2006"))
	p.see("ben@example.com")
	p.see("$15.00")
	file := p.save()
	rows, err := csv.NewReader(strings.NewReader(file)).ReadAll()
	if err != nil || len(rows) != len(calls)+1 || strings.Count(file, "ben@example.com") != 2 {
		t.Errorf("%v: %s", err, file)
	}
}

func seesWhetherAllIsWell(_ *testing.T, p *page) {
	p.visit("/")
	p.see("Last hour")
	p.see("First token, p50")
	p.see("Running")
	p.see("Database")
	p.await("the last hour has no calls", func() bool {
		return ask[string](p, `document.querySelector(".kpis.four a b")?.textContent ?? "0"`) != "0"
	})
}
