package upstream

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/llm"
	"modelgateway/providers"
)

func TestHeadersBesideABodyAreSentWithItAlone(t *testing.T) {
	var got http.Header
	server := upstreamOf(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte("the key " + canary + " is bad"))
	})
	client := testClient(server.URL, time.Minute)
	client.opts.Headers = map[string]string{"Fixed": "operator's"}
	with := client.With([]llm.Header{{Name: "Anthropic-Beta", Value: "a,b"}, {Name: "Fixed", Value: "client's"}},
		func(_ int, body []byte) providers.Refusal { return providers.Refusal{Message: "no", Body: body} })
	for range 2 {
		_, err := with.Post(t.Context(), canary, "/x", []byte("{}"))
		if got.Get("Anthropic-Beta") != "a,b" || got.Get("Fixed") != "operator's" || got.Get("X-Api-Key") != canary {
			t.Errorf("%v", got)
		}
		if e := api.AsError(err); e.Message != "no" || string(e.Raw) != "the key [redacted] is bad" {
			t.Errorf("%+v", e)
		}
	}
	_, err := client.Post(t.Context(), canary, "/x", []byte("{}"))
	if e := api.AsError(err); got.Get("Anthropic-Beta") != "" || e.Raw != nil {
		t.Errorf("%v %+v", got, e)
	}
}

func TestHeadersOfAnAnswerAreHandedOnByName(t *testing.T) {
	status := http.StatusOK
	server := upstreamOf(t, func(w http.ResponseWriter, _ *http.Request) {
		for name, value := range map[string]string{
			"OpenAI-Model": "gpt-5.5-2026", "x-codex-turn-state": "", "X-Models-Etag": strings.Repeat("e", 9<<10), "OpenAI-Organization": "org-1",
			"Set-Cookie": "a=b",
		} {
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
	})
	client := testClient(server.URL, time.Minute).Telling("Openai-Model", "X-Codex-Turn-State", "X-Models-Etag")
	for _, with := range []*Client{client, client.With(nil, nil)} {
		status = http.StatusOK
		accepted := 0
		call := Call{Context: t.Context(), Accepted: func() { accepted++ }}
		if _, err := with.Post(&call, canary, "/x", []byte("{}")); err != nil {
			t.Fatal(err)
		}
		if want := []llm.Header{{Name: "Openai-Model", Value: "gpt-5.5-2026"}}; !slices.Equal(call.Told, want) || accepted != 1 {
			t.Errorf("%v, accepted %d times", call.Told, accepted)
		}
		status = http.StatusTooManyRequests
		call = Call{Context: t.Context(), Accepted: func() { accepted++ }}
		if _, err := with.Post(&call, canary, "/x", []byte("{}")); err == nil || call.Told != nil || accepted != 1 {
			t.Errorf("%v, accepted %d times: %v", call.Told, accepted, err)
		}
	}
}
