package routing

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/services/pool"
)

// A provider that has been silent is not waited for twice.
func TestStreamThatDoesNotBeginInTimeIsAnsweredByAFallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var left time.Time
		q, other := newQueued(catalog.Anthropic, "a", "b").play("a", leaving(&left, 0)).play("b", leaving(&left, 0)), newQueued(catalog.OpenAI, "o")
		chat := fleet(t, q, other)
		chat.FirstToken, chat.MaxStream, chat.Fallbacks = 3*time.Second, time.Hour, map[string][]string{haiku: {gpt}}
		began := time.Now()
		if model, route, err := streamed(t.Context(), chat, ask(haiku)); err != nil || model != gpt || route.Fallback != gpt ||
			len(q.asked()) != 1 || left.Sub(began) != 3*time.Second {
			t.Errorf("%q, %+v, %v after %q, left after %s", model, route, err, q.asked(), left.Sub(began))
		}
		other.play("o", hangs)
		_, _, err := streamed(t.Context(), chat, ask(haiku))
		if e := api.AsError(err); e.Status != 504 || e.Code != api.CodeProviderError || e.Provider != catalog.Anthropic ||
			!e.ShouldRetry() {
			t.Errorf("no stream begins: %v", err)
		}
		allIdle(t, chat)
	})
}

// While another candidate is left, a stream has to be accepted in a shorter time than it has for its
// first event.
func TestStreamThatIsNotAcceptedInTimeIsAnsweredByAFallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, other := newQueued(catalog.Anthropic, "a").play("a", hangs), newQueued(catalog.OpenAI, "o")
		chat := fleet(t, q, other)
		chat.FirstToken, chat.Accept, chat.Fallbacks = 300*time.Second, time.Minute, map[string][]string{haiku: {gpt}}
		began := time.Now()
		if model, _, err := streamed(t.Context(), chat, ask(haiku)); err != nil || model != gpt || time.Since(began) != time.Minute {
			t.Errorf("%q after %s, %v", model, time.Since(began), err)
		}
		began = time.Now()
		of := ask(haiku)
		of.NoFallback = true
		if _, _, err := streamed(t.Context(), chat, of); api.AsError(err).Status != 504 || time.Since(began) != 300*time.Second {
			t.Errorf("without another candidate: after %s, %v", time.Since(began), err)
		}
		allIdle(t, chat)
	})
}

func TestStreamEndsAtItsTimeoutWithoutARetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueued(catalog.Anthropic, "a").play("a", fails(&begun{pieces: 1000, gap: time.Second}))
		chat := fleet(t, q)
		chat.FirstToken, chat.MaxStream = 3*time.Second, 10500*time.Millisecond
		stream, _, err := streamOf(t.Context(), chat, ask(haiku))
		if err != nil {
			t.Fatal(err)
		}
		began, pieces := time.Now(), 0
		for event, broken := range stream {
			if event != nil && event.Kind == llm.EventText {
				pieces++
			}
			err = broken
		}
		e := api.AsError(err)
		if took := time.Since(began); took != chat.MaxStream || pieces != 10 || e.Status != 504 || e.Code != api.CodeProviderError ||
			len(q.calls()) != 1 {
			t.Errorf("%v after %s, %d pieces and %d calls", err, took, pieces, len(q.calls()))
		}
		if got := chat.Upstreams[catalog.Anthropic].Status(); got != pool.Degraded {
			t.Errorf("a stream without an end is %s", got)
		}
		allIdle(t, chat)
	})
}

func TestEndOfAStreamCancelsItsContext(t *testing.T) {
	for name, end := range map[string]func(llm.Stream){"read to its end": readAll, "left at once": leaveAtOnce,
		"left by a panic": leaveInPanic} {
		synctest.Test(t, func(t *testing.T) {
			var was context.Context
			q := newQueued(catalog.Anthropic, "a").play("a", func(ctx context.Context) error { was = ctx; return nil })
			stream, _, err := streamOf(t.Context(), fleet(t, q), ask(haiku))
			if err != nil || was.Err() != nil {
				t.Fatal(err, was.Err())
			}
			if end(stream); was.Err() == nil {
				t.Errorf("%s: it goes on", name)
			}
		})
	}
}

func TestStreamsHaveNoTimeoutByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &begun{pieces: 20, gap: time.Hour}
		q := newQueued(catalog.Anthropic, "a").play("a", after(20*time.Hour, fails(slow)))
		chat := fleet(t, q)
		began := time.Now()
		if _, _, err := streamed(t.Context(), chat, ask(haiku)); err != nil || time.Since(began) != 40*time.Hour {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}
