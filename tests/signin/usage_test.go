package signin

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
)

const unified = "Anthropic-Ratelimit-Unified-"

// A program that is signed in sees how much of the fullest budget is used, and is refused in the form of its protocol
// when it is spent. Keys get what they always got.
func TestBudgetIsToldInHeadersOfTheProtocol(t *testing.T) {
	t.Parallel()
	u := gatewaytest.NewPricedUpstream(t)
	p := gatewaytest.Start(t, u.Settings("RATE_LIMIT_RPM=0", "AUTH_RATE_LIMIT_RPM=0")...)
	root := p.Administrator(t)
	team := gatewaytest.Field(t, p.Patiently(t, "/admin/teams", `{"name":"Research","budget_usd":0.1,"budget_window":"month"}`, root...), "id")
	me := userOf(t, p, root, "root")
	p.Call(t, "POST", "/admin/teams/"+team+"/members", `{"user_id":"`+me+`"}`, root...)
	s, own := signIn(t, p, root, team), signIn(t, p, root, "")
	_, key := p.CreateLimitedKey(t, root, `"team_id":"`+team+`"`)
	request := func(s tokens) gatewaytest.Answer {
		return p.Patiently(t, messages, `{"model":"gpt-4","max_tokens":30,"messages":[{"role":"user","content":"PAY-10-20-spend"}]}`, s.header()...)
	}
	has := func(a gatewaytest.Answer, want map[string]string) {
		t.Helper()
		for name, value := range want {
			if got := a.Header.Get(unified + name); got != value {
				t.Errorf("%s: %q, not %q", name, got, value)
			}
		}
	}
	if a := request(own); a.Status != 200 || a.Header.Get(unified+"Status") != "" { // no budget
		t.Errorf("%d %s %v", a.Status, a.Body, a.Header)
	}
	reset := time.Now().UTC()
	reset = time.Date(reset.Year(), reset.Month()+1, 1, 0, 0, 0, 0, time.UTC)
	seconds := strconv.FormatInt(reset.Unix(), 10)
	var refused gatewaytest.Answer
	notices := map[string]bool{}
	for range 100 {
		if refused = request(s); refused.Status != 200 {
			break
		}
		has(refused, map[string]string{
			"Representative-Claim": "overage", "Reset": seconds, "Overage-Reset": seconds, "Overage-Status": refused.Header.Get(unified + "Status"),
		})
		notices[refused.Header.Get(unified+"Overage-Surpassed-Threshold")] = true
		time.Sleep(50 * time.Millisecond) // the ledger writes
	}
	if !notices[""] || !notices["0.75"] {
		t.Errorf("notices: %v", notices)
	}
	if refused.Status != 429 || refused.Problem(t).Error.Type != "billing_error" || refused.Header.Get("X-Should-Retry") != "false" {
		t.Errorf("%d %s", refused.Status, refused.Body)
	}
	has(refused, map[string]string{
		"Status": "rejected", "Reset": seconds, "Overage-Reset": seconds, "Overage-Utilization": "1", "Overage-Surpassed-Threshold": "1",
		"Overage-Period": "monthly", "Overage-Disabled-Reason": "org_spend_cap_reached", "Representative-Claim": "", "Overage-Status": "",
	})
	if wait, err := strconv.ParseInt(refused.Header.Get("Retry-After"), 10, 64); err != nil || time.Until(reset)-time.Duration(wait)*time.Second > time.Minute {
		t.Errorf("retry-after %s", refused.Header.Get("Retry-After"))
	}
	usage := p.Call(t, http.MethodGet, "/api/oauth/usage", "", s.header()...)
	var shown struct {
		Extra struct {
			Limit float64 `json:"monthly_limit"`
			Used  float64 `json:"used_credits"`
		} `json:"extra_usage"`
		Limits []struct {
			Group  string
			Resets time.Time `json:"resets_at"`
			Active bool      `json:"is_active"`
		}
	}
	usage.JSON(t, &shown)
	if shown.Extra.Limit != 10 || shown.Extra.Used < 5 || len(shown.Limits) != 1 || !shown.Limits[0].Resets.Equal(reset) || !shown.Limits[0].Active {
		t.Errorf("%s", usage.Body)
	}
	if a := p.Call(t, http.MethodGet, "/api/oauth/usage", "", own.header()...); !strings.Contains(a.Body, `"monthly_limit":null`) || !strings.Contains(a.Body, `"daily":{`) {
		t.Errorf("%s", a.Body)
	}
	if a := p.Call(t, "PATCH", "/admin/teams/"+team, `{"budget_window":"total"}`, root...); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	gatewaytest.Until(t, "the budget does not begin again", func() bool {
		refused = request(s)
		return refused.Header.Get(unified+"Status") == "rejected" && refused.Header.Get(unified+"Reset") == ""
	})
	has(refused, map[string]string{"Status": "rejected", "Overage-Reset": "", "Overage-Period": "", "Overage-Disabled-Reason": "org_spend_cap_reached"})
	var keyed gatewaytest.Answer
	gatewaytest.Until(t, "no call holds what is left", func() bool {
		keyed = p.Patiently(t, messages, `{"model":"gpt-4","max_tokens":30,"messages":[{"role":"user","content":"PAY-10-20-spend"}]}`, "X-Api-Key", key)
		return keyed.Status == 402
	})
	if keyed.Header.Get(unified+"Status") != "" {
		t.Errorf("with a key: %d %v", keyed.Status, keyed.Header)
	}
}

