package responses

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

// tooLong are the refusals of a prompt that is too long for its model.
func tooLong() map[string]providertest.Script {
	return map[string]providertest.Script{
		"openai": gatewaytest.JSON(400, `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.",`+
			`"type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}`),
		"anthropic": gatewaytest.JSON(400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`),
		"gemini": gatewaytest.JSON(400, `{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",`+
			`"status":"INVALID_ARGUMENT"}}`),
	}
}

// Codex shortens the conversation only where a stream tells it that the prompt is too long.
// The books have the call as it was.
func TestAPromptThatIsTooLongIsToldInTheStream(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "gateway.db")
	p, u := gatewaytest.StartAll(t, "DATABASE_URL=sqlite:"+file)
	for _, f := range gatewaytest.Providers() {
		u[f.Name].Play(tooLong()[f.Name])
		checkTooLong(t, p, file, f, "long-"+f.Name)
		for _, at := range []string{path, compactPath} {
			refused(at, body(f.Model, ""), nil, 400, "invalid_request_error", "context_length_exceeded", "", "false").Check(t, p)
		}
	}
	// OpenAI tells it in its stream as well.
	response := func(status, problem string) string {
		return `"response":{"id":"resp_1","object":"response","created_at":5,"status":"` + status + `","error":` + problem +
			`,"incomplete_details":null,"model":"gpt-4-0613","output":[],"usage":null}}` + "\n\n"
	}
	begun := `event: response.created` + "\n" + `data: {"type":"response.created","sequence_number":0,` + response("in_progress", "null")
	problem := `"code":"context_length_exceeded","message":"Your input exceeds the context window of this model. Please adjust your input and try again."`
	u["openai"].Play(gatewaytest.Events(providertest.Proper, begun,
		`event: error`+"\n"+`data: {"type":"error","error":{"type":"invalid_request_error",`+problem+`,"param":"input"},"sequence_number":1}`+"\n\n",
		`event: response.failed`+"\n"+`data: {"type":"response.failed","sequence_number":2,`+response("failed", "{"+problem+"}")))
	checkTooLong(t, p, file, gatewaytest.Providers()[0], "long-stream")
	if metrics := p.Get(t, "/metrics").Body; !strings.Contains(metrics, `outcome="refused"`) {
		t.Error("the metrics have no refused call")
	}
}

// checkTooLong makes a call that the provider refuses because of its length.
func checkTooLong(t *testing.T, p *gatewaytest.Program, file string, f gatewaytest.Provider, id string) {
	t.Helper()
	a := p.Call(t, "POST", path, body(f.Model, gatewaytest.Streaming), "X-Request-Id", id)
	if a.Status != 200 || a.Err != nil || a.Header.Get("Content-Type") != "text/event-stream; charset=utf-8" ||
		a.Header.Get("X-Gateway-Provider") != f.Name {
		t.Errorf("%s: %d %v %v", id, a.Status, a.Err, a.Header)
	}
	var names []string
	for line := range strings.Lines(a.Body) {
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			names = append(names, strings.TrimSpace(name))
		}
	}
	if got := strings.Join(names, " "); got != "response.created response.in_progress error response.failed" ||
		!strings.Contains(a.Body[strings.LastIndex(a.Body, "event: "):], `"error":{"code":"context_length_exceeded","message":"`) {
		t.Errorf("%s: %s", id, a.Body)
	}
	if row := gatewaytest.AwaitLedgerRow(t, file, id); row.Outcome != "refused" || row.Status != 200 || row.Attempts != 1 || row.Cost != 0 {
		t.Errorf("%s: %+v", id, row)
	}
	gatewaytest.Until(t, "the log has the call", func() bool { return accessLine(p, id) != nil })
	if line := accessLine(p, id); line["code"] != "provider_error" || line["outcome"] != "refused" || line["status"] != 200.0 {
		t.Errorf("%s: %v", id, line)
	}
}

// accessLine is the line of a request in the access log; nil: it is not there.
func accessLine(p *gatewaytest.Program, id string) (found map[string]any) {
	for line := range strings.Lines(p.Log.String()) {
		var fields map[string]any
		if json.Unmarshal([]byte(line), &fields) == nil && fields["msg"] == "request" && fields["request_id"] == id {
			found = fields
		}
	}
	return found
}

// OpenAI's own headers are for its clients; those that tell the operator's account are not.
func TestHeadersOfOpenAIThatItsClientsReadTravel(t *testing.T) {
	t.Parallel()
	p, u := gatewaytest.StartAll(t)
	d := gatewaytest.ResponsesDialect()
	charges := &gatewaytest.Charges{Prompt: 3, Output: 4}
	travel := map[string]string{"Openai-Model": "gpt-4-0613", "Openai-Version": "2020-10-01", "X-Codex-Turn-State": "abc", "X-Models-Etag": `"e"`}
	for members, script := range map[string]providertest.Script{
		"":                    gatewaytest.JSON(200, d.Answer("hi", charges)),
		gatewaytest.Streaming: gatewaytest.Events(providertest.Proper, d.Start(charges), d.Text("hi", charges), d.End(charges)),
	} {
		for name, value := range travel {
			script.Header.Set(name, value)
		}
		for _, name := range []string{"Openai-Organization", "Openai-Project", "X-Ratelimit-Limit-Requests", "Set-Cookie", "Cf-Ray"} {
			script.Header.Set(name, "secret")
		}
		script.Header.Set("X-Request-Id", "req_up")
		script.Header.Set("Openai-Processing-Ms", "999999")
		u["openai"].Play(script)
		a := p.Call(t, "POST", path, body("gpt-4", members))
		for name, value := range travel {
			if a.Header.Get(name) != value {
				t.Errorf("%q: %s is %q", members, name, a.Header.Get(name))
			}
		}
		for name, values := range a.Header {
			if strings.Contains(strings.Join(values, ","), "secret") {
				t.Errorf("%q: %s travels", members, name)
			}
		}
		if h := a.Header; a.Status != 200 || h.Get("X-Upstream-Request-Id") != "req_up" || h.Get("X-Request-Id") == "req_up" ||
			h.Get("Openai-Processing-Ms") == "999999" || h.Get("Openai-Processing-Ms") == "" {
			t.Errorf("%q: %d %v %s", members, a.Status, h, a.Body)
		}
	}
}
