package native

import (
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

// What OpenAI encrypts and caches belongs to the organisation of a key: the calls of one
// conversation use one key, by whatever the client names it.
func TestAConversationOfResponsesStaysWithOneKey(t *testing.T) {
	t.Parallel()
	p, u := openAI(t, "OPENAI_API_KEY=sk-oai-a,sk-oai-b,sk-oai-c")
	u.Play(gatewaytest.JSON(200, response))
	key := func(members string, headers ...string) string {
		got := post(t, p, responsesPath, strings.Replace(asked, `"input"`, members+`"input"`, 1), headers...)
		sent := u.Requests()
		if got.Status != 200 || len(sent) == 0 {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
		return sent[len(sent)-1].Header.Get("Authorization")
	}
	cached := func(name string) string { return `"prompt_cache_key":"` + name + `",` }
	user := func(name string) string { return `"metadata":{"user_id":"` + name + `"},` }
	used := map[string]bool{}
	for _, name := range []string{"s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8"} {
		want := key(cached(name))
		used[want] = true
		for by, got := range map[string]string{
			"the cache key again":              key(cached(name)),
			"the cache key before the session": key(cached(name), "Session_id", "another"),
			"the session":                      key("", "Session_id", name),
			"the session before the user":      key(user("another"), "Session-Id", name),
			"the user":                         key(user(name)),
		} {
			if got != want {
				t.Errorf("%s, by %s: %s, not %s", name, by, got, want)
			}
		}
	}
	if len(used) < 2 {
		t.Errorf("all conversations use %v", used)
	}
	used = map[string]bool{}
	for range 9 {
		used[key("")] = true
	}
	if len(used) != 3 {
		t.Errorf("without a conversation %v are used", used)
	}
}

// What the gateway cannot book, and what OpenAI keeps for all clients of the account, does
// not reach it.
func TestWhatWouldOutliveACallIsRefusedForOpenAIAsWell(t *testing.T) {
	t.Parallel()
	p, u := openAI(t)
	for member, param := range map[string]string{
		`"background":true`: "background", `"conversation":"conv_1"`: "conversation", `"conversation":{"id":"conv_1"}`: "conversation",
		`"prompt":{"id":"pmpt_1"}`: "prompt",
	} {
		for _, request := range []string{asked, askedStream} {
			got := post(t, p, responsesPath, strings.Replace(request, `"input"`, member+`,"input"`, 1))
			if e := got.APIError(t); got.Status != 400 || e.Code != "unsupported_value" || e.Type != "invalid_request_error" || e.Param == nil || *e.Param != param {
				t.Errorf("%s: %d %s", member, got.Status, got.Body)
			}
		}
	}
	if sent := u.Requests(); len(sent) > 0 {
		t.Errorf("%d calls were made", len(sent))
	}
}
