package accounts

import (
	"crypto/rand"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"modelgateway/tests/gatewaytest"
)

var update = flag.Bool("update", false, "write testdata/callers.txt again")

// Every route that leads to what belongs to somebody is called by everybody. testdata/callers.txt has the statuses; a
// star says that the answer shows what is the owner's.
func TestEveryRouteRefusesThoseWhomItsObjectsDoNotBelongTo(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		w := newWorld(t, settings)
		var got strings.Builder
		fmt.Fprintf(&got, "%-62s", "#")
		for _, c := range w.callers {
			fmt.Fprintf(&got, " %-8s", c.name)
		}
		for _, o := range ownedOperations(t) {
			method, path, _ := strings.Cut(o, " ")
			fmt.Fprintf(&got, "\n%-6s %-55s", method, path)
			for _, c := range w.callers {
				at := w.fill(t, method, path)
				a := w.p.Call(t, method, at, w.body(o), c.headers...)
				for i := 0; a.Status == 503 && i < 5; i++ { // a database that answers late
					a = w.p.Call(t, method, at, w.body(o), c.headers...)
				}
				cell := fmt.Sprint(a.Status)
				if a.Status < 300 && w.shows(a.Body) {
					cell += "*"
				}
				fmt.Fprintf(&got, " %-8s", cell)
			}
		}
		checkTable(t, got.String())
	})
}

