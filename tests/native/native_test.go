// Package native tests that clients of Anthropic's API and Anthropic see each other's bytes.
package native

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"modelgateway/catalog"
	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

const (
	model  = "claude-sonnet-4-5-20250929"
	hi     = `"max_tokens":99,"messages":[{"role":"user","content":"hi"}]`
	answer = `{"id":"msg_1","type":"message","role":"assistant","model":"` + model + `","content":[{"type":"text","text":"fine"}],` +
		`"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":2}}`
)

// event is one event of a stream.
func event(name, members string) string {
	return "event: " + name + "\ndata: {\"type\":\"" + name + "\"" + members + "}\n\n"
}

// started is message_start with this usage.
func started(usage string) string {
	return event("message_start", `,"message":{"id":"msg_1","type":"message","role":"assistant","model":"`+model+
		`","content":[],"stop_reason":null,"stop_sequence":null,"usage":`+usage+`}`)
}

// said is a block with this text, without its end.
func said(text string) string {
	return event("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`) +
		event("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":"`+text+`"}`)
}

// ended is the end of a stream.
func ended() string {
	return event("message_delta", `,"delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":20}`) +
		event("message_stop", "")
}

// gateway starts a gateway for a scripted Anthropic.
func gateway(t *testing.T, settings ...string) (*gatewaytest.Program, *providertest.Upstream) {
	t.Helper()
	u := providertest.Serve(t)
	own := []string{"ANTHROPIC_API_KEY=sk-ant-a", "ANTHROPIC_BASE_URL=" + u.URL, "MAX_RETRIES=0"}
	return gatewaytest.Start(t, append(own, settings...)...), u
}

// post sends a request of the Messages API.
func post(t *testing.T, p *gatewaytest.Program, path, body string, headers ...string) gatewaytest.Answer {
	t.Helper()
	return p.Call(t, http.MethodPost, path, body, headers...)
}

func TestClientAndUpstreamSeeEachOthersBytes(t *testing.T) {
	t.Parallel()
	modelMember := regexp.MustCompile(`"model":"claude-[^"]*"`) // the upstream is sent its own id
	p, u := gateway(t)
	files, err := filepath.Glob("../../providers/anthropic/testdata/requests/*.json")
	if err != nil || len(files) < 9 {
		t.Fatalf("%d requests, %v", len(files), err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		script, want := gatewaytest.JSON(200, answer), answer
		if strings.Contains(string(body), `"stream":true`) {
			want = started(`{"input_tokens":3,"output_tokens":1}`) + ended()
			script = gatewaytest.Events(providertest.Proper, want)
		}
		u.Play(script)
		got := post(t, p, "/v1/messages?beta=true&x=y", string(body), "Anthropic-Version", "2023-06-01", "Anthropic-Beta", "a,new-2030",
			"X-Api-Key", "sk-client", "Cookie", "a=b", "Idempotency-Key", "1", "Anthropic-Workspace-Id", "w", "X-Stainless-Lang", "js")
		sent := u.Requests()
		if got.Status != 200 || got.Body != want || len(sent) != 1 {
			t.Errorf("%s: %d %s", file, got.Status, got.Body)
			continue
		}
		if got := modelMember.ReplaceAllString(string(sent[0].Body), ""); got != modelMember.ReplaceAllString(string(body), "") {
			t.Errorf("%s: %.500s", file, sent[0].Body)
		}
		h := sent[0].Header
		if sent[0].Path != "/v1/messages?beta=true" || h.Get("Anthropic-Beta") != "a,new-2030" || h.Get("X-Api-Key") != "sk-ant-a" {
			t.Errorf("%s: %s %v", file, sent[0].Path, h)
		}
		for _, name := range []string{"Cookie", "Idempotency-Key", "Anthropic-Workspace-Id", "X-Stainless-Lang", "Authorization"} {
			if h.Get(name) != "" {
				t.Errorf("%s: the upstream is sent %s", file, name)
			}
		}
	}
}

