package accounts

import (
	"crypto/rand"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

var update = flag.Bool("update", false, "write testdata/callers.txt again")

// Every caller calls every operation on objects that may be another user's. testdata/callers.txt has the statuses; a star
// says that the answer shows an object of the owner.
func TestEveryRouteRefusesThoseWhomItsObjectsDoNotBelongTo(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		f := newFixture(t, settings)
		var names []string
		for _, c := range f.callers {
			names = append(names, c.name)
		}
		table := []string{row("#", names)}
		for _, o := range ownedOperations(t) {
			var cells []string
			for _, c := range f.callers {
				cells = append(cells, f.call(t, o, c))
			}
			table = append(table, row(o, cells))
		}
		checkTable(t, table)
	})
}

func row(operation string, cells []string) string {
	line := fmt.Sprintf("%-60s", operation)
	for _, cell := range cells {
		line += fmt.Sprintf(" %-13s", cell)
	}
	return strings.TrimRight(line, " ")
}

func checkTable(t *testing.T, table []string) {
	t.Helper()
	const file = "testdata/callers.txt"
	if *update {
		if err := os.WriteFile(file, []byte(strings.Join(table, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for _, line := range table {
		if !slices.Contains(want, line) {
			t.Errorf("%s does not have\n%s\n%s", file, table[0], line)
		}
	}
	if len(table) != len(want) {
		t.Errorf("%s has %d lines, not %d", file, len(want), len(table))
	}
}

// ownedOperations are the operations that read or change objects of users and teams: reads first, and the deletion of a
// user last.
func ownedOperations(t *testing.T) []string {
	t.Helper()
	all := slices.DeleteFunc(gatewaytest.Operations(t), func(o string) bool {
		_, path, _ := strings.Cut(o, " ")
		return !slices.ContainsFunc([]string{"/admin/", "/auth/keys", "/auth/sign-ins", "/auth/teams", "/v1/calls", "/v1/refusals", "/v1/sessions",
			"/v1/usage", "/v1/responses/{"},
			func(start string) bool { return strings.HasPrefix(path, start) })
	})
	place := func(o string) string {
		method, path, _ := strings.Cut(o, " ")
		return fmt.Sprint(o == "DELETE /admin/users/{user_id}", method != "GET", path, method)
	}
	slices.SortFunc(all, func(a, b string) int { return strings.Compare(place(a), place(b)) })
	return all
}

// fixture is a gateway with a user, the owner, who has a key, a call, a kept response and an invitation, all of a team.
type fixture struct {
	p       *gatewaytest.Program
	root    []string
	key     []string // a key of the owner's that no caller changes
	owner   []string
	manager []string
	callers []caller
	ids     map[string]string // by the names in the document
}

type caller struct {
	name    string
	headers []string
}

func newFixture(t *testing.T, settings []string) *fixture {
	t.Helper()
	p := gatewaytest.Start(t, append(settings, "SIMULATOR=true", "REQUIRE_AUTH=true", gatewaytest.JWTSecret, "LOG_PROMPTS=all",
		"RESPONSES_STORE_HOURS=1", "ENCRYPTION_KEY=8c1f5e0a94b7d3620f8e47ac1b95d0ee37f2a861c04d9b7e5518ea72f6390bcd")...)
	f := &fixture{p: p, root: loginAs(t, p, "root"), owner: loginAs(t, p, "owner"), manager: loginAs(t, p, "manager"), ids: map[string]string{}}
	single, other, peer := loginAs(t, p, "single"), loginAs(t, p, "other"), loginAs(t, p, "peer")
	f.ids["user_id"] = userID(t, p, "owner@example.com", f.root)
	f.team(t)
	second := member(t, must(t, 201, p.Call(t, "POST", "/admin/teams", `{"name":"Other"}`, f.root...)), "id")
	must(t, 201, p.Call(t, "POST", "/admin/teams/"+second+"/members", `{"email":"other@example.com","role":"manager"}`, f.root...))
	f.key = []string{"Authorization", "Bearer " + f.newKey(t)}
	f.invitation(t)
	f.response(t)
	f.signIn(t)
	gatewaytest.Until(t, "the content of the owner's call is kept", func() bool {
		calls := listData(t, p.Call(t, "GET", "/v1/calls", "", f.key...))
		if len(calls) == 0 {
			return false
		}
		f.ids["call_id"], _ = calls[0]["id"].(string)
		f.ids["session_id"], _ = calls[0]["session_id"].(string)
		return strings.Contains(p.Call(t, "GET", "/v1/calls/"+f.ids["call_id"], "", f.key...).Body, `"content":"stored"`)
	})
	f.callers = []caller{
		{"anonymous", nil}, {"no-team", single},
		{"other-manager", other}, // of another team
		{"member", peer}, {"key", f.key}, {"owner", f.owner}, {"manager", f.manager}, {"administrator", f.root},
	}
	return f
}

func (f *fixture) team(t *testing.T) {
	t.Helper()
	f.ids["team_id"] = member(t, must(t, 201, f.p.Call(t, "POST", "/admin/teams", `{"name":"Research `+rand.Text()+`"}`, f.root...)), "id")
	for email, role := range map[string]string{"owner": "member", "peer": "member", "manager": "manager"} {
		must(t, 201, f.p.Call(t, "POST", "/admin/teams/"+f.ids["team_id"]+"/members",
			`{"email":"`+email+`@example.com","role":"`+role+`"}`, f.root...))
	}
}

func (f *fixture) newKey(t *testing.T) (secret string) {
	t.Helper()
	a := must(t, 201, f.p.Call(t, "POST", "/auth/keys", `{"name":"k","team_id":"`+f.ids["team_id"]+`"}`, f.owner...))
	f.ids["key_id"] = member(t, a, "id")
	return member(t, a, "key")
}

func (f *fixture) invitation(t *testing.T) {
	t.Helper()
	a := must(t, 201, f.p.Call(t, "POST", "/auth/teams/"+f.ids["team_id"]+"/invitations", `{"email":"guest@example.com"}`, f.manager...))
	f.ids["invitation_id"] = member(t, a, "id")
}

// signIn signs a program in as the owner.
func (f *fixture) signIn(t *testing.T) {
	t.Helper()
	form := []string{"Content-Type", "application/x-www-form-urlencoded"}
	codes := must(t, 200, f.p.Call(t, "POST", "/oauth/device_authorization", "surface=test", form...))
	must(t, 204, f.p.Call(t, "POST", "/auth/device/confirm", `{"user_code":"`+member(t, codes, "user_code")+`","approve":true}`, f.owner...))
	must(t, 200, f.p.Call(t, "POST", "/oauth/token", "grant_type=urn:ietf:params:oauth:grant-type:device_code&device_code="+
		member(t, codes, "device_code"), form...))
	f.ids["sign_in_id"], _ = listData(t, f.p.Call(t, "GET", "/auth/sign-ins", "", f.owner...))[0]["id"].(string)
}

func (f *fixture) response(t *testing.T) {
	t.Helper()
	a := must(t, 200, f.p.Call(t, "POST", "/v1/responses", `{"model":"claude-haiku-4-5","input":"hi"}`,
		append([]string{"X-Session-Id", "of-owner"}, f.key...)...))
	f.ids["id"] = member(t, a, "id")
}

// call is what an operation answers a caller: its status, and a star where the answer shows an object of the owner.
func (f *fixture) call(t *testing.T, operation string, by caller) string {
	t.Helper()
	method, path, _ := strings.Cut(operation, " ")
	path = f.fill(t, method, path)
	a := f.p.Call(t, method, path, f.body(operation), by.headers...)
	for i := 0; a.Status == 503 && i < 5; i++ { // a database that answers late
		a = f.p.Call(t, method, path, f.body(operation), by.headers...)
	}
	if a.Status < 300 && f.shows(a.Body) {
		return fmt.Sprint(a.Status, "*")
	}
	return fmt.Sprint(a.Status)
}

// fill puts the owner's ids into a path. Objects that the call may change are created anew, but for a key that is not
// revoked and is not restored either: an owner has 100 keys at most.
func (f *fixture) fill(t *testing.T, method, path string) string {
	t.Helper()
	for _, made := range []struct {
		name string
		anew func()
	}{
		{"{team_id}", func() { f.team(t) }}, {"{key_id}", func() { f.newKey(t) }}, {"{invitation_id}", func() { f.invitation(t) }},
		{"{id}", func() { f.response(t) }}, {"{sign_in_id}", func() { f.signIn(t) }},
	} {
		if method != "GET" && strings.Contains(path, made.name) && !strings.HasSuffix(path, "/restore") {
			made.anew()
		}
	}
	for name, id := range f.ids {
		path = strings.ReplaceAll(path, "{"+name+"}", id)
	}
	if _, unknown, found := strings.Cut(path, "{"); found {
		t.Fatalf("%s: what is %s", path, unknown)
	}
	return path
}

// body is a body for an operation: one that is accepted where it would be checked before the caller.
func (f *fixture) body(operation string) string {
	switch {
	case strings.HasPrefix(operation, "GET"), strings.HasPrefix(operation, "DELETE"):
		return ""
	case operation == "POST /auth/keys":
		return `{"name":"k","team_id":"` + f.ids["team_id"] + `"}`
	case operation == "POST /auth/teams/{team_id}/keys":
		return `{"name":"k","user_id":"` + f.ids["user_id"] + `"}`
	case strings.HasSuffix(operation, "/members/{user_id}"):
		return `{"role":"manager"}`
	}
	return "{}"
}

// shows says whether an answer has the address of the owner, or the id of an object of the owner.
func (f *fixture) shows(body string) bool {
	if strings.Contains(body, "owner@example.com") {
		return true
	}
	for name, id := range f.ids {
		if name != "team_id" && strings.Contains(body, id) {
			return true
		}
	}
	return false
}
