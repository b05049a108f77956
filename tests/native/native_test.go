// Package native tests that clients of an API and the provider that speaks it see each other's bytes.
package native

import (
	"cmp"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

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

// api is one that a provider speaks as well.
type api struct {
	name, path, model, prompt string
	start                     func(t *testing.T, settings ...string) (*gatewaytest.Program, *providertest.Upstream)
	keys                      string // a setting with three
	answer, stream            string
	asSent                    func(t *testing.T, body string) string // an answer to a client, as the upstream has sent it
}

func apis() []api {
	return []api{
		{"messages", "/v1/messages", model, hi, gateway, "ANTHROPIC_API_KEY=sk-ant-a,sk-ant-b,sk-ant-c", answer,
			started(`{"input_tokens":30,"output_tokens":1}`) + ended(), func(_ *testing.T, body string) string { return body }},
		{"responses", responsesPath, openAIModel, `"input":"hi"`, openAI, "OPENAI_API_KEY=sk-oai-a,sk-oai-b,sk-oai-c", response,
			began() + wrote("fine") + whole(), asSent},
	}
}

func (a api) body(members string) string {
	return `{"model":"` + a.model + `",` + members + a.prompt + `}`
}

// each runs a test for every API in parallel.
func each(t *testing.T, test func(t *testing.T, a api)) {
	t.Parallel()
	for _, a := range apis() {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			test(t, a)
		})
	}
}

// traffic is what an API's requests and the headers of its calls become.
type traffic struct {
	requests      []string          // files
	own           *regexp.Regexp    // the model in them, of which the upstream is sent its own id
	query         string            // the part that travels
	sent, dropped map[string]string // headers of the client's
	credential    string            // the upstream's
	back          map[string]string // headers of the upstream, and what the client gets of them
}

func trafficOf(name string) traffic {
	if name == "messages" {
		return traffic{
			[]string{"../../providers/anthropic/testdata/requests/*.json", "../messages/testdata/agents/*.json"},
			regexp.MustCompile(`"model": ?"claude-[^"]*"`), "?beta=true",
			map[string]string{"Anthropic-Version": "2023-06-01", "Anthropic-Beta": "a,new-2030"},
			map[string]string{"X-Api-Key": "sk-client", "Cookie": "a=b", "Idempotency-Key": "1", "Anthropic-Workspace-Id": "w",
				"X-Stainless-Lang": "js"},
			"X-Api-Key: sk-ant-a",
			map[string]string{"Request-Id": "req_1", "Anthropic-Organization-Id": "", "Anthropic-Ratelimit-Requests-Limit": "",
				"Set-Cookie": "", "Retry-After": ""},
		}
	}
	return traffic{
		[]string{"../../dialects/responses/testdata/requests/*.json"}, regexp.MustCompile(`"model": ?"[^"]*"`), "?include=a",
		map[string]string{"Originator": "codex", "Session_id": "s", "X-Codex-Turn-Metadata": "{}", "Openai-Beta": "b"},
		map[string]string{"Authorization": "Bearer sk-client", "Cookie": "a=b", "Idempotency-Key": "1", "Openai-Project": "p",
			"Openai-Organization": "o", "X-Stainless-Lang": "js"},
		"Authorization: Bearer sk-oai-a",
		map[string]string{"X-Codex-Turn-State": "s", "Openai-Model": "m", "X-Models-Etag": "e", "Openai-Organization": "",
			"X-Ratelimit-Limit-Requests": "", "Set-Cookie": "", "Retry-After": ""},
	}
}

// bodies are the captured requests of files.
func (tr traffic) bodies(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range tr.requests {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) < 5 {
			t.Fatalf("%d requests, %v", len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var captured struct{ Body json.RawMessage }
			if json.Unmarshal(text, &captured) == nil && captured.Body != nil {
				text = captured.Body
			}
			if tr.own.Match(text) {
				all[file] = string(text)
			}
		}
	}
	return all
}

// Not one byte of a body or an answer changes, but for the model and the ids that are the client's own.
func TestClientAndUpstreamSeeEachOthersBytes(t *testing.T) {
	each(t, func(t *testing.T, a api) {
		p, u := a.start(t)
		tr := trafficOf(a.name)
		headers := []string{}
		for _, of := range []map[string]string{tr.sent, tr.dropped} {
			for name, value := range of {
				headers = append(headers, name, value)
			}
		}
		bodies := tr.bodies(t)
		if len(bodies) < 7 {
			t.Errorf("%d requests", len(bodies))
		}
		for file, body := range bodies {
			body = tr.own.ReplaceAllString(body, `"model":"`+a.model+`"`)
			script, want := gatewaytest.JSON(200, a.answer), a.answer
			if regexp.MustCompile(`"stream": ?true`).MatchString(body) {
				script, want = gatewaytest.Events(providertest.Proper, a.stream), a.stream
			}
			script.Header.Set("X-Request-Id", "req_1")
			for name, value := range tr.back {
				script.Header.Set(name, cmp.Or(value, "9"))
			}
			u.Play(script)
			got := post(t, p, a.path+tr.query+"&x=y", body, headers...)
			sent := u.Requests()
			if got.Status != 200 || a.asSent(t, got.Body) != want || len(sent) != 1 {
				t.Errorf("%s: %d %s", file, got.Status, got.Body)
				continue
			}
			if got := tr.own.ReplaceAllString(string(sent[0].Body), ""); got != tr.own.ReplaceAllString(body, "") {
				t.Errorf("%s: %.500s", file, sent[0].Body)
			}
			credential, key, _ := strings.Cut(tr.credential, ": ")
			if sent[0].Path != a.path+tr.query || sent[0].Header.Get(credential) != key || got.Header.Get("X-Upstream-Request-Id") != "req_1" {
				t.Errorf("%s: %s %v, %v", file, sent[0].Path, sent[0].Header, got.Header)
			}
			for name, value := range tr.sent {
				if h := sent[0].Header.Get(name); h != value {
					t.Errorf("%s: the upstream is sent %q as %s", file, h, name)
				}
			}
			for name := range tr.dropped {
				if name != credential && sent[0].Header.Get(name) != "" {
					t.Errorf("%s: the upstream is sent %s", file, name)
				}
			}
			for name, value := range tr.back {
				if got.Header.Get(name) != value {
					t.Errorf("%s: %s is %q, not %q", file, name, got.Header.Get(name), value)
				}
			}
		}
	})
}
