package inference

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/providers"
	"modelgateway/services/routing"
)

func streamOf(model string) Input {
	ask := keyed(model, models.Limits{})
	ask.Request.Stream = true
	return ask
}

// The size of a prompt is there before its provider has answered, and is corrected by what the
// provider has counted of earlier prompts.
func TestThePromptIsEstimatedFromItsBytes(t *testing.T) {
	s := serving(t, answering("openai", usedUp(600, 2)))
	for i, want := range []int64{-1, 600} {
		ask := streamOf(gpt)
		ask.Request = promptOf(t, 3000, `"stream":true,`)
		ask.Request.Model = gpt
		call, err := s.Admit(t.Context(), ask)
		if err != nil {
			t.Fatal(err)
		}
		n := call.PromptTokens()
		if exact, err := s.estimator.Prompt(ask.Request); err != nil || want < 0 && (n < exact*85/100 || n > exact*115/100) {
			t.Errorf("%d tokens, and %d by the vocabulary, %v", n, exact, err)
		}
		if want >= 0 && (n < want-1 || n > want+1) {
			t.Errorf("call %d: %d tokens, not %d", i, n, want)
		}
		stream, err := call.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		readAll(stream)
		if row := call.End(t.Context(), nil); row.InputTokens != 600 || row.Estimated {
			t.Errorf("%+v: not what the provider reported", row)
		}
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
		_, err = whole(call.Open(t.Context()))
		call.End(t.Context(), err)
		e := api.AsError(err)
		if (e.TooLong != nil) != tt.measured {
			t.Errorf("%v: measured %t", tt.err, e.TooLong != nil)
		}
		if !tt.measured {
			continue
		}
		if prompt, window := e.TooLong(); prompt < 5 || window != 8192 {
			t.Errorf("%d tokens of %d", prompt, window)
		}
		if e.Status != 400 || e.Code != api.CodeProviderError || e.UpstreamCode != api.CodeContextLength {
			t.Errorf("%+v", e)
		}
	}
}
