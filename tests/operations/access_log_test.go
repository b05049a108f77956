package operations

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/longtest"
)

// accessLines returns the access log, each line as its fields.
func accessLines(t testing.TB, p *gatewaytest.Program) (all []map[string]string) {
	t.Helper()
	for line := range strings.Lines(p.Log.String()) {
		fields := map[string]string{}
		if strings.HasPrefix(line, "{") {
			var any map[string]any
			decoder := json.NewDecoder(strings.NewReader(line))
			decoder.UseNumber()
			if err := decoder.Decode(&any); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			for name, value := range any {
				fields[name] = fmt.Sprint(value)
			}
		} else {
			for rest := strings.TrimSpace(line); rest != ""; {
				name, value, ok := strings.Cut(rest, "=")
				if !ok {
					t.Fatalf("%q is no text line", line)
				}
				if strings.HasPrefix(value, `"`) {
					quoted, err := strconv.QuotedPrefix(value)
					if err != nil {
						t.Fatalf("%q: %v", line, err)
					}
					fields[name], _ = strconv.Unquote(quoted)
					rest = strings.TrimPrefix(value[len(quoted):], " ")
					continue
				}
				fields[name], rest, _ = strings.Cut(value, " ")
			}
		}
		if fields["msg"] == "request" {
			all = append(all, fields)
		}
	}
	return all
}

// accessLine waits for the access-log line of a request, and checks that there is
// only one.
func accessLine(t testing.TB, p *gatewaytest.Program, id string) map[string]string {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		var found []map[string]string
		for _, fields := range accessLines(t, p) {
			if fields["request_id"] == id {
				found = append(found, fields)
			}
		}
		if len(found) > 0 {
			if len(found) > 1 {
				t.Errorf("%d lines of %s", len(found), id)
			}
			return found[0]
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s has no line", id)
		}
	}
}

// checkFields checks fields of a line, given as names and values in turn. The
// value - means that the field is absent.
func checkFields(t testing.TB, line map[string]string, want ...string) {
	t.Helper()
	for i := 0; i+1 < len(want); i += 2 {
		got, ok := line[want[i]]
		if want[i+1] == "-" && !ok {
			continue
		}
		if got != want[i+1] || !ok {
			t.Errorf("%s: %s is %q, not %q", line["request_id"], want[i], got, want[i+1])
		}
	}
}

const (
	promptCanary   = "canary-prompt-7d1f"
	answerCanary   = "canary-answer-0b5e"
	collectorToken = "canary-collector-3c"
)

// createLimitedKey creates a key with limits and returns its header.
func createLimitedKey(t testing.TB, p *gatewaytest.Program, token []string, limits string) (id string, bearer []string) {
	t.Helper()
	a := p.Call(t, "POST", "/auth/keys", `{"name":"app",`+limits+`}`, token...)
	if a.Status != 201 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	return gatewaytest.Field(t, a, "id"), []string{"Authorization", "Bearer " + gatewaytest.Field(t, a, "key")}
}

func TestEveryRequestHasOneAccessLogLine(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"json", "text"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			testAccess(t, format)
		})
	}
}

