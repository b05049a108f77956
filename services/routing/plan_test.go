package routing

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/providers"
)

// threeProviders is a fleet in which gpt and then flash are the fallbacks of haiku.
func threeProviders(t *testing.T) (chat *Router, a, o, g *queued) {
	t.Helper()
	a, o, g = newQueued(catalog.Anthropic, "a"), newQueued(catalog.OpenAI, "o"), newQueued(catalog.Gemini, "g")
	chat = fleet(t, a, o, g)
	chat.Fallbacks = map[string][]string{haiku: {gpt, flash}}
	return chat, a, o, g
}

func TestFallbacksAreTriedInTheirOrder(t *testing.T) {
	for _, w := range ways() {
		synctest.Test(t, func(t *testing.T) {
			chat, a, o, g := threeProviders(t)
			for _, tt := range []struct {
				down []*queued
				want string
				made string // the keys of all calls: each model has retries of its own
			}{
				{nil, haiku, "a"}, {[]*queued{a}, gpt, "aaao"}, {[]*queued{a, o}, flash, "aaaooog"}, {[]*queued{o}, haiku, "a"},
				{[]*queued{a, g}, gpt, "aaao"}, {[]*queued{a, o, g}, "", "aaaoooggg"},
			} {
				for _, q := range []*queued{a, o, g} {
					q.play(q.keys[0], answers)
					if slices.Contains(tt.down, q) {
						q.play(q.keys[0], fails(providerFault(503)))
					}
				}
				model, route, err := w.ask(t.Context(), chat, ask(haiku))
				var asked []string
				for _, q := range []*queued{a, o, g} {
					asked = append(asked, q.asked())
				}
				fallback := strings.TrimPrefix(model, haiku)
				if model != tt.want || (err == nil) != (tt.want != "") || route.Fallback != fallback || route.Model != haiku ||
					strings.Join(asked, "") != tt.made {
					t.Errorf("%s: %q, %+v, %v after %q", w.name, model, route, err, asked)
				}
				if err == nil &&
					route.Provider != map[string]string{haiku: catalog.Anthropic, gpt: catalog.OpenAI, flash: catalog.Gemini}[model] {
					t.Errorf("%s: %+v", w.name, route)
				}
				allIdle(t, chat)
				time.Sleep(2 * time.Minute) // the budget and the circuits
			}
		})
	}
}

func TestErrorsThatAnotherModelMayAvoidFallBack(t *testing.T) {
	faults := map[string]error{"not found": providerFault(404), "a redirect": providerFault(307), "an odd status": providerFault(418),
		"a refused key": providerFault(401), "a refused account": providerFault(402), "a refused model": providerFault(403)}
	maps.Copy(faults, passing())
	for name, fault := range faults {
		for _, w := range ways() {
			synctest.Test(t, func(t *testing.T) {
				chat, a, o, _ := threeProviders(t)
				a.play("a", fails(fault))
				model, route, err := w.ask(t.Context(), chat, ask(haiku))
				if err != nil || model != gpt || route.Fallback != gpt {
					t.Errorf("%s, %s: %q, %+v, %v", name, w.name, model, route, err)
				}
				if !strings.HasPrefix(name, "status") && len(o.calls()) != 1 {
					t.Errorf("%s, %s: the fallback was asked %d times", name, w.name, len(o.calls()))
				}
				r, _ := errors.AsType[*providers.Refusal](fault)
				if r != nil && (r.Status == 404 || r.KeyRefused() || r.Status == 429) && len(a.calls()) != 1 {
					t.Errorf("%s, %s: the model was asked %d times", name, w.name, len(a.calls()))
				}
			})
		}
	}
}

func TestUnconfiguredProviderFallsBack(t *testing.T) {
	for _, w := range ways() {
		g := newQueued(catalog.Gemini, "g")
		chat := fleet(t, g)
		chat.Fallbacks = map[string][]string{haiku: {gpt, flash}, flash: {haiku}}
		if model, route, err := w.ask(t.Context(), chat, ask(haiku)); err != nil || model != flash || route.Fallback != flash ||
			route.Provider != catalog.Gemini {
			t.Errorf("%s: %q, %+v, %v", w.name, model, route, err)
		}
		g.play("g", fails(providerFault(404)))
		_, route, err := w.ask(t.Context(), chat, ask(flash))
		if api.AsError(err).UpstreamStatus != 404 || route.Provider != catalog.Gemini || route.Fallback != "" {
			t.Errorf("%s, without a fallback: %+v, %v", w.name, route, err)
		}
	}
}