// What a user may not call is 400 for a program that is signed in, and is not listed; models of others have names
// that Claude Code shows.
func TestModelsOfAProgramThatIsSignedIn(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, settings("MODEL_DISCOVERY=true")...)
	root := p.Administrator(t)
	me := userOf(t, p, root, "root")
	s := signIn(t, p, root, "")
	version := append(s.header(), "Anthropic-Version", "2023-06-01")
	var list gatewaytest.Answer
	gatewaytest.Until(t, "the models of all providers are known", func() bool {
		list = p.Call(t, http.MethodGet, "/v1/models?limit=1000", "", version...)
		return strings.Contains(list.Body, "sonnet-5") && strings.Contains(list.Body, "gpt-6") && strings.Contains(list.Body, "gemini-3.5")
	})
	for _, name := range []string{`"id":"claude-sonnet-5"`, `"id":"claude-via-gpt-6-sol"`, `"id":"claude-via-gemini-3.5-flash"`} {
		if !strings.Contains(list.Body, name) {
			t.Errorf("%s is not in the list: %.200s", name, list.Body)
		}
	}
	if strings.Contains(list.Body, `"id":"gpt-`) {
		t.Error("the list has names that Claude Code leaves out")
	}
	via := strings.Replace(hello, "claude-sonnet-5", "claude-via-gpt-6-sol", 1)
	if a := call(t, p, s, via); a.Status != 200 || a.Header.Get("X-Gateway-Provider") != "openai" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := p.Call(t, http.MethodGet, "/v1/models/claude-via-gpt-6-sol", "", version...); a.Status != 200 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := p.Call(t, "PATCH", "/admin/users/"+me, `{"models":["claude-*"]}`, root...); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	gatewaytest.Until(t, "the limit holds", func() bool { return call(t, p, s, via).Status == 400 })
	for _, body := range []string{via, strings.Replace(hello, "claude-sonnet-5", "gpt-6-sol", 1)} {
		if a := call(t, p, s, body); a.Status != 400 || a.Problem(t).Error.Type != "invalid_request_error" {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	}
	_, key := p.CreateKey(t, root)
	if a := p.Patiently(t, messages, via, "X-Api-Key", key); a.Status != 403 {
		t.Errorf("with a key: %d %s", a.Status, a.Body)
	}
	safe := strings.Replace(hello, `"max_tokens"`, `"safeguards":{"type":"auto"},"max_tokens"`, 1)
	if a := call(t, p, s, safe); a.Status != 200 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	p.Call(t, "PATCH", "/admin/users/"+me, `{"models":null}`, root...)
	gatewaytest.Until(t, "the limit has ended", func() bool { return call(t, p, s, via).Status == 200 })
	safe = strings.Replace(safe, "claude-sonnet-5", "gpt-6-sol", 1)
	if a := call(t, p, s, safe); a.Status != 400 || !strings.Contains(a.Problem(t).Error.Message, "safeguards") {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

// Administrators set what Claude Code is set to, for a team or for all.
func TestSettingsOfAgents(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, settings()...)
	root := p.Administrator(t)
	team := gatewaytest.Field(t, p.Patiently(t, "/admin/teams", `{"name":"Research"}`, root...), "id")
	p.Call(t, "POST", "/admin/teams/"+team+"/members", `{"user_id":"`+userOf(t, p, root, "root")+`"}`, root...)
	s, own, bob := signIn(t, p, root, team), signIn(t, p, root, ""), p.SignUp(t, "bob")
	read := func(s tokens, headers ...string) gatewaytest.Answer {
		return p.Call(t, http.MethodGet, "/managed/settings", "", append(headers, s.header()...)...)
	}
	const usual, ours = `{"env":{"CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY":"1"}}`, `{"permissions":{"deny":["WebFetch"]},"env":{"B":"2","A":"1"},"n":1.50}`
	a := read(s)
	checkSettings(t, a, usual, usual)
	if a = read(s, "If-None-Match", a.Header.Get("Etag")); a.Status != 304 || a.Body != "" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a = read(s, "If-None-Match", "*"); a.Status != 200 {
		t.Errorf("%d", a.Status)
	}
	set := func(path, settings string, by []string, want int) {
		t.Helper()
		method, body := http.MethodPut, `{"settings":`+settings+`}`
		if settings == "" {
			method, body = http.MethodDelete, ""
		}
		if a := p.Call(t, method, path+"/agent-settings", body, by...); a.Status != want {
			t.Errorf("%s %s: %d %s", path, settings, a.Status, a.Body)
		}
	}
	for _, wrong := range []string{`[]`, `"text"`, `null`, `{"env":{"A":1}}`, `{"env":[]}`} {
		set("/admin", wrong, root, 400)
	}
	set("/admin", usual, bob, 403)
	set("/admin/teams/"+team, usual, bob, 403)
	set("/admin/teams/team_QZ3M5T2JXH4V6N7ABCDEFGHIJK", usual, root, 404)
	set("/admin", `{"env":{"ALL":"1"}}`, root, 200)
	checkSettings(t, read(s), `{"env":{"ALL":"1"}}`, `{"env":{"ALL":"1"}}`)
	set("/admin/teams/"+team, ours, root, 200)
	checkSettings(t, read(s), ours, `{"env":{"A":"1","B":"2"},"n":1.5,"permissions":{"deny":["WebFetch"]}}`)
	checkSettings(t, read(own), `{"env":{"ALL":"1"}}`, `{"env":{"ALL":"1"}}`)
	set("/admin/teams/"+team, `{}`, root, 200) // an empty policy is one
	checkSettings(t, read(s), `{}`, `{}`)
	set("/admin/teams/"+team, "", root, 200)
	set("/admin", "", root, 200)
	checkSettings(t, read(s), usual, usual)
	if a := p.Call(t, "GET", "/admin/audit?action=agent_settings.set", "", root...); strings.Count(a.Body, `"action":"agent_settings.set"`) != 5 || !strings.Contains(a.Body, "WebFetch") {
		t.Errorf("%s", a.Body)
	}
	_, key := p.CreateKey(t, root)
	if a := p.Call(t, http.MethodGet, "/managed/settings", "", "Authorization", "Bearer "+key); a.Status != 404 {
		t.Errorf("with a key: %d", a.Status)
	}
}

// checkSettings compares the settings, and their checksum with that of the canonical text.
func checkSettings(t *testing.T, a gatewaytest.Answer, settings, canonical string) {
	t.Helper()
	sum := sha256.Sum256([]byte(canonical))
	want := "sha256:" + hex.EncodeToString(sum[:])
	if a.Status != 200 || !strings.Contains(a.Body, `"settings":`+settings+`}`) || gatewaytest.Field(t, a, "checksum") != want || a.Header.Get("Etag") != `"`+want+`"` {
		t.Errorf("%d %s %s, not %s %s", a.Status, a.Body, a.Header.Get("Etag"), settings, want)
	}
}

// What programs tell of themselves goes to the collector of the gateway's own spans.
func TestTelemetryIsPassedOn(t *testing.T) {
	t.Parallel()
	collector := gatewaytest.NewFuncUpstream(t)
	got := make(chan string, 100)
	collector.Handle(func(_ http.ResponseWriter, r *http.Request) {
		got <- r.Method + " " + r.URL.Path + " " + r.Header.Get("Content-Type") + " " + r.Header.Get("X-Collector") + " " + r.Header.Get("Authorization")
	})
	p := gatewaytest.Start(t, settings("OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL, "OTEL_EXPORTER_OTLP_HEADERS=x-collector=secret", "OTEL_TRACES_SAMPLER=always_off")...)
	s := signIn(t, p, p.Login(t), "")
	for _, signal := range []string{"metrics", "logs", "traces"} {
		if a := p.Call(t, http.MethodPost, "/v1/"+signal, `{}`, s.header()...); a.Status != 200 {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		select {
		case text := <-got:
			if text != "POST /v1/"+signal+" application/json secret " {
				t.Errorf("%q", text)
			}
		case <-time.After(gatewaytest.Patience):
			t.Fatalf("no %s", signal)
		}
	}
	if a := p.Call(t, http.MethodPost, "/v1/logs", `{}`); a.Status != 401 {
		t.Errorf("a stranger: %d", a.Status)
	}
}