func testAccess(t *testing.T, format string) {
	u := providertest.Serve(t)
	file := t.TempDir() + "/gateway.db"
	settings := []string{
		"DATABASE_URL=sqlite:" + file,
		"LOG_FORMAT=" + format,
		"REQUIRE_AUTH=true",
		gatewaytest.JWTSecret,
		"METRICS_TOKEN=" + collectorToken,
		"MAX_RETRIES=0",
		"FALLBACKS=gpt-4-turbo=gpt-4",
	}
	for _, f := range gatewaytest.Providers() {
		settings = append(settings, f.EnvPrefix+"_API_KEY=sk-canary-upstream-1c", f.EnvPrefix+"_BASE_URL="+u.URL)
	}
	p := gatewaytest.Start(t, settings...)
	token := p.Login(t)
	secrets := []string{promptCanary, answerCanary, collectorToken, "sk-canary-upstream-1c", token[1][len("Bearer "):]}
	keyID, bearer := createLimitedKey(t, p, token, `"tpm_limit":100000000`)
	secrets = append(secrets, bearer[1][len("Bearer "):])
	costs := map[string]string{"openai": "330", "anthropic": "23", "gemini": "11"} // 3 × 30 + 4 × 60; 3 × 1 + 4 × 5; 3 × 0.3 + 4 × 2.5
	owner := ""
	for _, f := range gatewaytest.Providers() {
		for _, streams := range []bool{false, true} {
			id, members := fmt.Sprintf("line-%s-%t", f.Name, streams), ""
			u.Play(gatewaytest.JSON(200, f.Answer(answerCanary)))
			if streams {
				members = gatewaytest.Streaming
				u.Play(gatewaytest.Events(providertest.Proper, f.Start, f.Text(answerCanary), f.End))
			}
			body := `{"model":"` + f.Model + `","messages":[{"role":"user","content":"` + promptCanary + `"}]` + members + `}`
			a := p.Chat(t, body, append(bearer, "X-Request-Id", id)...)
			if a.Status != 200 || !strings.Contains(a.Body, answerCanary) {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
			line := accessLine(t, p, id)
			checkFields(
				t, line, "level", "INFO", "method", "POST", "route", "/v1/chat/completions", "status", "200", "client",
				"127.0.0.1", "provider", f.Name, "key", keyID, "code", "-", "model", f.Model, "outcome", "ok",
				"attempts", "-", "input_tokens", "3", "output_tokens", "4", "estimated", "-", "cost_micro_usd",
				costs[f.Name], "bytes", strconv.Itoa(len(a.Body)),
			)
			if owner == "" {
				owner = line["user"]
			}
			if line["user"] != owner || owner == "" {
				t.Errorf("%v", line)
			}
			row := gatewaytest.AwaitLedgerRow(t, file, id)
			if row.FirstToken < 1 || row.FirstToken > row.Duration || row.Overhead < 1 || row.Overhead > row.FirstToken {
				t.Errorf("%s: %d, %d and %d µs", id, row.FirstToken, row.Duration, row.Overhead)
			}
		}
	}
	u.Play(gatewaytest.JSON(500, `{"error":{"message":"oh"}}`), gatewaytest.JSON(200, gatewaytest.Providers()[0].Answer(answerCanary)))
	p.Chat(
		t,
		`{"model":"gpt-4-turbo","messages":[{"role":"user","content":"`+promptCanary+`"}]}`,
		append(bearer, "X-Request-Id", "stood-in")...)
	checkFields(t, accessLine(t, p, "stood-in"), "status", "200", "model", "gpt-4", "attempts", "2", "cost_micro_usd", "330")
	checkSlowClient(t, p, u, file, bearer)
	checkRefusedRequests(t, p, u, token, keyID, owner, bearer)
	checkInterruptedCalls(t, p, u, bearer)
	for _, path := range []string{"/metrics", "/health", "/livez"} {
		a := p.Call(t, "GET", path+"?key="+promptCanary, "", "X-Request-Id", "probe"+strings.ReplaceAll(path, "/", "-"),
			"Authorization", "Bearer "+collectorToken)
		checkFields(
			t, accessLine(t, p, "probe"+strings.ReplaceAll(path, "/", "-")), "level", "DEBUG", "method", "GET", "route", path, "status",
			strconv.Itoa(a.Status), "user", "-", "key", "-", "model", "-", "outcome", "-", "cost_micro_usd", "-",
			"code", "-",
		)
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	log := p.Log.String()
	for _, secret := range secrets {
		if strings.Contains(log, secret) {
			t.Errorf("the log holds %s…", secret[:12])
		}
	}
	if !strings.Contains(log, "request failed") {
		t.Error("no failure was logged: this test proves little")
	}
}

// checkSlowClient checks the line of a client that sends slowly and gets an answer
// that is forwarded unchanged.
func checkSlowClient(t *testing.T, p *gatewaytest.Program, u *providertest.Upstream, file string, bearer []string) {
	f := gatewaytest.Providers()[0]
	u.Play(
		gatewaytest.JSON(
			200,
			strings.Replace(f.Answer(answerCanary), `},"finish_reason":"stop"`, `,"refusal":null},"finish_reason":"stop"`, 1),
		),
	)
	body, send := io.Pipe()
	const pause = 700 * time.Millisecond
	go func() {
		text := f.Request("")
		_, _ = io.WriteString(send, text[:10])
		time.Sleep(pause)
		_, _ = io.WriteString(send, text[10:])
		_ = send.Close()
	}()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL+"/v1/chat/completions", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(bearer[0], bearer[1])
	req.Header.Set("X-Request-Id", "slow")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	checkFields(t, accessLine(t, p, "slow"), "status", "200", "outcome", "ok", "cost_micro_usd", "330")
	row := gatewaytest.AwaitLedgerRow(t, file, "slow")
	if least := pause.Microseconds() * 9 / 10; row.Duration < least || row.FirstToken < least || row.Overhead > least/2 ||
		row.Overhead < 1 {
		t.Errorf("the client's time is taken for ours: %d, %d and %d µs", row.FirstToken, row.Duration, row.Overhead)
	}
}

// checkRefusedRequests checks the lines of requests that the gateway refuses.
func checkRefusedRequests(t *testing.T, p *gatewaytest.Program, u *providertest.Upstream, token []string, keyID, owner string, bearer []string) {
	u.Play(gatewaytest.JSON(200, gatewaytest.Providers()[0].Answer(answerCanary)))
	poorID, poor := createLimitedKey(t, p, token, `"budget_usd":0`)
	_, narrow := createLimitedKey(t, p, token, `"models":["gemini-2.5-flash"]`)
	slowID, slow := createLimitedKey(t, p, token, `"tpm_limit":1`)
	_, rare := createLimitedKey(t, p, token, `"rpm_limit":1`)
	chat := `{"model":"gpt-4","messages":[{"role":"user","content":"` + promptCanary + `"}]}`
	longtest.AwaitMinute(t, 20*time.Second)
	p.Chat(t, chat, slow...)
	p.Chat(t, chat, rare...)
	for i, tt := range []struct {
		credential, want   []string
		method, path, body string
	}{
		{nil, []string{"status", "401", "code", "missing_credentials", "user", "-", "key", "-", "route", "/v1/chat/completions"}, "POST", "", chat},
		{[]string{"Authorization", "Bearer " + promptCanary}, []string{"status", "401", "code", "invalid_api_key", "user", "-"}, "POST", "", chat},
		{[]string{"Authorization", "Bearer a.b.c"}, []string{"status", "401", "code", "invalid_token", "user", "-"}, "POST", "", chat},
		{poor, []string{"status", "402", "code", "budget_exceeded", "key", poorID, "user", owner, "outcome", "-", "cost_micro_usd", "-", "provider", "openai", "model", "gpt-4"}, "POST", "", chat},
		{narrow, []string{"status", "403", "code", "model_not_allowed", "user", owner, "outcome", "-", "provider", "openai", "model", "gpt-4"}, "POST", "", chat},
		{slow, []string{"status", "429", "code", "rate_limit_exceeded", "key", slowID, "user", owner, "outcome", "-", "model", "gpt-4"}, "POST", "", chat},
		{rare, []string{"status", "429", "code", "rate_limit_exceeded", "user", owner, "outcome", "-", "model", "-"}, "POST", "", chat},
		{bearer, []string{"status", "404", "code", "model_not_found", "key", keyID, "outcome", "-", "model", "nope-17", "param", "model"}, "POST", "", `{"model":"nope-17","messages":[{"role":"user","content":"hi"}]}`},
		{bearer, []string{"status", "400", "code", "invalid_json", "key", keyID, "path", "-"}, "POST", "", `{"model":"` + promptCanary},
		{bearer, []string{"status", "404", "code", "route_not_found", "route", "none", "path", "/v1/v1/chat", "user", "-"}, "POST", "/v1/v1/chat?q=" + promptCanary, chat},
		{bearer, []string{"status", "405", "code", "method_not_allowed", "route", "none", "path", "/v1/chat/completions"}, "PUT", "", chat},
		{bearer, []string{"status", "400", "code", "invalid_value", "param", "temperature", "message", "temperature must be between 0 and 2, not 3"}, "POST", "", strings.Replace(chat, "{", `{"temperature":3,`, 1)},
		{token, []string{"status", "403", "code", "admin_required"}, "GET", "/admin/users", ""},
		{nil, []string{"status", "401", "code", "invalid_credentials", "route", "/auth/login"}, "POST", "/auth/login", `{"email":"ada@example.com","password":"` + promptCanary + `"}`},
	} {
		id := fmt.Sprintf("refused-%d", i)
		path := tt.path
		if path == "" {
			path = "/v1/chat/completions"
		}
		a := p.Call(t, tt.method, path, tt.body, append([]string{"X-Request-Id", id}, tt.credential...)...)
		line := accessLine(t, p, id)
		if checkFields(t, line, tt.want...); line["status"] != strconv.Itoa(a.Status) || line["method"] != tt.method {
			t.Errorf("%d: %v", a.Status, line)
		}
	}
}

// checkInterruptedCalls checks the lines of calls that fail or break off.
func checkInterruptedCalls(t *testing.T, p *gatewaytest.Program, u *providertest.Upstream, bearer []string) {
	f := gatewaytest.Providers()[0]
	chat := func(members string) string {
		return `{"model":"gpt-4","messages":[{"role":"user","content":"` + promptCanary + `"}]` + members + `}`
	}
	for id, tt := range map[string]struct {
		script  providertest.Script
		members string
		want    []string
	}{
		"refuses":  {gatewaytest.JSON(400, `{"error":{"message":"no `+promptCanary+`"}}`), "", []string{"status", "400", "code", "provider_error", "message", "-", "outcome", "refused", "input_tokens", "0", "cost_micro_usd", "0"}},
		"fails":    {gatewaytest.JSON(500, `{"error":{"message":"oh"}}`), "", []string{"status", "502", "code", "provider_error", "outcome", "provider_error", "provider", "openai", "model", "gpt-4", "cost_micro_usd", "0"}},
		"nonsense": {gatewaytest.JSON(200, `{"id":"x","object":"chat.completion","created":5,"model":"m","choices":"`+answerCanary+`"}`), "", []string{"status", "502", "code", "provider_error", "outcome", "provider_error"}},
		"breaks":   {gatewaytest.Events(providertest.Reset, f.Start, f.Text(answerCanary)), gatewaytest.Streaming, []string{"status", "200", "code", "provider_error", "outcome", "provider_error", "estimated", "true"}},
		"babbles":  {gatewaytest.Events(providertest.Proper, f.Start, "data: {\"choices\":\""+answerCanary+"\"}\n\n"), gatewaytest.Streaming, []string{"status", "200", "code", "provider_error", "outcome", "provider_error"}},
		"mumbles":  {gatewaytest.Events(providertest.Proper, f.Start, "data: "+answerCanary+"\n\n"), gatewaytest.Streaming, []string{"status", "200", "code", "provider_error", "outcome", "provider_error"}},
	} {
		u.Play(tt.script)
		req, err := http.NewRequestWithContext(
			t.Context(), http.MethodPost, p.URL+"/v1/chat/completions", strings.NewReader(chat(tt.members)),
		)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set(bearer[0], bearer[1])
		req.Header.Set("X-Request-Id", "broken-"+id)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewReader(resp.Body); err == nil; {
			_, err = lines.ReadString('\n')
		}
		_ = resp.Body.Close()
		checkFields(t, accessLine(t, p, "broken-"+id), tt.want...)
	}
	// A client that leaves before the answer begins.
	u.Play(providertest.Script{End: providertest.Hold})
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL+"/v1/chat/completions", strings.NewReader(chat("")))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(bearer[0], bearer[1])
	req.Header.Set("X-Request-Id", "broken-left")
	go func() {
		for len(u.Requests()) == 0 {
			time.Sleep(5 * time.Millisecond)
		}
		leave()
	}()
	if _, err := http.DefaultClient.Do(req); err == nil { //nolint:bodyclose // there is none
		t.Error("it was answered")
	}
	checkFields(t, accessLine(t, p, "broken-left"), "status", "499", "code", "-", "outcome", "client_gone", "estimated", "true", "output_tokens", "0")
}
