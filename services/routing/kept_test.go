package routing

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/services/pool"
)

// goingOn asks a model to go on from what a provider keeps for one of its keys.
func goingOn(model, provider, key string) Input {
	input := ask(model)
	input.Request.Kept = &llm.Kept{Provider: provider, Key: pool.Fingerprint(key), ID: "resp_1"}
	return input
}

func TestWhatAProviderKeepsIsAskedForWithItsKeyOnly(t *testing.T) {
	for _, w := range ways() {
		synctest.Test(t, func(t *testing.T) {
			q, other := newQueued(catalog.OpenAI, "a", "b", "c"), newQueued(catalog.Anthropic, "x")
			router := fleet(t, q, other)
			router.Fallbacks = map[string][]string{gpt: {haiku}}
			router.HedgeAfter = time.Second
			of := goingOn(gpt, catalog.OpenAI, "b")
			of.Request.Session = "of another key"
			for range 5 {
				if _, _, err := w.ask(t.Context(), router, of); err != nil {
					t.Fatal(err)
				}
			}
			if q.asked() != "bbbbb" {
				t.Errorf("%s: keys %s", w.name, q.asked())
			}
			for name, tt := range map[string]struct {
				does behaviour
				want string // calls: retries are made with the same key
			}{
				"it is limited":     {fails(providerFault(429)), "bbb"},
				"it is refused":     {fails(providerFault(401)), "b"},
				"it fails":          {fails(providerFault(500)), "bbb"},
				"it does not exist": {fails(providerFault(404)), "b"},
				"it is slow":        {after(time.Minute, answers), "b"},
			} {
				time.Sleep(time.Hour) // cooldowns and the circuit
				q.play("b", tt.does)
				_, route, err := w.ask(t.Context(), router, of)
				if q.asked() != tt.want || len(other.calls()) > 0 || (err == nil) != (name == "it is slow") || route.Provider != catalog.OpenAI {
					t.Errorf("%s, %s: keys %s, %d others, %v", w.name, name, q.asked(), len(other.calls()), err)
				}
			}
			allIdle(t, router)
		})
	}
}

func TestWhatAnotherProviderOrAnotherKeyKeepsIsUnknown(t *testing.T) {
	for _, w := range ways() {
		q, other := newQueued(catalog.OpenAI, "a"), newQueued(catalog.Anthropic, "x")
		router := fleet(t, q, other)
		router.Fallbacks = map[string][]string{gpt: {haiku}, haiku: {gpt}}
		for name, of := range map[string]Input{
			"a model of another provider":   goingOn(haiku, catalog.OpenAI, "a"),
			"a key that was rotated away":   goingOn(gpt, catalog.OpenAI, "b"),
			"a provider that is not there":  goingOn(gpt, "proxy", "a"),
			"the same key at another place": goingOn(haiku, catalog.OpenAI, "x"),
		} {
			_, _, err := w.ask(t.Context(), router, of)
			e, ok := errors.AsType[*api.Error](err)
			if !ok || e.Status != http.StatusBadRequest || e.Code != api.CodePreviousNotFound || e.Param != "previous_response_id" {
				t.Errorf("%s, %s: %v", w.name, name, err)
			}
		}
		if len(q.calls())+len(other.calls()) > 0 {
			t.Errorf("%s: asked %s and %s", w.name, q.asked(), other.asked())
		}
	}
}

func ofAnotherKey() behaviour {
	return fails(providerFault(400, func(r *providers.Refusal) { r.Code = "invalid_encrypted_content" }))
}

// A provider's organisations cannot read what another one has encrypted.
func TestEncryptedContentOfAnotherKeyIsTriedWithEachKey(t *testing.T) {
	for _, w := range ways() {
		q, other := newQueued(catalog.OpenAI, "a", "b", "c", "d"), newQueued(catalog.Anthropic, "x")
		router := fleet(t, q, other)
		router.Fallbacks = map[string][]string{gpt: {haiku}}
		for _, reads := range []string{"a", "b", "c", "d", ""} {
			for _, key := range q.keys {
				q.play(key, ofAnotherKey())
			}
			q.play(reads, answers)
			_, _, err := w.ask(t.Context(), router, ask(gpt))
			asked := q.asked()
			seen := map[rune]bool{}
			for _, key := range asked {
				seen[key] = true
			}
			if len(seen) != len(asked) || (err == nil) != (reads != "") || reads != "" && asked[len(asked)-1:] != reads || reads == "" && len(asked) != 4 {
				t.Errorf("%s, only %q can read it: keys %s, %v", w.name, reads, asked, err)
			}
			if r, ok := errors.AsType[*providers.Refusal](err); reads == "" && (!ok || r.Code != "invalid_encrypted_content") {
				t.Errorf("%s: %v is passed on", w.name, err)
			}
		}
		if len(other.calls()) > 0 {
			t.Errorf("%s: the fallback was asked", w.name)
		}
		allIdle(t, router)
	}
}

func TestTheCacheKeyOfAPromptChoosesTheKeyBeforeTheSession(t *testing.T) {
	q := newQueued(catalog.OpenAI, "a", "b", "c")
	router := fleet(t, q)
	of := func(cacheKey, session string) string {
		q.play("none")
		input := ask(gpt)
		input.Request.CacheKey, input.Request.Session = cacheKey, session
		if _, _, err := completed(t.Context(), router, input); err != nil {
			t.Fatal(err)
		}
		return q.asked()
	}
	differ := false
	for _, session := range []string{"s1", "s2", "s3", "s4", "s5"} {
		if got, want := of("prompt", session), of("", "prompt"); got != want {
			t.Errorf("session %s: key %s, and %s for the prompt alone", session, got, want)
		}
		differ = differ || of("", session) != of("prompt", session)
	}
	if !differ {
		t.Error("sessions choose no key")
	}
}
