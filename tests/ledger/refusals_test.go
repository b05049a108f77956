package ledger

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

// refusedCalls is a list of refusals.
type refusedCalls struct {
	Data []struct {
		ID        string
		RequestID string `json:"request_id"`
		KeyID     string `json:"key_id"`
		KeyName   string `json:"key_name"`
		UserEmail string `json:"user_email"`
		Reason    string
		Status    int
		Model     string
		Message   string
	}
	HasMore   bool   `json:"has_more"`
	NextAfter string `json:"next_after"`
}

func refusals(t *testing.T, p *gatewaytest.Program, path string, as []string) (list refusedCalls, ids string) {
	t.Helper()
	a := p.Call(t, "GET", path, "", as...)
	if a.JSON(t, &list); a.Status != http.StatusOK {
		t.Fatalf("%s: %d %s", path, a.Status, a.Body)
	}
	var all []string
	for _, r := range list.Data {
		all = append(all, r.RequestID)
	}
	return list, strings.Join(all, " ")
}

func awaitRefusals(t *testing.T, p *gatewaytest.Program, path, want string, as []string) {
	t.Helper()
	got := ""
	defer func() {
		if t.Failed() {
			t.Logf("%s: %q, want %q", path, got, want)
		}
	}()
	gatewaytest.Until(t, "refusals are written", func() bool {
		_, got = refusals(t, p, path, as)
		return got == want
	})
}

// refusedOf are the counts of the usage of today.
func refusedOf(t *testing.T, p *gatewaytest.Program, path string, as []string) map[string]int64 {
	t.Helper()
	var usage struct {
		Refused map[string]int64
		Total   struct{ Calls int64 }
	}
	p.Call(t, "GET", path, "", as...).JSON(t, &usage)
	if usage.Total.Calls != 0 {
		t.Errorf("%s: %d calls, though all were refused", path, usage.Total.Calls)
	}
	return usage.Refused
}

