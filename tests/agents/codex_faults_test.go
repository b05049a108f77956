package agents

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
)

func TestCodexWaitsForALimit(t *testing.T) {
	for name, headers := range map[string][]string{"with retry-after": {"Retry-After", "1"}, "without": nil} {
		t.Run(name, func(t *testing.T) {
			eachProvider(t, func(t *testing.T, s *session, f provider) {
				s.codexDidTheTask(t, s.codex(t, f.model, task))
				if n := s.front.answers(429, "/v1/responses"); n != 1 {
					t.Errorf("the client saw %d answers of status 429", n)
				}
			}, func(f provider) fault { return refuse(429, f.refusal("slow down", "rate_limit_error"), headers...) })
		})
	}
}

func TestCodexTriesAnOverloadedProviderAgain(t *testing.T) {
	eachProvider(t, func(t *testing.T, s *session, f provider) {
		s.codexDidTheTask(t, s.codex(t, f.model, task))
		if s.front.answers(503, "/v1/responses") == 0 {
			t.Error("the client saw no 503")
		}
	}, func(f provider) fault {
		if f.name == "anthropic" {
			return refuse(529, f.refusal("Overloaded", "overloaded_error"))
		}
		return refuse(503, f.refusal("The model is overloaded", "server_error"))
	})
}

func TestCodexAsksAgainForAnAnswerThatWasCut(t *testing.T) {
	eachProvider(t, func(t *testing.T, s *session, f provider) {
		s.codexDidTheTask(t, s.codex(t, f.model, task))
		if calls := s.upstream.exchanges(); len(calls) != turns+1 || !calls[0].faulty {
			t.Errorf("%d upstream calls", len(calls))
		}
	}, func(f provider) fault {
		// Codex keeps the items that are complete, and OpenAI refuses reasoning that nothing follows.
		return cutBehind(map[string]string{"anthropic": "text_delta", "openai": "reasoning_summary_text.delta", "gemini": `"text"`}[f.name])
	})
}

func TestCodexIsToldThatAPromptIsTooLong(t *testing.T) {
	eachProvider(t, func(t *testing.T, s *session, f provider) {
		r := s.codex(t, f.model, task)
		if !r.failed || r.exit == 0 || !strings.Contains(r.failures, "ran out of room") || len(s.upstream.exchanges()) != 1 {
			t.Errorf("%d upstream calls: %+v", len(s.upstream.exchanges()), r)
		}
	}, func(f provider) fault { return refuse(400, f.overflow) })
}

func TestCodexIsToldOfAModelThatDoesNotExist(t *testing.T) {
	s := providers()[0].start(t, needClients(t), nil)
	r := s.codex(t, "no-such-model", task)
	if !r.failed || !strings.Contains(r.failures, "no-such-model") || s.front.answers(404, "/v1/responses") != 1 {
		t.Errorf("%d answers: %+v", s.front.answers(0, ""), r)
	}
}

func TestCodexEndsWithAWrongKey(t *testing.T) {
	s := providers()[0].start(t, needClients(t), nil, "REQUIRE_AUTH=true", "JWT_SECRET=0f9c2b7a64d18e5330bb1f6ad2c4e8971b")
	r := s.codex(t, "gpt-5.5", task)
	if !r.failed || r.took > 30*time.Second || !strings.Contains(r.failures, "401") || s.front.answers(401, "/v1/responses") == 0 {
		t.Errorf("after %v: %+v", r.took, r)
	}
}

func TestCodexStopsWhereTheBudgetIsSpent(t *testing.T) {
	s := providers()[0].start(t, needClients(t), nil, "REQUIRE_AUTH=true", gatewaytest.JWTSecret)
	_, key := s.program.CreateLimitedKey(t, s.program.Login(t), `"budget_usd":0.000001`)
	s.codexSettings(t, strings.ReplaceAll(codexSettings, `env_key = "GATEWAY_KEY"`, fmt.Sprintf("experimental_bearer_token = %q", key)))
	r := s.runCodex(t, "-m", "gpt-5.5", task)
	if !r.failed || !strings.Contains(r.failures, "Quota exceeded") || s.front.answers(429, "/v1/responses") != 1 {
		t.Errorf("%d answers: %+v", s.front.answers(0, ""), r)
	}
}

func TestBuiltInProviderOfCodexGoesOnWithoutWebSocket(t *testing.T) {
	s := providers()[0].start(t, needClients(t), nil)
	s.logIn(t)
	s.codexDidTheTask(t, s.runCodex(t, "-m", "gpt-5.5", task))
	if n := s.front.answers(http.StatusUpgradeRequired, "/v1/responses"); n != 1 {
		t.Errorf("%d answers ask to do without a WebSocket", n)
	}
}

// logIn lets the built-in provider of Codex reach the gateway.
func (s *session) logIn(t *testing.T) {
	t.Helper()
	s.codexSettings(t, "openai_base_url = \"GATEWAY/v1\"\ncheck_for_update_on_startup = false\n[analytics]\nenabled = false\n")
	login := exec.CommandContext(t.Context(), s.installed("codex"), "login", "--with-api-key")
	login.Stdin, login.Env = strings.NewReader("any"), []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.home}
	if out, err := login.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// TestCodexCompactsItsConversation lets a second question find a conversation that is too
// long: the built-in provider asks for an item that stands for it.
func TestCodexCompactsItsConversation(t *testing.T) {
	eachProvider(t, func(t *testing.T, s *session, f provider) {
		s.logIn(t)
		if r := s.runCodex(t, "-m", "gpt-5.5", "Hello there"); r.failed {
			t.Fatalf("%+v", r)
		}
		r := s.runCodex(t, "resume", "--last", "-m", "gpt-5.5", "-c", "model_auto_compact_token_limit=1000", "What did you do?")
		if r.failed || !strings.Contains(r.text, `You said: "`) {
			t.Errorf("%+v", r)
		}
		calls := s.upstream.exchanges()
		if len(calls) != 3 {
			t.Fatalf("%d upstream calls", len(calls))
		}
		summary := "This is a simulated answer from " + f.model
		if f.name == "openai" {
			summary = `"type":"compaction"`
		}
		if last := calls[2].body; !strings.Contains(last, summary) {
			t.Errorf("the summary is not in %s", last)
		}
		s.upstream.acceptedAll(t)
	})
}
