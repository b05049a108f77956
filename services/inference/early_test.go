package inference

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"modelgateway/models"
	"modelgateway/models/api"
	"modelgateway/models/llm"
	"modelgateway/providers"
	"modelgateway/services/pool"
	"modelgateway/services/routing"
)

// first is a provider whose streams begin with the size of the prompt.
type first struct{ *scripted }

func (first) CountsFirst() bool { return true }

func streamOf(model string) Input {
	ask := keyed(model, models.Limits{})
	ask.Request.Stream = true
	return ask
}

func TestPromptIsCountedWhileTheUpstreamIsWaitedFor(t *testing.T) {
	counted := make(chan bool, 1)
	var call *Call
	p := answering("openai", usedUp(5, 2))
	p.stream = func(context.Context) (llm.Stream, error) {
		select {
		case <-call.counting:
			counted <- true
		case <-time.After(30 * time.Second):
			counted <- false
		}
		return chunksOf(usedUp(5, 2), nil, "hello"), nil
	}
	s := serving(t, p)
	call, err := s.Admit(t.Context(), streamOf(gpt))
	if err != nil {
		t.Fatal(err)
	}
	call.CountPrompt()
	_, stream, err := call.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want, err := s.estimator.Prompt(call.input.Request)
	if n := call.PromptTokens(); n != want || err != nil || n < 5 || !<-counted {
		t.Errorf("%d tokens, not %d, %v", n, want, err)
	}
	readAll(stream)
	if row := call.End(t.Context(), nil); row.InputTokens != 5 || row.Estimated {
		t.Errorf("booked %d tokens, estimated %t: not what the provider reported", row.InputTokens, row.Estimated)
	}
}

func TestPromptIsNotCountedWhereItsProviderReportsIt(t *testing.T) {
	s := serving(t)
	s.Router().Upstreams["openai"] = pool.NewUpstream("openai", first{answering("openai", usedUp(5, 2))}, poolOf("k1"), time.Now)
	call, err := s.Admit(t.Context(), streamOf(gpt))
	if err != nil {
		t.Fatal(err)
	}
	call.CountPrompt()
	if call.counting != nil {
		t.Error("it is counted")
	}
	if call.PromptTokens() < 5 { // after a fail-over to another provider it is needed all the same
		t.Errorf("%d tokens", call.PromptTokens())
	}
	call.End(t.Context(), context.Canceled)
}

func TestCallThatEndsEarlyWaitsForItsCount(t *testing.T) {
	s := serving(t, answering("openai", nil).fail(providerError(500)))
	call, err := s.Admit(t.Context(), streamOf(gpt))
	if err != nil {
		t.Fatal(err)
	}
	call.CountPrompt()
	_, _, err = call.Open(t.Context())
	call.End(t.Context(), err)
	select {
	case <-call.counting:
	default:
		t.Error("the estimate is still running")
	}
}

func TestThePanicOfABeginIsLoggedWithoutItsText(t *testing.T) {
	var log bytes.Buffer
	s := serving(t, answering("openai", nil))
	s.Log = slog.New(slog.NewTextHandler(&log, nil))
	call, err := s.Admit(t.Context(), streamOf(gpt))
	if err != nil {
		t.Fatal(err)
	}
	call.Settle(time.Second, func(routing.Route) { panic("cannot write canary") })
	call.plan.Patience.Final(routing.Route{})
	call.End(t.Context(), context.Canceled)
	if text := log.String(); !strings.Contains(text, "beginning a stream failed") || !strings.Contains(text, "type string") ||
		!strings.Contains(text, "early_test.go") || strings.Contains(text, "canary") {
		t.Errorf("the log: %s", text)
	}
}

func TestPromptThatIsTooLongCanBeMeasured(t *testing.T) {
	refusal := &providers.Refusal{Provider: "openai", Status: 400, Code: api.CodeContextLength, Message: "Your input exceeds the context window"}
	for _, tt := range []struct {
		err      error
		measured bool
	}{{refusal, true}, {providerError(400), false}, {api.Internal(nil), false}} {
		s := serving(t, answering("openai", nil).fail(tt.err))
		call, err := s.Admit(t.Context(), streamOf(gpt))
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = call.Open(t.Context())
		call.End(t.Context(), err)
		e := api.AsError(err)
		if (e.TooLong != nil) != tt.measured {
			t.Errorf("%v: measured %t", tt.err, e.TooLong != nil)
		}
		if !tt.measured {
			continue
		}
		if prompt, window := e.TooLong(); prompt != call.PromptTokens() || prompt < 5 || window != 8192 {
			t.Errorf("%d tokens of %d", prompt, window)
		}
		if e.Status != 400 || e.Code != api.CodeProviderError || e.UpstreamCode != api.CodeContextLength {
			t.Errorf("%+v", e)
		}
	}
}