func TestRefusedCallsAreCountedAndListed(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		p := gatewaytest.Start(t, append(settings, "SIMULATOR=true", gatewaytest.JWTSecret, "REQUIRE_AUTH=true", "RATE_LIMIT_RPM=1000",
			"MAX_REQUEST_BYTES=2000")...)
		root, ada := p.Administrator(t), p.SignUp(t, "Ada")
		bob := p.SignUp(t, "Bob")
		_, bobID, _ := strings.Cut(p.Call(t, "GET", "/auth/session", "", bob...).Body, `"id":"`)
		bobID, _, _ = strings.Cut(bobID, `"`)
		team := gatewaytest.Field(t, p.Call(t, "POST", "/admin/teams", `{"name":"t"}`, root...), "id")
		p.Call(t, "POST", "/admin/teams/"+team+"/members", fmt.Sprintf(`{"user_id":%q,"role":"manager"}`, bobID), root...)
		_, free := p.CreateKey(t, ada)
		limited, rpm := p.CreateLimitedKey(t, ada, `"rpm_limit":1`)
		_, spent := p.CreateLimitedKey(t, ada, `"budget_usd":0`)
		_, chosen := p.CreateLimitedKey(t, ada, `"models":["gpt-5"]`)
		gone, revoked := p.CreateKey(t, ada)
		p.Call(t, "DELETE", "/auth/keys/"+gone, "", ada...)
		ofTeam := gatewaytest.Field(t, p.Call(t, "POST", "/auth/teams/"+team+"/keys", `{"name":"service","budget_usd":0}`, bob...), "key")

		const good = `{"model":"gpt-4",` + gatewaytest.HiMessages + `}`
		told := map[string]string{}
		calls := []struct {
			id, key, body string
			status        int
			reason, model string
		}{
			{"expected", rpm, `{"model":"gpt-4","messages":[]}`, 400, "", ""}, // takes the only request of the minute
			{"rate", rpm, good, 429, "rate_limit_exceeded", ""},
			{"budget", spent, good, 402, "budget_exceeded", "gpt-4"},
			{"model", chosen, good, 403, "model_not_allowed", "gpt-4"},
			{"unknown", free, strings.Replace(good, "gpt-4", "nothing", 1), 404, "model_not_found", "nothing"},
			{"json", free, `{"model":`, 400, "invalid_json", ""},
			{"large", free, `{"model":"` + strings.Repeat("x", 2000) + `"}`, 413, "request_too_large", ""},
			{"revoked", revoked, good, 401, "invalid_api_key", ""},
			{"stranger", "mgw-" + strings.Repeat("A", 48), good, 401, "", ""},
			{"none", "", good, 401, "", ""},
			{"team", ofTeam, good, 402, "budget_exceeded", "gpt-4"},
		}
		for _, tt := range calls {
			header := []string{"X-Request-Id", tt.id}
			if tt.key != "" {
				header = append(header, "Authorization", "Bearer "+tt.key)
			}
			a := p.Chat(t, tt.body, header...)
			if a.Status != tt.status {
				t.Errorf("%s: %d %s", tt.id, a.Status, a.Body)
			}
			told[tt.id] = a.Body
		}
		const adas = "revoked large json unknown model budget rate expected"
		awaitRefusals(t, p, "/admin/refusals", "team "+adas, root)
		for _, tt := range calls {
			if tt.reason == "" {
				continue
			}
			list, _ := refusals(t, p, "/admin/refusals?request_id="+tt.id, root)
			if r := list.Data[0]; r.Status != tt.status || r.Reason != tt.reason || r.Model != tt.model || !strings.Contains(told[tt.id], r.Message) {
				t.Errorf("%s: %+v, told was %s", tt.id, r, told[tt.id])
			}
		}
		for _, tt := range []struct {
			path string
			as   []string
			want string
		}{
			{"/v1/refusals", ada, adas}, {"/v1/refusals?reason=budget_exceeded", ada, "budget"}, {"/v1/refusals?model=nothing", ada, "unknown"},
			{"/v1/refusals?limit=2", ada, "revoked large"}, {"/v1/refusals", []string{"Authorization", "Bearer " + free}, "large json unknown"},
			{"/v1/refusals", bob, ""}, {"/v1/refusals?key_id=" + limited, ada, "rate expected"}, {"/v1/refusals?to=2020-01-01", ada, ""},
			{"/auth/teams/" + team + "/refusals", bob, "team"}, {"/admin/refusals", root, "team " + adas},
			{"/admin/refusals?q=ada", root, adas}, {"/admin/refusals?team_id=" + team, root, "team"},
		} {
			if _, got := refusals(t, p, tt.path, tt.as); got != tt.want {
				t.Errorf("%s: %q, want %q", tt.path, got, tt.want)
			}
		}
		var pages []string
		for after := ""; ; {
			list, ids := refusals(t, p, "/v1/refusals?limit=3"+after, ada)
			pages = append(pages, ids)
			if !list.HasMore {
				break
			}
			after = "&after=" + list.NextAfter
		}
		if got := strings.Join(pages, " "); got != adas {
			t.Errorf("by pages: %s", got)
		}
		for path, want := range map[string]string{
			"/v1/refusals?limit=0": "limit", "/v1/refusals?after=x": "after", "/v1/refusals?user_id=x": "user_id", "/v1/refusals?colour=x": "colour",
		} {
			if a := p.Call(t, "GET", path, "", ada...); a.Status != 400 || !strings.Contains(a.Body, want) {
				t.Errorf("%s: %d %s", path, a.Status, a.Body)
			}
		}
		csv := p.Call(t, "GET", "/v1/refusals", "", append([]string{"Accept", "text/csv"}, ada...)...)
		if lines := strings.Split(strings.TrimSpace(csv.Body), "\n"); len(lines) != 9 || !strings.Contains(lines[0], "reason,model,message") {
			t.Errorf("%s", csv.Body)
		}

		// All are counted, also those without a row.
		for range 15 {
			p.Chat(t, good, "Authorization", "Bearer "+spent)
		}
		gatewaytest.Until(t, "all are counted", func() bool { return refusedOf(t, p, "/v1/usage", ada)["budget_exceeded"] == 16 })
		if list, _ := refusals(t, p, "/v1/refusals?reason=budget_exceeded", ada); len(list.Data) < 10 || len(list.Data) > 14 { // a minute may end meanwhile
			t.Errorf("%d rows", len(list.Data))
		}
		if got := refusedOf(t, p, "/admin/usage?previous=true", root); got["budget_exceeded"] != 17 || got["model_not_found"] != 1 || len(got) != 8 {
			t.Errorf("%v", got)
		}
		if got := refusedOf(t, p, "/auth/teams/"+team+"/usage", bob); len(got) != 1 || got["budget_exceeded"] != 1 {
			t.Errorf("%v", got)
		}
		if a := p.Call(t, "GET", "/v1/usage?model=gpt-4", "", ada...); strings.Contains(a.Body, "refused") {
			t.Errorf("of a model, which not all refused calls have: %s", a.Body)
		}
		for path, as := range map[string][]string{"/auth/keys?days=1": ada, "/admin/keys?days=1&team_id=" + team: root} {
			if a := p.Call(t, "GET", path, "", as...); !strings.Contains(a.Body, `"refused_today":{"budget_exceeded":1`) {
				t.Errorf("%s: %s", path, a.Body)
			}
		}
	})
}

