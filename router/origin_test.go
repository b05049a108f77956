package router

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"modelgateway/llm"
	"modelgateway/models"
	"modelgateway/services/inference"
)

// seen makes requests, and returns what is booked of them.
type seen struct {
	t       *testing.T
	handler http.Handler
	key     string
	call    *inference.Call // the last one
}

func newSeen(t *testing.T) *seen {
	s := &seen{t: t}
	s.handler, s.key = gatewayWith(t, filepath.Join(t.TempDir(), "gateway.db"), func(_ *models.Store, service *inference.Service) {
		service.Answer = func(_ context.Context, c *inference.Call) (llm.Stream, error) {
			s.call = c
			return llm.Single(&llm.Answer{Raw: []byte(`{}`), RawDialect: c.Request().Source.Dialect()}), nil
		}
	})
	return s
}

// send makes a request; the lines of header are names and values.
func (s *seen) send(path, header, body string) (*httptest.ResponseRecorder, *models.Call) {
	s.t.Helper()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	for line := range strings.Lines(header) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			r.Header.Add(name, value)
		}
	}
	r.Header.Set("Authorization", "Bearer "+s.key)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.call = nil
	s.handler.ServeHTTP(w, r)
	if s.call == nil {
		return w, &models.Call{}
	}
	for _, h := range s.call.Request().Beside.Headers {
		if strings.HasPrefix(h.Name, "X-Gateway-") {
			s.t.Errorf("%s is sent to the provider", h.Name)
		}
	}
	return w, s.call.End(s.t.Context(), nil)
}

// errorOf is how an error begins that names the header.
var errorOf = map[string]string{
	"/v1/chat/completions": openAIError, "/v1/responses": openAIError, "/v1/embeddings": openAIError,
	"/v1/messages": `{"type":"error","error":{"type":"invalid_request_error","message":"x-gateway-project: must be a name of 1 to 64 letters`,
}

const openAIError = `{"error":{"type":"invalid_request_error","message":"x-gateway-project must be a name of 1 to 64 letters, digits, ` +
	`spaces and ._-/:","code":"invalid_value","param":"x-gateway-project"`

const (
	ofChat       = `{"model":"gpt-4","messages":[{"role":"user","content":"hi"}]%}`
	ofMessages   = `{"model":"gpt-4","max_tokens":9,"messages":[{"role":"user","content":"hi"}]%}`
	ofResponses  = `{"model":"gpt-4","input":"hi"%}`
	ofEmbeddings = `{"model":"text-embedding-3-small","input":"hi"%}`
)

// routes are those of the dialects, each with a body into which members are put for the %.
var routes = map[string]string{
	"/v1/chat/completions": ofChat, "/v1/messages": ofMessages, "/v1/responses": ofResponses, "/v1/embeddings": ofEmbeddings,
}

func with(body, members string) string { return strings.Replace(body, "%", members, 1) }

