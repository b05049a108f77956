package budgets

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
)

// A budget that is spent is raised for some seconds: calls are served on all replicas until the second in
// which that ends, though the replicas hold much more of it then than the budget has.
func TestABudgetIsRaisedUntilATime(t *testing.T) {
	t.Parallel()
	eachReplicas(t, func(t *testing.T, r *gatewaytest.Replicas) {
		p := r.Programs[0]
		root, ada := p.Administrator(t), p.SignUp(t, "Ada")
		bob, eve := p.SignUp(t, "Bob"), p.SignUp(t, "Eve")
		team := gatewaytest.Field(t, p.Call(t, "POST", "/admin/teams", `{"name":"t","budget_usd":100000}`, root...), "id")
		for _, member := range []string{`{"email":"bob@example.com","role":"manager"}`, `{"email":"ada@example.com"}`} {
			if a := p.Call(t, "POST", "/admin/teams/"+team+"/members", member, root...); a.Status != 201 {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
		}
		a := p.Call(t, "POST", "/auth/teams/"+team+"/keys", `{"name":"k","budget_usd":1,"budget_window":"total"}`, bob...)
		id, key := gatewaytest.Field(t, a, "id"), gatewaytest.Field(t, a, "key")
		served := func(i int, mark string) bool {
			return r.Send(i, gatewaytest.PricedRequest(1, 9_000, 9_000, mark, false), key).Served(t) // some $0.54
		}
		if !served(0, "first") || served(0, "second") {
			t.Fatal("the budget is not that of one call")
		}
		for i, by := range []struct {
			path  string
			token []string
			actor string
		}{{"/auth/teams/" + team + "/keys/" + id, bob, "bob"}, {"/admin/keys/" + id, root, "root"}} {
			until := time.Now().Add(4 * time.Second).Truncate(time.Second)
			body := fmt.Sprintf(`{"budget_extra_usd":%d,"budget_extra_until":%d}`, 900*(i+1), until.Unix())
			for path, token := range map[string][]string{"/auth/keys/" + id: ada, "/auth/teams/" + team + "/keys/" + id: eve} {
				if a := p.Call(t, "PATCH", path, body, token...); a.Status != 404 {
					t.Errorf("%s: %d %s", path, a.Status, a.Body)
				}
			}
			if a := p.Call(t, "PATCH", "/auth/teams/"+team+"/keys/"+id, body, ada...); a.Status != 403 {
				t.Errorf("a member: %d %s", a.Status, a.Body)
			}
			a := p.Call(t, "PATCH", by.path, body, by.token...)
			if limit := fmt.Sprintf(`"budget":{"limit_usd":%d,"spent_usd":`, 900*(i+1)+1); a.Status != 200 || !strings.Contains(a.Body, limit) {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
			for n := range r.Programs {
				gatewaytest.Until(t, "calls are served", func() bool { return served(n, fmt.Sprint("raised-", i, n)) })
			}
			var last time.Time
			for n := 0; time.Now().Before(until.Add(500 * time.Millisecond)); n++ {
				if began := time.Now(); served(n, fmt.Sprint("until-", i, n)) {
					last = began
				}
				time.Sleep(20 * time.Millisecond) // so that the calls do not spend all of it
			}
			if early := until.Sub(last); early < 0 || early > time.Second {
				t.Errorf("the last call that was served began %v before the end", early)
			}
			audit := p.Call(t, "GET", "/admin/audit?limit=1", "", root...).Body
			for _, want := range []string{`"action":"key.limit"`, by.actor + "@example.com", fmt.Sprintf(`"budget_extra_usd":%d`, 900*(i+1))} {
				if !strings.Contains(audit, want) {
					t.Errorf("the audit has no %s: %s", want, audit)
				}
			}
		}
		r.AwaitSpent("gateway", r.Upstream.Charged.Load())
	})
}

// The extra is of the budget that holds: without one it is refused, and a default is one.
func TestWhatABudgetIsRaisedByIsChecked(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "SIMULATOR=true", gatewaytest.JWTSecret, "REQUIRE_AUTH=true", "DEFAULT_USER_BUDGET_USD=2")
	root, ada := p.Administrator(t), p.SignUp(t, "Ada")
	id, _ := p.CreateLimitedKey(t, ada, `"budget_usd":1`)
	free, _ := p.CreateKey(t, ada)
	team := gatewaytest.Field(t, p.Call(t, "POST", "/admin/teams", `{"name":"t"}`, root...), "id")
	_, user, _ := strings.Cut(p.Call(t, "GET", "/auth/session", "", ada...).Body, `"id":"`)
	user, _, _ = strings.Cut(user, `"`)
	soon := time.Now().Add(time.Hour).Unix()
	both := fmt.Sprintf(`{"budget_extra_usd":0.5,"budget_extra_until":%d}`, soon)
	for _, tt := range []struct {
		path, body string
		token      []string
		status     int
		want       string
	}{
		{"/auth/keys/" + id, both, ada, 200, `"budget":{"limit_usd":1.5,`},
		{"/auth/keys/" + id, `{"budget_extra_usd":0.25}`, ada, 200, `"budget":{"limit_usd":1.25,`},
		{"/auth/keys/" + id, `{"budget_extra_until":null}`, ada, 200, `"budget_extra_usd":null,"budget_extra_until":null`},
		{"/auth/keys/" + id, `{"budget_extra_usd":0.25}`, ada, 400, `budget_extra_until is missing`},
		{"/auth/keys/" + id, fmt.Sprintf(`{"budget_extra_until":%d}`, soon), ada, 400, `budget_extra_usd is missing`},
		{"/auth/keys/" + id, fmt.Sprintf(`{"budget_extra_usd":null,"budget_extra_until":%d}`, soon), ada, 400, `budget_extra_usd is missing`},
		{"/auth/keys/" + id, `{"budget_extra_usd":1,"budget_extra_until":1}`, ada, 400, `a time of the next 366 days`},
		{"/auth/keys/" + id, fmt.Sprintf(`{"budget_extra_usd":1,"budget_extra_until":%d}`, soon+366*86400), ada, 400, `a time of the next 366 days`},
		{"/auth/keys/" + id, `{"budget_extra_usd":0}`, ada, 400, `budget_extra_usd must be above 0`},
		{"/auth/keys/" + id, `{"session_budget_usd":0}`, ada, 400, `session_budget_usd must be above 0`},
		{"/auth/keys/" + free, both, ada, 400, `budget_usd is missing`},
		{"/admin/teams/" + team, both, root, 400, `budget_usd is missing`},
		{"/admin/users/" + user, both, root, 200, `"budget":{"limit_usd":2.5,`},
		{"/admin/users/" + user, `{"session_budget_usd":3}`, root, 200, `"session_budget_usd":3`},
		{"/admin/keys/" + id, both, root, 200, `"limited_by":null`}, // its owner may change it on
		{"/admin/keys/" + id, `{"budget_usd":null}`, root, 200, `"budget_extra_usd":null,"budget_extra_until":null`},
		{"/auth/keys/" + id, both, ada, 403, `limits_fixed`},
	} {
		if a := p.Call(t, "PATCH", tt.path, tt.body, tt.token...); a.Status != tt.status || !strings.Contains(a.Body, tt.want) {
			t.Errorf("%s %s: %d %s", tt.path, tt.body, a.Status, a.Body)
		}
	}
}
