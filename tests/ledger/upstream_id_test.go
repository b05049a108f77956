package ledger

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

// The provider's id of a request is what its support asks for.
func TestUpstreamRequestIDIsInTheHeaderTheLogAndTheLedger(t *testing.T) {
	t.Parallel()
	headers := map[string]string{"openai": "X-Request-Id", "anthropic": "Request-Id", "gemini": "X-Goog-Request-Id"}
	for _, f := range gatewaytest.Providers() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			u, file := providertest.Serve(t), filepath.Join(t.TempDir(), "calls.db")
			p := gatewaytest.Start(t, f.EnvPrefix+"_API_KEY=sk-x", f.EnvPrefix+"_BASE_URL="+u.URL, "DATABASE_URL=sqlite:"+file, "MAX_RETRIES=0")
			for name, tt := range map[string]struct {
				members string
				script  providertest.Script
				id      string
			}{
				"answer":  {"", f.WholeAnswer("", "a"), "req_011CSHoEeqs5C35K2UUqR7Fy"},
				"stream":  {gatewaytest.Streaming, f.WholeAnswer(gatewaytest.Streaming, "a"), "req_2"},
				"refusal": {"", gatewaytest.JSON(400, `{"error":{"message":"no"}}`), "req_3"},
				"failure": {gatewaytest.Streaming, gatewaytest.JSON(503, `{}`), "req_4"},
				"none":    {"", f.WholeAnswer("", "a"), ""},
				"odd":     {"", f.WholeAnswer("", "a"), "not a word"},
			} {
				tt.script.Header.Set(headers[f.Name], tt.id)
				u.Play(tt.script)
				a := p.Chat(t, f.Request(tt.members), "X-Request-Id", name)
				if strings.Contains(tt.id, " ") {
					tt.id = ""
				}
				if got := a.Header.Get("X-Upstream-Request-Id"); got != tt.id {
					t.Errorf("%s: header %q", name, got)
				}
				row := gatewaytest.AwaitLedgerRow(t, file, name)
				if row.UpstreamID != tt.id {
					t.Errorf("%s: not in the ledger", name)
				}
				if got := loggedID(p, name); got != tt.id {
					t.Errorf("%s: log %q", name, got)
				}
			}
		})
	}
}

// loggedID is the upstream's id in the line of a request.
func loggedID(p *gatewaytest.Program, request string) string {
	for line := range strings.Lines(p.Log.String()) {
		var fields map[string]any
		if json.Unmarshal([]byte(line), &fields) == nil && fields["msg"] == "request" && fields["request_id"] == request {
			id, _ := fields["upstream_request_id"].(string)
			return id
		}
	}
	return "no line"
}