func checkTable(t *testing.T, got string) {
	t.Helper()
	const file = "testdata/callers.txt"
	lines := strings.Split(got, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	if *update {
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for _, line := range lines {
		if !slices.Contains(want, line) {
			t.Errorf("%s does not have\n%s\n%s", file, lines[0], line)
		}
	}
	if len(lines) != len(want) {
		t.Errorf("%s has %d lines, not %d", file, len(want), len(lines))
	}
}

// ownedOperations are those of the OpenAPI document with which somebody sees or changes what may be another's: first those that
// change nothing, last the one that deletes a user.
func ownedOperations(t *testing.T) (all []string) {
	t.Helper()
	text, err := os.ReadFile(gatewaytest.File(t, "web/openapi.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Paths map[string]map[string]any `yaml:"paths"`
	}
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	for path, methods := range document.Paths {
		if !slices.ContainsFunc([]string{"/admin/", "/auth/keys", "/auth/teams", "/v1/calls", "/v1/usage", "/v1/responses/{"},
			func(start string) bool { return strings.HasPrefix(path, start) }) {
			continue
		}
		for method := range methods {
			if slices.Contains([]string{"get", "post", "patch", "delete"}, method) {
				all = append(all, strings.ToUpper(method)+" "+path)
			}
		}
	}
	place := func(o string) string {
		method, path, _ := strings.Cut(o, " ")
		return fmt.Sprint(o == "DELETE /admin/users/{user_id}", method != "GET", path, method)
	}
	slices.SortFunc(all, func(a, b string) int { return strings.Compare(place(a), place(b)) })
	return all
}

// world is a gateway with a user, the owner, who has a key, a call, a kept response and an invitation, all of a team.
type world struct {
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

func newWorld(t *testing.T, settings []string) *world {
	t.Helper()
	p := gatewaytest.Start(t, append(settings, "SIMULATOR=true", "REQUIRE_AUTH=true", gatewaytest.JWTSecret, "LOG_PROMPTS=all",
		"RESPONSES_STORE_HOURS=1", "ENCRYPTION_KEY=8c1f5e0a94b7d3620f8e47ac1b95d0ee37f2a861c04d9b7e5518ea72f6390bcd")...)
	w := &world{p: p, root: loginAs(t, p, "root"), owner: loginAs(t, p, "owner"), manager: loginAs(t, p, "manager"), ids: map[string]string{}}
	outsider, rival, peer := loginAs(t, p, "outsider"), loginAs(t, p, "rival"), loginAs(t, p, "peer")
	w.ids["user_id"] = userID(t, p, "owner@example.com", w.root)
	w.team(t)
	other := member(t, must(t, 201, p.Call(t, "POST", "/admin/teams", `{"name":"Other"}`, w.root...)), "id")
	must(t, 201, p.Call(t, "POST", "/admin/teams/"+other+"/members", `{"email":"rival@example.com","role":"manager"}`, w.root...))
	_, secret := w.newKey(t)
	w.key = []string{"Authorization", "Bearer " + secret}
	w.invitation(t)
	w.response(t)
	gatewaytest.Until(t, "the content of the owner's call is kept", func() bool {
		calls := listData(t, p.Call(t, "GET", "/v1/calls", "", w.key...))
		if len(calls) == 0 {
			return false
		}
		w.ids["call_id"], _ = calls[0]["id"].(string)
		return strings.Contains(p.Call(t, "GET", "/v1/calls/"+w.ids["call_id"], "", w.key...).Body, `"content":"stored"`)
	})
	w.callers = []caller{
		{"nobody", nil}, {"outsider", outsider}, {"rival", rival}, {"peer", peer}, {"key", w.key}, {"owner", w.owner}, {"manager", w.manager},
		{"root", w.root},
	}
	return w
}

func (w *world) team(t *testing.T) {
	t.Helper()
	w.ids["team_id"] = member(t, must(t, 201, w.p.Call(t, "POST", "/admin/teams", `{"name":"Research `+rand.Text()+`"}`, w.root...)), "id")
	for email, role := range map[string]string{"owner": "member", "peer": "member", "manager": "manager"} {
		must(t, 201, w.p.Call(t, "POST", "/admin/teams/"+w.ids["team_id"]+"/members", `{"email":"`+email+`@example.com","role":"`+role+`"}`, w.root...))
	}
}

func (w *world) newKey(t *testing.T) (id, secret string) {
	t.Helper()
	a := must(t, 201, w.p.Call(t, "POST", "/auth/keys", `{"name":"k","team_id":"`+w.ids["team_id"]+`"}`, w.owner...))
	w.ids["key_id"] = member(t, a, "id")
	return w.ids["key_id"], member(t, a, "key")
}

func (w *world) invitation(t *testing.T) {
	t.Helper()
	a := must(t, 201, w.p.Call(t, "POST", "/auth/teams/"+w.ids["team_id"]+"/invitations", `{"email":"guest@example.com"}`, w.manager...))
	w.ids["invitation_id"] = member(t, a, "id")
}

func (w *world) response(t *testing.T) {
	t.Helper()
	a := must(t, 200, w.p.Call(t, "POST", "/v1/responses", `{"model":"claude-haiku-4-5","input":"hi"}`, w.key...))
	w.ids["id"] = member(t, a, "id")
}

// fill puts the owner's ids into a path. What the call may change is made anew.
func (w *world) fill(t *testing.T, method, path string) string {
	t.Helper()
	for _, made := range []struct {
		name string
		anew func()
	}{
		{"{team_id}", func() { w.team(t) }}, {"{key_id}", func() { w.newKey(t) }}, {"{invitation_id}", func() { w.invitation(t) }},
		{"{id}", func() { w.response(t) }},
	} {
		if method != "GET" && strings.Contains(path, made.name) {
			made.anew()
		}
	}
	for name, id := range w.ids {
		path = strings.ReplaceAll(path, "{"+name+"}", id)
	}
	if _, unknown, found := strings.Cut(path, "{"); found {
		t.Fatalf("%s: what is %s", path, unknown)
	}
	return path
}

// body is a body for an operation: one that is accepted where it would be checked before the caller.
func (w *world) body(operation string) string {
	switch {
	case strings.HasPrefix(operation, "GET"), strings.HasPrefix(operation, "DELETE"):
		return ""
	case operation == "POST /auth/keys":
		return `{"name":"k","team_id":"` + w.ids["team_id"] + `"}`
	case operation == "POST /auth/teams/{team_id}/keys":
		return `{"name":"k","user_id":"` + w.ids["user_id"] + `"}`
	case strings.HasSuffix(operation, "/members/{user_id}"):
		return `{"role":"manager"}`
	}
	return "{}"
}

// shows says whether an answer has something of the owner's.
func (w *world) shows(body string) bool {
	if strings.Contains(body, "owner@example.com") {
		return true
	}
	for name, id := range w.ids {
		if name != "team_id" && strings.Contains(body, id) {
			return true
		}
	}
	return false
}