// The headers and the members were recorded from these clients (2026-11), but for those of
// sub-agents, which are read from their code.
func TestACallSaysItsSessionItsAgentAndItsProgram(t *testing.T) {
	const claude = "User-Agent: claude-cli/2.1.330 (external, sdk-cli)\nX-App: cli\n"
	const user = `,"metadata":{"user_id":"{\"device_id\":\"00\",\"account_uuid\":\"\",\"session_id\":\"s-1\"}"}`
	const codex = "User-Agent: codex_exec/0.169.0 (Debian 12.0.0; x86_64)\nOriginator: codex_exec\n"
	const opencode = "User-Agent: opencode/1.18.33 ai-sdk/provider-utils/4.0.46 runtime/bun/1.3.14\nX-Session-Affinity: ses_1\nX-Session-Id: ses_1"
	s := newSeen(t)
	for _, tt := range []struct {
		path, header, members string
		want                  models.Call
	}{
		{"/v1/messages", claude + "X-Claude-Code-Session-Id: s-1", user, models.Call{Agent: "claude-code", Session: "s-1"}},
		{"/v1/messages", claude, user, models.Call{Agent: "claude-code", Session: "s-1"}},
		{"/v1/messages", claude + "X-Claude-Code-Session-Id: " + strings.Repeat("s", 129), "", models.Call{Agent: "claude-code"}},
		{
			"/v1/messages", claude + "X-Claude-Code-Session-Id: s-1\nX-Claude-Code-Agent-Id: a-2\nX-Claude-Code-Parent-Agent-Id: a-1", "",
			models.Call{Agent: "claude-code", Session: "s-1", AgentID: "a-2", ParentAgentID: "a-1"},
		},
		{"/v1/messages", "User-Agent: Anthropic/JS 1.12.0", `,"metadata":{"user_id":"ada"}`, models.Call{Agent: "anthropic-js"}},
		{"/v1/messages", opencode, "", models.Call{Agent: "opencode", Session: "ses_1"}},
		{"/v1/chat/completions", opencode, "", models.Call{Agent: "opencode", Session: "ses_1"}},
		{"/v1/responses", opencode, `,"prompt_cache_key":"ses_1"`, models.Call{Agent: "opencode", Session: "ses_1"}},
		{
			"/v1/responses", codex + "Session-Id: t-1\nThread-Id: t-1\nX-Client-Request-Id: t-1", `,"prompt_cache_key":"t-1"`,
			models.Call{Agent: "codex", Session: "t-1"},
		},
		{
			"/v1/responses", codex + "Session-Id: t-1\nThread-Id: t-2\nX-Codex-Parent-Thread-Id: t-1\nX-Openai-Subagent: collab_spawn", "",
			models.Call{Agent: "codex", Session: "t-1", AgentID: "t-2"},
		},
		{
			"/v1/responses", codex + "Session-Id: t-1\nThread-Id: t-3\nX-Codex-Parent-Thread-Id: t-2", "",
			models.Call{Agent: "codex", Session: "t-1", AgentID: "t-3", ParentAgentID: "t-2"},
		},
		{"/v1/responses", codex + "Session_id: t-1", "", models.Call{Agent: "codex", Session: "t-1"}},
		{"/v1/responses", codex, `,"prompt_cache_key":"t-1"`, models.Call{Agent: "codex", Session: "t-1"}},
		{"/v1/responses", "User-Agent: OpenAI/JS 7.57.0\nThread-Id: t-2", `,"prompt_cache_key":"k","metadata":{"user_id":"ada"}`, models.Call{Agent: "openai-js"}},
		{"/v1/embeddings", "User-Agent: OpenAI/Python 2.8.1\nX-Session-Id: job 7", "", models.Call{Agent: "openai-python", Session: "job 7"}},
		{"/v1/chat/completions", "X-Session-Id: \xff\nX-Session-Affinity: a\u202eb\nUser-Agent: Mozilla/5.0 (X11)", "", models.Call{}},
		{"/v1/chat/completions", "", "", models.Call{}},
	} {
		w, row := s.send(tt.path, tt.header, with(routes[tt.path], tt.members))
		got := models.Call{Agent: row.Agent, Session: row.Session, AgentID: row.AgentID, ParentAgentID: row.ParentAgentID, Project: row.Project}
		if w.Code != http.StatusOK || got != tt.want {
			t.Errorf("%s %s %s: status %d, %+v, not %+v", tt.path, tt.header, tt.members, w.Code, got, tt.want)
		}
	}
}

func TestACallSaysItsProject(t *testing.T) {
	s := newSeen(t)
	const ignored = "X-Gateway-Ignored-Params"
	for path, body := range routes {
		w, row := s.send(path, "X-Gateway-Project: web shop", with(body, ""))
		if w.Code != http.StatusOK || row.Project != "web shop" {
			t.Errorf("%s: status %d, %q", path, w.Code, row.Project)
		}
		for _, name := range []string{"<b>", strings.Repeat("a", 65), "\xff"} {
			w, _ = s.send(path, "X-Gateway-Project: "+name, with(body, ""))
			if text := w.Body.String(); w.Code != http.StatusBadRequest || !strings.Contains(text, errorOf[path]) || s.call != nil {
				t.Errorf("%s: status %d, %s", path, w.Code, text)
			}
		}
		if path == "/v1/embeddings" { // it has no metadata
			continue
		}
		w, row = s.send(path, "", with(body, `,"metadata":{"project":"größe"}`))
		if w.Code != http.StatusOK || row.Project != "größe" || strings.Contains(w.Header().Get(ignored), "project") {
			t.Errorf("%s: status %d, %q, %s ignored", path, w.Code, row.Project, w.Header().Get(ignored))
		}
		w, row = s.send(path, "X-Gateway-Project: mine", with(body, `,"metadata":{"project":"<b>"}`))
		if w.Code != http.StatusOK || row.Project != "mine" || strings.Contains(w.Header().Get(ignored), "project") {
			t.Errorf("%s: status %d, %q, %s ignored", path, w.Code, row.Project, w.Header().Get(ignored))
		}
		w, row = s.send(path, "", with(body, `,"metadata":{"project":"<b>"}`))
		if w.Code != http.StatusOK || row.Project != "" || w.Header().Get(ignored) != "metadata.project" || row.Details.Ignored[0] != "metadata.project" {
			t.Errorf("%s: status %d, %q, %s ignored", path, w.Code, row.Project, w.Header().Get(ignored))
		}
		w, _ = s.send(path, "X-Gateway-Strict-Params: true", with(body, `,"metadata":{"project":"<b>"}`))
		if text := w.Body.String(); w.Code != http.StatusBadRequest || !strings.Contains(text, `metadata.project`) {
			t.Errorf("%s: status %d, %s", path, w.Code, text)
		}
	}
}