func TestRecordedStreamsComeBackThroughTheGateway(t *testing.T) {
	t.Parallel()
	p, u := gateway(t)
	p.Client = gatewaytest.ParallelClient(t) // some recordings are streams that no upstream should send
	whole := 0
	for _, rec := range providertest.Load(t, providertest.Dir()) {
		if rec.Provider != catalog.Anthropic || !rec.Stream || rec.Failed() {
			continue
		}
		script := rec.Script()
		script.Header.Set("Request-Id", "req_1")
		script.Header.Set("Anthropic-Organization-Id", "o")
		script.Header.Set("Anthropic-Ratelimit-Requests-Limit", "7")
		script.Header.Set("Set-Cookie", "a=b")
		script.Header.Set("Retry-After", "9")
		u.Play(script)
		got := post(t, p, "/v1/messages", `{"model":"`+model+`","stream":true,`+hi+`}`)
		if got.Status != 200 {
			continue
		}
		if strings.TrimRight(got.Body, "\n") == strings.TrimRight(string(rec.Body), "\n") { // the empty line at the end may be missing
			whole++
		} else if at := strings.LastIndex(got.Body, "event: error\n"); at < 0 || !providertest.Begins(string(rec.Body), got.Body[:at]) {
			t.Errorf("%s: %d bytes of %d, ending in %q", rec.File, len(got.Body), len(rec.Body), got.Body[max(0, len(got.Body)-200):])
		}
		if got.Header.Get("Request-Id") != "req_1" || got.Header.Get("X-Upstream-Request-Id") != "req_1" {
			t.Errorf("%s: %v", rec.File, got.Header)
		}
		for _, name := range []string{"Anthropic-Organization-Id", "Anthropic-Ratelimit-Requests-Limit", "Set-Cookie", "Retry-After"} {
			if got.Header.Get(name) != "" {
				t.Errorf("%s: the client is sent %s", rec.File, name)
			}
		}
	}
	if whole < 20 {
		t.Errorf("%d streams came back", whole)
	}
}

// Case 33.
func TestAStreamThatIsCutEndsInAnErrorEvent(t *testing.T) {
	t.Parallel()
	p, u := gateway(t)
	start := started(`{"input_tokens":3,"output_tokens":1}`)
	text := said("a")
	for _, end := range []providertest.End{providertest.Proper, providertest.Reset} {
		u.Play(gatewaytest.Events(end, start, text, text[:40]))
		got := post(t, p, "/v1/messages", `{"model":"`+model+`","stream":true,`+hi+`}`)
		rest, ok := strings.CutPrefix(got.Body, start+text+"event: error\n")
		if !ok || !strings.HasPrefix(rest, `data: {"type":"error","error":{"type":"api_error"`) || !strings.HasSuffix(rest, "\n\n") {
			t.Errorf("%d: %v %q", got.Status, got.Err, got.Body)
		}
	}
}

func TestErrorsOfTheUpstreamReachItsClients(t *testing.T) {
	t.Parallel()
	p, u := gateway(t)
	for _, tt := range []struct {
		status int
		kind   string
		passes bool
	}{
		{400, "invalid_request_error", true}, {413, "request_too_large", true}, {429, "rate_limit_error", true},
		{500, "api_error", true}, {529, "overloaded_error", true}, {401, "authentication_error", false}, {403, "permission_error", false},
	} {
		body := `{"type":"error","error":{"type":"` + tt.kind + `","message":"in  its   own words"},"request_id":"req_7"}`
		u.Play(gatewaytest.JSON(tt.status, body))
		for _, members := range []string{"", `"stream":true,`} {
			got := post(t, p, "/v1/messages", `{"model":"`+model+`",`+members+hi+`}`)
			passed := got.Status == tt.status && got.Body == body
			if passed != tt.passes || strings.Contains(got.Body, "own words") != tt.passes {
				t.Errorf("%d: %d %s", tt.status, got.Status, got.Body)
			}
		}
	}
}