// The restrictions of a fallback are not errors of the request.
func TestFallbackThatCannotTakeTheRequestIsSkipped(t *testing.T) {
	refusal := api.Invalid(api.CodeUnsupportedValue, "messages[0]", "this model cannot see")
	for _, w := range ways() {
		synctest.Test(t, func(t *testing.T) {
			chat, a, o, g := threeProviders(t)
			chat.Fallbacks[haiku] = []string{"unknown", gpt, flash}
			o.refuses = map[string]error{gpt: refusal}
			a.play("a", fails(providerFault(404)))
			if model, route, err := w.ask(t.Context(), chat, ask(haiku)); err != nil || model != flash || route.Fallback != flash ||
				len(o.calls()) != 0 {
				t.Errorf("%s: %q, %+v, %v", w.name, model, route, err)
			}
			g.refuses = map[string]error{flash: refusal}
			if _, route, err := w.ask(t.Context(), chat, ask(haiku)); api.AsError(err).UpstreamStatus != 404 ||
				route.Provider != catalog.Anthropic || route.Fallback != "" {
				t.Errorf("%s, none takes it: %+v, %v", w.name, route, err)
			}
			a.refuses = map[string]error{haiku: refusal}
			before := len(a.calls())
			if _, _, err := w.ask(t.Context(), chat, ask(haiku)); !errors.Is(err, refusal) || len(a.calls()) != before {
				t.Errorf("%s, the model itself does not take it: %v", w.name, err)
			}
			if _, _, err := w.ask(t.Context(), chat, ask("unknown")); code(err) != api.CodeModelNotFound {
				t.Errorf("%s: %v", w.name, err)
			}
		})
	}
}

func TestClientCanForbidFallbacks(t *testing.T) {
	for _, w := range ways() {
		synctest.Test(t, func(t *testing.T) {
			chat, a, o, _ := threeProviders(t)
			chat.HedgeAfter = time.Second // nor to help
			a.play("a", after(3*time.Second, fails(providerFault(500))))
			only := ask(haiku)
			only.NoFallback = true
			if _, route, err := w.ask(t.Context(), chat, only); api.AsError(err).UpstreamStatus != 500 || route.Fallback != "" ||
				len(o.calls()) != 0 {
				t.Errorf("%s: %+v, %v after %d calls of another", w.name, route, err, len(o.calls()))
			}
		})
	}
}

func TestModelOfAnotherKindIsRefusedByName(t *testing.T) {
	for _, w := range ways() {
		synctest.Test(t, func(t *testing.T) {
			chat, a, o, _ := threeProviders(t)
			delete(chat.Upstreams, catalog.Anthropic) // a key would not help
			vectors := ask(haiku)
			vectors.Request.Kind = llm.KindEmbedding
			_, _, err := w.ask(t.Context(), chat, vectors)
			if e := api.AsError(err); e.Status != 400 || e.Param != "model" ||
				!strings.Contains(e.Message, "for chat completions, not for embeddings") ||
				len(a.calls())+len(o.calls()) != 0 {
				t.Errorf("%s: %v", w.name, err)
			}
		})
	}
}

func TestEmbeddingsHaveOneCandidateAndOneCallAtATime(t *testing.T) {
	chat, _, _, _ := threeProviders(t)
	chat.HedgeAfter, chat.Redirect = time.Second, true
	chat.Fallbacks[retired] = []string{gpt}
	for kind, want := range map[llm.Kind]bool{llm.KindChat: true, llm.KindEmbedding: false} {
		of := ask(retired)
		of.Request.Kind = kind
		var p Plan
		chat.Plan(&p, of)
		_, _ = p.Candidate(0)
		if p.Hedged() != want || p.Size() > 1 != want || p.Route(0).Redirected != "" != want {
			t.Errorf("%s: hedged %v, %d candidates, %+v", kind, p.Hedged(), p.Size(), p.Route(0))
		}
	}
	of := ask(haiku)
	of.Request.Stream = true
	var p Plan
	if chat.Plan(&p, of); p.Hedged() {
		t.Error("a stream is hedged")
	}
}

func TestRateLimitFallsBackWithoutARetry(t *testing.T) {
	for _, w := range ways() {
		synctest.Test(t, func(t *testing.T) {
			chat, a, _, _ := threeProviders(t)
			a.play("a", fails(providerFault(429, retryAfter(3*time.Second))))
			began := time.Now()
			for range 3 {
				if model, _, err := w.ask(t.Context(), chat, ask(haiku)); err != nil || model != gpt {
					t.Errorf("%s: %q, %v", w.name, model, err)
				}
			}
			if len(a.calls()) != 1 || time.Since(began) != 0 {
				t.Errorf("%s: asked %d times in %s while its key cools down", w.name, len(a.calls()), time.Since(began))
			}
		})
	}
}

