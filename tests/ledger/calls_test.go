package ledger

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
)

type callList struct {
	Data []struct {
		ID        string
		RequestID string `json:"request_id"`
		KeyID     string `json:"key_id"`
	}
}

// listed are the request ids of a list of calls, the newest first.
func listed(t *testing.T, p *gatewaytest.Program, path string, credential []string) string {
	t.Helper()
	a := p.Call(t, "GET", path, "", credential...)
	var list callList
	a.JSON(t, &list)
	if a.Status != 200 {
		t.Errorf("%s: %d %s", path, a.Status, a.Body)
	}
	var ids []string
	for _, c := range list.Data {
		ids = append(ids, c.RequestID)
	}
	return strings.Join(ids, " ")
}

func awaitCalls(t *testing.T, p *gatewaytest.Program, want string, credential []string) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); listed(t, p, "/admin/calls", credential) != want; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the ledger has %q, not %q", listed(t, p, "/admin/calls", credential), want)
		}
	}
}

// awaitContent waits until the content of a call is kept, which is written beside the ledger.
func awaitContent(t *testing.T, p *gatewaytest.Program, id string, owner []string) {
	t.Helper()
	gatewaytest.Until(t, "the content of a call is kept", func() bool {
		return strings.Contains(p.Call(t, "GET", "/v1/calls/"+id, "", owner...).Body, `"content":"stored"`)
	})
}

func TestCallsAreReadByTheirOwnersManagersAndAdministratorsOnly(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		p := gatewaytest.Start(t, append(settings, "SIMULATOR=true", gatewaytest.JWTSecret, "RATE_LIMIT_RPM=1000", "LOG_PROMPTS=all",
			"ENCRYPTION_KEY=8c1f5e0a94b7d3620f8e47ac1b95d0ee37f2a861c04d9b7e5518ea72f6390bcd")...)
		root, ada := p.Administrator(t), p.Login(t)
		account := strings.NewReplacer("Ada", "Bob", "ada@", "bob@").Replace(gatewaytest.AdaAccount)
		bobID := gatewaytest.Field(t, p.Call(t, "POST", "/auth/register", account), "id")
		login := p.Call(t, "POST", "/auth/login", `{"email":"bob@example.com","password":"correct horse battery"}`)
		bob := []string{"Authorization", "Bearer " + gatewaytest.Field(t, login, "token")}
		team := gatewaytest.Field(t, p.Call(t, "POST", "/admin/teams", `{"name":"t"}`, root...), "id")
		p.Call(t, "POST", "/admin/teams/"+team+"/members", fmt.Sprintf(`{"user_id":%q,"role":"manager"}`, bobID), root...)
		_, own := p.CreateKey(t, ada)
		ofTeam := gatewaytest.Field(t, p.Call(t, "POST", "/auth/teams/"+team+"/keys", `{"name":"service"}`, bob...), "key")

		say := func(id, credential string) {
			a := p.Chat(t, gatewaytest.HelloRequest, "Authorization", "Bearer "+credential, "X-Request-Id", id)
			if a.Status != 200 {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
		}
		say("of-ada", strings.TrimPrefix(ada[1], "Bearer "))
		say("of-adas-key", own)
		say("of-the-team", ofTeam)
		awaitCalls(t, p, "of-the-team of-adas-key of-ada", root)

		key := []string{"Authorization", "Bearer " + own}
		for _, tt := range []struct {
			path string
			as   []string
			want string
		}{
			{"/v1/calls", ada, "of-adas-key of-ada"}, {"/v1/calls", key, "of-adas-key"}, {"/v1/calls", bob, ""},
			{"/v1/calls?limit=1", ada, "of-adas-key"}, {"/v1/calls?q=ap", ada, "of-adas-key"},
			{"/auth/teams/" + team + "/calls", bob, "of-the-team"}, {"/admin/calls?team_id=" + team, root, "of-the-team"},
			{"/admin/calls?request_id=of-ada", root, "of-ada"}, {"/admin/calls?outcome=failed", root, ""},
			{"/admin/calls?q=ADA%40", root, "of-adas-key of-ada"},
		} {
			if got := listed(t, p, tt.path, tt.as); got != tt.want {
				t.Errorf("%s: %q, want %q", tt.path, got, tt.want)
			}
		}
		var all callList
		p.Call(t, "GET", "/admin/calls", "", root...).JSON(t, &all)
		team1, adas := all.Data[0].ID, all.Data[2].ID
		awaitContent(t, p, adas, ada)
		for _, tt := range []struct {
			path   string
			as     []string
			status int
			has    string
		}{
			{"/v1/calls/" + adas, ada, 200, `"content":"stored"`}, {"/v1/calls/" + adas, key, 404, "call_not_found"},
			{"/v1/calls/" + adas, bob, 404, "call_not_found"}, {"/v1/calls/" + adas + "/content", bob, 404, "call_not_found"},
			{"/v1/calls/" + adas + "/content", ada, 200, `\"content\":\"hi\"`}, {"/admin/calls/" + adas + "/content", root, 200, "answer"},
			{"/auth/teams/" + team + "/calls/" + team1, bob, 200, `"key":null`},
			{"/auth/teams/" + team + "/calls/" + adas, bob, 404, "call_not_found"},
			{"/auth/teams/" + team + "/calls", ada, 404, "team_not_found"}, {"/admin/calls", ada, 403, "admin_required"},
			{"/v1/calls", nil, 401, "missing"}, {"/v1/calls?user_id=x", ada, 400, "user_id"}, {"/v1/calls?limit=201", ada, 400, "limit"},
			{"/v1/calls?after=x", ada, 400, "after"}, {"/v1/calls?status=9xx", ada, 400, "status"}, {"/v1/calls?from=x", ada, 400, "from"},
			{"/admin/calls/" + adas, root, 200, `"result":"served"`},
		} {
			if a := p.Call(t, "GET", tt.path, "", tt.as...); a.Status != tt.status || !strings.Contains(a.Body, tt.has) {
				t.Errorf("%s: %d %s", tt.path, a.Status, a.Body)
			}
		}
		looks := p.Call(t, "GET", "/admin/audit?action=call.read", "", root...)
		if n := strings.Count(looks.Body, `"target":"`+adas+`"`); n != 2 {
			t.Errorf("%d looks in the audit: %s", n, looks.Body)
		}
	})
}

