package agents

import (
	"strings"
	"testing"
	"time"
)

func TestRateLimitWithRetryAfterIsWaitedFor(t *testing.T) {
	eachProvider(t, func(t *testing.T, s *session, f provider) {
		s.didTheTask(t, s.claude(t, task))
		if s.front.answers(429, "/v1/messages") == 0 {
			t.Error("the client saw no 429")
		}
	}, func(f provider) fault {
		return refuse(429, f.refusal("slow down", "rate_limit_error"), "Retry-After", "1")
	})
}

func TestOverloadIsTriedAgain(t *testing.T) {
	eachProvider(t, func(t *testing.T, s *session, f provider) {
		s.didTheTask(t, s.claude(t, task))
		if s.front.answers(529, "/v1/messages") == 0 {
			t.Error("the client saw no 529")
		}
	}, func(f provider) fault {
		if f.name == "anthropic" {
			return refuse(529, f.refusal("Overloaded", "overloaded_error"))
		}
		return refuse(503, f.refusal("The model is overloaded", "server_error"))
	})
}

func TestAnswerCutInTheMiddleIsAskedForAgain(t *testing.T) {
	eachProvider(t, func(t *testing.T, s *session, _ provider) {
		s.didTheTask(t, s.claude(t, task))
		if calls := s.upstream.exchanges(); len(calls) != turns+1 || !calls[0].faulty {
			t.Errorf("%d upstream calls", len(calls))
		}
		if n := s.front.answers(200, "/v1/messages"); n != turns+1 {
			t.Errorf("%d answers began, the one that was cut included", n)
		}
	}, func(f provider) fault {
		return cutBehind(map[string]string{"anthropic": "text_delta", "openai": "output_text.delta", "gemini": `"text"`}[f.name])
	})
}

func TestPromptThatIsTooLongIsTold(t *testing.T) {
	eachProvider(t, func(t *testing.T, s *session, _ provider) {
		r := s.claude(t, task)
		if !r.IsError || r.exit == 0 || !strings.Contains(strings.ToLower(r.Text), "prompt is too long") {
			t.Errorf("exit code %d: %+v", r.exit, r)
		}
		if n := len(s.upstream.exchanges()); n > 2 {
			t.Errorf("%d upstream calls", n)
		}
	}, func(f provider) fault { return refuse(400, f.overflow) }, func(f provider) fault { return refuse(400, f.overflow) })
}

func TestWrongKeyEndsTheClientAtOnce(t *testing.T) {
	s := providers()[0].start(t, needClients(t), nil, "REQUIRE_AUTH=true", "JWT_SECRET=0f9c2b7a64d18e5330bb1f6ad2c4e8971b")
	r := s.claude(t, task)
	if r.exit == 0 || !r.IsError || r.took > 30*time.Second {
		t.Errorf("exit code %d after %v: %+v", r.exit, r.took, r)
	}
	if n := s.front.answers(401, "/v1/messages"); n == 0 || n > 2 {
		t.Errorf("the client asked %d times", n)
	}
}

// refusal is an error in the form of a provider.
func (f provider) refusal(message, kind string) string {
	switch f.name {
	case "anthropic":
		return `{"type":"error","error":{"type":"` + kind + `","message":"` + message + `"}}`
	case "openai":
		return `{"error":{"message":"` + message + `","type":"` + kind + `","param":null,"code":null}}`
	}
	return `{"error":{"code":429,"message":"` + message + `","status":"RESOURCE_EXHAUSTED"}}`
}
