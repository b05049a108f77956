package agents

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/litellmtest"
)

// Clients that called a LiteLLM call a gateway that took it over, with the same keys and the same names of models.
func TestClientsOfLiteLLMGoOn(t *testing.T) {
	folder := needClients(t)
	for owner, of := range map[string]struct{ user, team bool }{"user": {true, false}, "team": {true, true}} {
		t.Run(owner, func(t *testing.T) {
			t.Parallel()
			s, company := startAfterLiteLLM(t, folder)
			k := company.FreeKey(t, of.user, of.team)

			o := s.run(t, nil, "node", filepath.Join(s.clients, scripts, "litellm.mjs"), s.front.url, k.Text)
			calls, err := strconv.Atoi(strings.TrimSpace(o.out))
			if o.exit != 0 || err != nil || calls != 13 {
				t.Errorf("exit code %d: %s%s", o.exit, o.out, o.faults)
			}
			s.calledNoOther(t)

			for model, credential := range map[string][]string{ // a name that LiteLLM had, and one of its pattern anthropic/*
				"claude-sonnet": {"ANTHROPIC_AUTH_TOKEN=" + k.Text}, "claude-opus-5-5": {"ANTHROPIC_AUTH_TOKEN=", "ANTHROPIC_API_KEY=" + k.Text},
			} {
				s.work = t.TempDir()
				s.didTheTask(t, s.claude(t, task, append(credential, "ANTHROPIC_MODEL="+model)...))
			}
			s.work = t.TempDir()
			s.codexSettings(t, codexSettings)
			o = s.run(t, []string{"GATEWAY_KEY=" + k.Text, s.path()}, s.installed("codex"),
				"exec", "--json", "--skip-git-repo-check", "--sandbox", "danger-full-access", "-m", "gpt-4o", task)
			s.hasTheFile(t)
			if o.exit != 0 || !strings.Contains(o.out, done) {
				t.Errorf("exit code %d: %s%s", o.exit, o.out, o.faults)
			}
			s.isBookedFor(t, k)
		})
	}
}

// startAfterLiteLLM starts a session with a gateway that has taken over a LiteLLM, and runs with the files that this wrote.
func startAfterLiteLLM(t *testing.T, clients string) (*session, *litellmtest.Company) {
	t.Helper()
	d, u := litellmtest.Create(t, "newest"), startUpstream(t)
	company := d.Fill(t)
	s := startSession(t, clients, func(settings ...string) *gatewaytest.Program {
		return gatewaytest.Start(t, d.TakeOver(t, settings)...)
	}, "REQUIRE_AUTH=true", gatewaytest.JWTSecret, "OPENAI_API_KEY=sk-upstream",
		"OPENAI_BASE_URL="+u.url, "ANTHROPIC_BASE_URL="+u.url, "GEMINI_BASE_URL="+u.url)
	s.upstream = u
	return s, company
}

// isBookedFor requires a row of the ledger for each answer of the upstream, under the key and those whose it is. For a name that Claude
// Code does not know, the upstream first refuses what the model behind it does not have.
func (s *session) isBookedFor(t *testing.T, k *litellmtest.Key) {
	t.Helper()
	db := gatewaytest.OpenSQL(t, "sqlite:"+s.database)
	id := func(kind, foreign string) string {
		return fmt.Sprintf("COALESCE((SELECT id FROM takeovers WHERE kind = '%s' AND foreign_id = '%s' AND foreign_id <> ''), '')", kind, foreign)
	}
	var want int64
	for _, e := range s.upstream.exchanges() {
		if e.status == http.StatusOK {
			want++
		}
	}
	gatewaytest.Until(t, "the ledger has every call", func() bool {
		return gatewaytest.Sum(t, db, "SELECT count(*) FROM ledger_calls WHERE status = 200 AND input_tokens > 0 AND key_id = "+id("key", k.Token)+
			" AND user_id = "+id("user", k.UserID)+" AND team_id = "+id("team", k.TeamID)) == want
	})
}