// A short wait is better than the answer of another model, and the answer of another upstream of
// the same model is better than a wait.
func TestShortRateLimitIsWaitedForBeforeAnotherModelAnswers(t *testing.T) {
	for _, w := range ways() {
		synctest.Test(t, func(t *testing.T) {
			chat, a, _, _ := threeProviders(t)
			a.play("a", fails(providerFault(429, retryAfter(2*time.Second))), answers)
			began := time.Now()
			if model, _, err := w.ask(t.Context(), chat, ask(haiku)); err != nil || model != haiku || time.Since(began) != 2*time.Second {
				t.Errorf("%s: %q after %s, %v", w.name, model, time.Since(began), err)
			}
		})
	}
}

func TestPromptThatIsTooLongGoesToAModelWithALargerContext(t *testing.T) {
	tooLong := providerFault(400, func(r *providers.Refusal) { r.Code = api.CodeContextLength })
	for _, w := range ways() {
		synctest.Test(t, func(t *testing.T) {
			chat, a, o, g := threeProviders(t) // of 200,000 tokens, 8,192 and a million
			a.play("a", fails(tooLong))
			if model, route, err := w.ask(t.Context(), chat, ask(haiku)); err != nil || model != flash || route.Fallback != flash || o.asked() != "" {
				t.Errorf("%s: %q, %+v, %v after %q", w.name, model, route, err, o.asked())
			}
			chat.Fallbacks = map[string][]string{haiku: {gpt}}
			a.play("a", fails(tooLong))
			if _, _, err := w.ask(t.Context(), chat, ask(haiku)); !errors.Is(err, error(tooLong)) || o.asked() != "" {
				t.Errorf("%s, no larger one: %v after %q", w.name, err, o.asked())
			}
			if g.asked() != "g" {
				t.Errorf("%s: %q", w.name, g.asked())
			}
		})
	}
}

// A provider that is down is not called with each request: most go to the fallback at once.
func TestProviderThatOnlyFailsIsCalledNowAndThen(t *testing.T) {
	for _, w := range ways() {
		synctest.Test(t, func(t *testing.T) {
			chat, a, _, _ := threeProviders(t)
			a.play("a", fails(providerFault(503)))
			for range 15 {
				began := time.Now()
				if model, _, err := w.ask(t.Context(), chat, ask(haiku)); err != nil || model != gpt || time.Since(began) > time.Second {
					t.Errorf("%s: %q, %v", w.name, model, err)
				}
				time.Sleep(4*time.Second - time.Since(began))
			}
			if n := len(a.calls()); n < 4 || n > 11 {
				t.Errorf("%s: called %d times in a minute", w.name, n)
			}
			a.play("a", answers)
			time.Sleep(10 * time.Second)
			if model, _, err := w.ask(t.Context(), chat, ask(haiku)); err != nil || model != haiku {
				t.Errorf("%s: it is up again, and %q answers, %v", w.name, model, err)
			}
		})
	}
}

// A provider whose streams all break off is passed over as well.
func TestProviderWhoseStreamsAllBreakIsPassedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		chat, a, _, _ := threeProviders(t)
		a.play("a", fails(&begun{pieces: 3, gap: time.Second, err: providerFault(503)}))
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if model, _, err := streamed(t.Context(), chat, ask(haiku)); err == nil || model != haiku {
					t.Errorf("%q, and the stream does not break", model)
				}
			})
		}
		all.Wait()
		if model, _, err := streamed(t.Context(), chat, ask(haiku)); err != nil || model != gpt {
			t.Errorf("%q, %v", model, err)
		}
	})
}

func TestModelThatCoolsDownIsTriedWhenAllOthersFail(t *testing.T) {
	for _, w := range ways() {
		synctest.Test(t, func(t *testing.T) {
			chat, a, o, g := threeProviders(t)
			a.play("a", fails(providerFault(401)), answers)
			if model, _, err := w.ask(t.Context(), chat, ask(haiku)); err != nil || model != gpt {
				t.Fatalf("%q, %v", model, err)
			}
			o.play("o", fails(providerFault(404)))
			g.play("g", fails(providerFault(404)))
			model, route, err := w.ask(t.Context(), chat, ask(haiku))
			if err != nil || model != haiku || route.Fallback != "" || route.Provider != catalog.Anthropic || o.asked()+g.asked() != "og" {
				t.Errorf("%s: %q, %+v, %v after %q", w.name, model, route, err, o.asked()+g.asked())
			}
			allIdle(t, chat)
		})
	}
}

