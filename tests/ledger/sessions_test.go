package ledger

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
)

type sessionList struct {
	Data []struct {
		ID, Name string
		Calls    int
	}
	HasMore   bool   `json:"has_more"`
	NextAfter string `json:"next_after"`
}

// sessionsOf are the names of the sessions of a list, and how many calls they have.
func sessionsOf(t *testing.T, p *gatewaytest.Program, path string, credential []string) (names string, list sessionList) {
	t.Helper()
	a := p.Call(t, "GET", path, "", credential...)
	if a.Status != 200 {
		t.Errorf("%s: %d %s", path, a.Status, a.Body)
	}
	a.JSON(t, &list)
	var all []string
	for _, s := range list.Data {
		all = append(all, fmt.Sprintf("%s:%d", s.Name, s.Calls))
	}
	return strings.Join(all, " "), list
}

func TestSessionsAreReadByTheirOwnersAndAdministratorsOnly(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		p := gatewaytest.Start(t, append(settings, "SIMULATOR=true", gatewaytest.JWTSecret, "RATE_LIMIT_RPM=1000")...)
		root, ada := p.Administrator(t), p.Login(t)
		account := strings.NewReplacer("Ada", "Bob", "ada@", "bob@").Replace(gatewaytest.AdaAccount)
		bobID := gatewaytest.Field(t, p.Call(t, "POST", "/auth/register", account), "id")
		login := p.Call(t, "POST", "/auth/login", `{"email":"bob@example.com","password":"correct horse battery"}`)
		bob := []string{"Authorization", "Bearer " + gatewaytest.Field(t, login, "token")}
		keyID, own := p.CreateKey(t, ada)
		key := []string{"Authorization", "Bearer " + own}

		var ids []string
		say := func(as []string, headers ...string) {
			ids = append([]string{fmt.Sprint("r", len(ids))}, ids...)
			a := p.Chat(t, gatewaytest.HelloRequest, append(append(headers, as...), "X-Request-Id", ids[0])...)
			if a.Status != 200 {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
			awaitCalls(t, p, strings.Join(ids, " "), root) // sessions are in the order of their first calls
		}
		const session, agent, parent = "X-Claude-Code-Session-Id", "X-Claude-Code-Agent-Id", "X-Claude-Code-Parent-Agent-Id"
		say(ada, session, "same", "X-Gateway-Project", "shop")
		say(key, session, "same", agent, "sub", "User-Agent", "claude-cli/2.1")
		say(key, session, "same", agent, "below", parent, "sub")
		say(bob, session, "same")
		say(ada, session, "other", agent, "sub", parent, "unknown")
		say(ada)

		for _, tt := range []struct {
			path string
			as   []string
			want string
		}{
			{"/v1/sessions", ada, "other:1 same:3"}, {"/v1/sessions", key, "same:2"}, {"/v1/sessions", bob, "same:1"},
			{"/admin/sessions", root, "other:1 same:1 same:3"}, {"/v1/sessions", root, ""},
			{"/admin/sessions?user_id=" + bobID, root, "same:1"}, {"/admin/sessions?key_id=" + keyID, root, "same:3"},
			{"/v1/sessions?project=shop", ada, "same:3"}, {"/v1/sessions?agent=claude-code", ada, "same:3"},
			{"/v1/sessions?to=2025-01-01", ada, ""}, {"/v1/sessions?from=2025-01-01&limit=1", ada, "other:1"},
			{"/v1/sessions?key_id=key_of_another", key, ""},
		} {
			if got, _ := sessionsOf(t, p, tt.path, tt.as); got != tt.want {
				t.Errorf("%s: %q, want %q", tt.path, got, tt.want)
			}
		}
		_, first := sessionsOf(t, p, "/v1/sessions?limit=1", ada)
		if got, last := sessionsOf(t, p, "/v1/sessions?limit=1&after="+first.NextAfter, ada); got != "same:3" || last.HasMore || !first.HasMore {
			t.Errorf("%q, %+v, %+v", got, first, last)
		}
		_, adas := sessionsOf(t, p, "/v1/sessions", ada)
		_, bobs := sessionsOf(t, p, "/v1/sessions", bob)
		same, other := adas.Data[1].ID, adas.Data[0].ID
		for _, tt := range []struct {
			path   string
			as     []string
			status int
			has    string
		}{
			{"/v1/sessions/" + same, bob, 404, "session_not_found"}, {"/v1/sessions/" + bobs.Data[0].ID, ada, 404, "session_not_found"},
			{"/v1/sessions/" + other, key, 404, "session_not_found"}, {"/v1/sessions/same", ada, 404, "session_not_found"},
			{"/v1/sessions/session_99999999999", ada, 404, "session_not_found"}, {"/admin/sessions/" + same, ada, 403, "admin_required"},
			{"/admin/sessions/" + same, root, 200, `"user_email":"ada@example.com"`}, {"/v1/sessions", nil, 401, "missing"},
			{"/v1/sessions?after=x", ada, 400, "after"}, {"/v1/sessions?limit=0", ada, 400, "limit"}, {"/v1/sessions?model=x", ada, 400, "model"},
			{"/v1/sessions?user_id=x", ada, 400, "user_id"}, {"/v1/sessions?from=x", ada, 400, "from"},
			{"/v1/sessions?agent=" + url.QueryEscape("a\x00"), ada, 400, "agent"},
		} {
			if a := p.Call(t, "GET", tt.path, "", tt.as...); a.Status != tt.status || !strings.Contains(a.Body, tt.has) {
				t.Errorf("%s: %d %s", tt.path, a.Status, a.Body)
			}
		}
		for _, tt := range []struct {
			path string
			as   []string
			want string
		}{
			{"/v1/sessions/" + same, ada, "0  <- :1 | 1 sub <- :1 | 2 below <- sub:1"},
			{"/v1/sessions/" + same, key, "0  <- :0 | 1 sub <- :1 | 2 below <- sub:1"},
			{"/v1/sessions/" + other, ada, "0  <- :0 | 1 sub <- :1"},
		} {
			if got := agentsOf(t, p, tt.path, tt.as); got != tt.want {
				t.Errorf("%s: %q, want %q", tt.path, got, tt.want)
			}
		}

		// From a call to its session and back.
		if got := listed(t, p, "/v1/calls?session="+same, ada); got != "r2 r1 r0" {
			t.Error(got)
		}
		if got := listed(t, p, "/v1/calls?session=same", bob) + listed(t, p, "/v1/calls?session="+same, bob); got != "r3" {
			t.Error(got)
		}
		var calls struct {
			Data []struct {
				ID        string
				Session   string
				SessionID string `json:"session_id"`
			}
		}
		p.Call(t, "GET", "/v1/calls", "", ada...).JSON(t, &calls)
		if c := calls.Data; c[0].SessionID != "" || c[1].SessionID != other || c[4].SessionID != same || c[4].Session != "same" {
			t.Errorf("%+v", c)
		}
		if one := p.Call(t, "GET", "/v1/calls/"+calls.Data[4].ID, "", ada...); !strings.Contains(one.Body, `"session_id":"`+same+`"`) {
			t.Error(one.Body)
		}
	})
}

// agentsOf is the tree of the agents of a session: their depths, names, parents and calls.
func agentsOf(t *testing.T, p *gatewaytest.Program, path string, as []string) string {
	t.Helper()
	var one struct {
		Calls  int
		Agents []struct {
			AgentID string `json:"agent_id"`
			Parent  string `json:"parent_agent_id"`
			Depth   int
			Calls   int
			Began   int64 `json:"began_at_ms"`
			Models  []string
		}
	}
	p.Call(t, "GET", path, "", as...).JSON(t, &one)
	var all []string
	for _, a := range one.Agents {
		all = append(all, fmt.Sprintf("%d %s <- %s:%d", a.Depth, a.AgentID, a.Parent, a.Calls))
		if one.Calls -= a.Calls; time.Since(time.UnixMilli(a.Began)) > time.Hour || a.Calls > 0 && len(a.Models) != 1 {
			t.Errorf("%+v", a)
		}
	}
	if one.Calls != 0 {
		t.Errorf("%s: %d calls are of no agent", path, one.Calls)
	}
	return strings.Join(all, " | ")
}