func TestOnlyFailedCallsAreKeptWithErrors(t *testing.T) {
	t.Parallel()
	upstream := gatewaytest.ServeUpstream(t, newBillingUpstream(t, clients()[0]))
	p := gatewaytest.Start(t, gatewaytest.JWTSecret, "LOG_PROMPTS=errors", "OPENAI_API_KEY=sk-0123456789abcdefghij",
		"OPENAI_BASE_URL="+upstream, "MAX_RETRIES=1",
		"ENCRYPTION_KEY=8c1f5e0a94b7d3620f8e47ac1b95d0ee37f2a861c04d9b7e5518ea72f6390bcd", "HEDGE_AFTER_MS=0")
	root := p.Administrator(t)
	for i, end := range []string{"whole", "failed"} {
		p.Chat(t, clients()[0].body("gpt-6-sol", user+"END-"+end+"-1", false), append([]string{"X-Request-Id", fmt.Sprint("r", i)}, root...)...)
	}
	awaitCalls(t, p, "r1 r0", root)
	var all callList
	p.Call(t, "GET", "/v1/calls", "", root...).JSON(t, &all)
	awaitContent(t, p, all.Data[0].ID, root)
	failed := p.Call(t, "GET", "/admin/calls/"+all.Data[0].ID, "", root...)
	if strings.Count(failed.Body, `"result":"failed"`) != 2 || !strings.Contains(failed.Body, `"status":500`) ||
		!strings.Contains(failed.Body, `"key":"ghij"`) {
		t.Errorf("attempts: %s", failed.Body)
	}
	for path, want := range map[string]string{
		"/v1/calls/" + all.Data[1].ID: `"content":"none"`, "/v1/calls/" + all.Data[0].ID: `"content":"stored"`,
		"/v1/calls/" + all.Data[1].ID + "/content": "call_not_found", "/v1/calls/" + all.Data[0].ID + "/content": "provider_error",
	} {
		if a := p.Call(t, "GET", path, "", root...); !strings.Contains(a.Body, want) {
			t.Errorf("%s: %s", path, a.Body)
		}
	}
}