// The client gets the error of the requested model, or the first error that it may
// retry.
func TestErrorForTheClientWhenAllModelsFail(t *testing.T) {
	limited, down := providerFault(429, retryAfter(time.Minute)), providerFault(503)
	refusedKey, missing := providerFault(401, final), providerFault(404)
	content, spending, ours := providerFault(400), providerFault(429, spent), api.Unavailable(nil)
	for name, tt := range map[string]struct {
		a, o, g error
		told    error
		by      string // the fallback whose error it is
	}{
		"all may pass":                        {limited, down, down, limited, ""},
		"the model may pass":                  {down, missing, refusedKey, down, ""},
		"none may pass":                       {missing, refusedKey, missing, missing, ""},
		"the first fallback may pass":         {missing, limited, down, limited, gpt},
		"the last fallback may pass":          {refusedKey, missing, down, down, flash},
		"a fallback does not want it":         {down, content, nil, down, ""},
		"a fallback's spending":               {down, spending, down, down, ""},
		"the spending of all":                 {spending, spending, refusedKey, spending, ""},
		"a fallback is our own trouble":       {down, ours, nil, ours, gpt},
		"the last fallback is of our trouble": {missing, down, ours, ours, flash},
	} {
		for _, w := range ways() {
			synctest.Test(t, func(t *testing.T) {
				chat, a, o, g := threeProviders(t)
				chat.Retries = 0
				for q, err := range map[*queued]error{a: tt.a, o: tt.o, g: tt.g} {
					q.play(q.keys[0], fails(err))
				}
				_, route, err := w.ask(t.Context(), chat, ask(haiku))
				if !errors.Is(err, tt.told) || route.Fallback != tt.by || route.Model != haiku {
					t.Errorf("%s, %s: %v, %+v", name, w.name, err, route)
				}
				if (tt.g == nil) != (len(g.calls()) == 0) {
					t.Errorf("%s, %s: the last was asked %d times", name, w.name, len(g.calls()))
				}
			})
		}
	}
}

// The requested model is tried last while its key cools down; its error still comes
// first.
func TestErrorOfTheRequestedModelIsReturnedAfterItsCooldown(t *testing.T) {
	for _, w := range ways() {
		synctest.Test(t, func(t *testing.T) {
			chat, a, o, g := threeProviders(t)
			chat.Retries = 0
			limited := providerFault(429, retryAfter(time.Minute))
			a.play("a", fails(limited))
			o.play("o", fails(providerFault(503)))
			g.play("g", fails(providerFault(503)))
			for range 2 { // the second time it cools down
				if _, route, err := w.ask(t.Context(), chat, ask(haiku)); !errors.Is(err, limited) || route.Fallback != "" ||
					route.Provider != catalog.Anthropic {
					t.Errorf("%s: %v, %+v", w.name, err, route)
				}
			}
			if n := len(a.calls()); n != 2 {
				t.Errorf("%s: it was asked %d times", w.name, n)
			}
		})
	}
}

func TestIgnoredFieldsAreThoseOfTheAnsweringModel(t *testing.T) {
	for _, w := range ways() {
		synctest.Test(t, func(t *testing.T) {
			chat, a, o, g := threeProviders(t)
			a.ignores = map[string][]string{haiku: {"seed", "logit_bias"}}
			o.ignores = map[string][]string{gpt: {"top_k"}}
			if _, route, err := w.ask(t.Context(), chat, ask(haiku)); err != nil ||
				!slices.Equal(route.Ignored, []string{"seed", "logit_bias"}) {
				t.Errorf("%s: %+v, %v", w.name, route, err)
			}
			a.play("a", fails(providerFault(404)))
			if _, route, err := w.ask(t.Context(), chat, ask(haiku)); err != nil || !slices.Equal(route.Ignored, []string{"top_k"}) {
				t.Errorf("%s: %+v, %v", w.name, route, err)
			}
			strict := ask(haiku)
			strict.Strict = true
			if _, _, err := w.ask(t.Context(), chat, strict); code(err) != api.CodeUnsupportedValue || api.AsError(err).Param != "seed" ||
				len(g.calls()) != 0 {
				t.Errorf("%s, strict: %v", w.name, err)
			}
			a.ignores = nil
			model, route, err := w.ask(t.Context(), chat, strict)
			if err != nil || model != flash || route.Fallback != flash || len(route.Ignored) != 0 {
				t.Errorf("%s, strict: a fallback that ignores is not passed over: %q, %+v, %v", w.name, model, route, err)
			}
		})
	}
}

func TestFallbacksBelongToTheRequestedModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		chat, a, o, g := threeProviders(t)
		chat.Fallbacks[gpt] = []string{flash} // no fallbacks of fallbacks
		chat.Fallbacks[haiku] = []string{gpt}
		a.play("a", fails(providerFault(404)))
		o.play("o", fails(providerFault(404)))
		if _, _, err := completeOf(t.Context(), chat, ask(haiku)); err == nil || len(g.calls()) != 0 {
			t.Errorf("%v", err)
		}
		if model, route, err := completed(t.Context(), chat, ask(gpt)); err != nil || model != flash || route.Model != gpt {
			t.Errorf("%q, %+v, %v", model, route, err)
		}
	})
}