// Several replicas write ten rows of a minute together, and their counts add up.
func TestReplicasCountRefusalsTogether(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		if strings.Contains(strings.Join(settings, " "), "sqlite") {
			t.Skip("an embedded database has one process")
		}
		settings = append(settings, "SIMULATOR=true", gatewaytest.JWTSecret, "RATE_LIMIT_RPM=1000")
		one, other := gatewaytest.Start(t, settings...), gatewaytest.Start(t, settings...)
		ada := one.SignUp(t, "Ada")
		_, spent := one.CreateLimitedKey(t, ada, `"budget_usd":0`)
		for range 12 {
			for _, p := range []*gatewaytest.Program{one, other} {
				p.Chat(t, `{"model":"gpt-4",`+gatewaytest.HiMessages+`}`, "Authorization", "Bearer "+spent)
			}
		}
		gatewaytest.Until(t, "both have counted", func() bool { return refusedOf(t, other, "/v1/usage", ada)["budget_exceeded"] == 24 })
		if list, _ := refusals(t, one, "/v1/refusals?limit=100", ada); len(list.Data) < 10 || len(list.Data) > 20 { // of one minute or two
			t.Errorf("%d rows", len(list.Data))
		}
	})
}

func TestAFailedCallHasTheMessageOfItsProvider(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		upstream := gatewaytest.NewFuncUpstream(t)
		p := gatewaytest.Start(t, append(settings, gatewaytest.JWTSecret, "OPENAI_API_KEY=sk-0123456789abcdefghij", "OPENAI_BASE_URL="+upstream.URL,
			"MAX_RETRIES=0", "RATE_LIMIT_RPM=1000")...)
		root, ada := p.Administrator(t), p.SignUp(t, "Ada")
		for _, tt := range []struct {
			id, message            string
			status                 int
			forOwner, forOperators string
		}{
			{"bad", "the tool weather of sk-0123456789abcdefghij is odd", 400, `"the tool weather of [redacted] is odd"`, `"the tool weather of [redacted] is odd"`},
			{"key", "billing of this account is closed", 401, "null", `"billing of this account is closed"`},
			{"long", strings.Repeat("é", 400), 400, `"éé`, `é…"`},
			{"served", "", 200, "null", "null"},
		} {
			upstream.Handle(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(tt.status)
				if tt.status == http.StatusOK {
					_, _ = fmt.Fprint(w, `{"id":"c","object":"chat.completion","created":1,"model":"gpt-4","choices":[{"index":0,"message":`+
						`{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`)
					return
				}
				_, _ = fmt.Fprintf(w, `{"error":{"message":%q,"type":"invalid_request_error","code":"odd"}}`, tt.message)
			})
			p.Chat(t, `{"model":"gpt-4",`+gatewaytest.HiMessages+`}`, append([]string{"X-Request-Id", tt.id}, ada...)...)
			gatewaytest.Until(t, "the call is in the ledger", func() bool { return listed(t, p, "/admin/calls?request_id="+tt.id, root) == tt.id })
			var calls callList
			p.Call(t, "GET", "/admin/calls?request_id="+tt.id, "", root...).JSON(t, &calls)
			for path, want := range map[string]string{"/v1/calls/": tt.forOwner, "/admin/calls/": tt.forOperators} {
				as := ada
				if path == "/admin/calls/" {
					as = root
				}
				a := p.Call(t, "GET", path+calls.Data[0].ID, "", as...)
				_, message, _ := strings.Cut(a.Body, `"provider_message":`)
				if message, _, _ = strings.Cut(message, `,"`); !strings.Contains(message, want) || len(message) > 302 {
					t.Errorf("%s %s: %s, want %s", tt.id, path, message, want)
				}
			}
		}
	})
}
