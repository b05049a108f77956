package responses

import (
	"regexp"
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

// rawID is an id of the upstream's without a tag.
var rawID = regexp.MustCompile(`resp_0{20}\d{12}($|[^_]|_[^m])`)

// Peers let other tenants read a response whose id they know.
func TestResponseOfAnotherCallerIsUnknown(t *testing.T) {
	s := startShared(t)
	whole := s.ask(s.one, s.ada, "gpt-6-sol", `"input":"hi"`)
	stream := s.ask(s.two, s.ada, "mine", `"input":"hi","stream":true`)
	if whole.Status != 200 || stream.Status != 200 || rawID.MatchString(whole.Body) || rawID.MatchString(stream.Body) ||
		strings.Count(stream.Body, "_mgw") != 4 || !strings.Contains(stream.Body, "response.of_tomorrow") {
		t.Fatalf("%d %s\n%d %s", whole.Status, whole.Body, stream.Status, stream.Body)
	}
	id := gatewaytest.Field(t, whole, "id")
	streamed := regexp.MustCompile(`resp_\w+_mgw[\w-]{38}`).FindString(stream.Body)
	s.up.take()

	t.Run("its owner goes on from it", func(t *testing.T) {
		for _, from := range []string{id, streamed} {
			for _, at := range []*gatewaytest.Program{s.one, s.two} {
				for _, rest := range []string{"", `,"stream":true`} {
					a := s.ask(at, s.ada, "gpt-6-sol", `"input":"more","previous_response_id":"`+from+`"`+rest)
					if a.Status != 200 || rawID.MatchString(a.Body) || !strings.Contains(a.Body, `"previous_response_id":"`+from+`"`) {
						t.Fatalf("%d %s", a.Status, a.Body)
					}
				}
			}
		}
		keys := map[string]bool{}
		for _, call := range s.up.take() {
			keys[call] = true
		}
		if len(keys) > 2 {
			t.Errorf("calls %v", keys)
		}
	})
	t.Run("others do not", func(t *testing.T) {
		unknown := s.ask(s.one, s.bob, "gpt-6-sol", `"input":"more","previous_response_id":"resp_1"`)
		if e := unknown.APIError(t); unknown.Status != 400 || e.Code != "previous_response_not_found" || e.Type != "invalid_request_error" || *e.Param != "previous_response_id" {
			t.Errorf("%d %s", unknown.Status, unknown.Body)
		}
		raw, _, _ := strings.Cut(id, "_mgw")
		for _, as := range [][]string{s.bob, nil} {
			for _, from := range []string{id, streamed, raw, id[:len(id)-1], id + "x"} {
				for _, rest := range []string{"", `,"stream":true`} {
					a := s.ask(s.two, as, "gpt-6-sol", `"input":"more","previous_response_id":"`+from+`"`+rest)
					if a.Status != 400 || a.Body != unknown.Body {
						t.Errorf("%s: %d %s", from, a.Status, a.Body)
					}
				}
			}
		}
		if a := s.ask(s.one, s.ada, "claude-haiku-4-5", `"input":"more","previous_response_id":"`+id+`"`); a.APIError(t).Code != "previous_response_not_found" {
			t.Errorf("another provider's model: %d %s", a.Status, a.Body)
		}
		if calls := s.up.take(); len(calls) > 0 {
			t.Errorf("the upstream was asked: %v", calls)
		}
	})
	t.Run("by its path", func(t *testing.T) {
		missing := s.one.Call(t, "GET", "/v1/responses/resp_1", "", s.ada...)
		if e := missing.APIError(t); missing.Status != 404 || e.Code != "response_not_found" {
			t.Errorf("%d %s", missing.Status, missing.Body)
		}
		paths := map[string]string{"": "GET", "/input_items": "GET", "/cancel": "POST", "?x=y": "DELETE"}
		for path, method := range paths {
			for _, as := range [][]string{s.bob, nil} {
				if a := s.two.Call(t, method, "/v1/responses/"+id+path, "", as...); a.Status != 404 || a.Body != missing.Body {
					t.Errorf("%s %s: %d %s", method, path, a.Status, a.Body)
				}
			}
		}
		if calls := s.up.take(); len(calls) > 0 {
			t.Errorf("the upstream was asked: %v", calls)
		}
		if a := s.two.Call(t, "GET", "/v1/responses/"+id+"?stream=true", "", s.ada...); a.Status != 400 || a.APIError(t).Code != "unsupported_value" {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		if a := s.two.Call(t, "GET", "/v1/responses/"+id+"?include=a&key=b", "", s.ada...); a.Status != 200 || gatewaytest.Field(t, a, "id") != id || rawID.MatchString(a.Body) {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		if a := s.one.Call(t, "GET", "/v1/responses/"+id+"/input_items?limit=5", "", s.ada...); a.Status != 200 || !strings.Contains(a.Body, "msg_1") {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		if a := s.one.Call(t, "POST", "/v1/responses/"+id+"/cancel", "", s.ada...); a.Status != 400 || rawID.MatchString(a.Body) || !strings.Contains(a.Body, id) {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		if a := s.one.Call(t, "DELETE", "/v1/responses/"+id, "", s.ada...); a.Status != 200 || a.Body != `{"id":"`+id+`","object":"response","deleted":true}` {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		if a := s.two.Call(t, "GET", "/v1/responses/"+id, "", s.ada...); a.Status != 404 || a.Body != missing.Body {
			t.Errorf("erased: %d %s", a.Status, a.Body)
		}
		if a := s.ask(s.one, s.ada, "gpt-6-sol", `"input":"x","previous_response_id":"`+id+`"`); a.Status != 400 || rawID.MatchString(a.Body) {
			t.Errorf("erased: %d %s", a.Status, a.Body)
		}
		var asked []string
		for _, call := range s.up.take() {
			asked = append(asked, call[:strings.Index(call, " org-")])
		}
		raw, _, _ := strings.Cut(id, "_mgw")
		want := "GET /v1/responses/" + raw + "?include=a|GET /v1/responses/" + raw + "/input_items?limit=5|POST /v1/responses/" + raw +
			"/cancel|DELETE /v1/responses/" + raw + "|GET /v1/responses/" + raw + "|POST /v1/responses"
		if got := strings.Join(asked, "|"); got != want {
			t.Errorf("asked %s", got)
		}
	})
}

func TestModelThatKeepsNothingSaysWhatToDo(t *testing.T) {
	s := startShared(t)
	first := s.ask(s.one, s.ada, "claude-haiku-4-5", `"input":"hi","store":true`)
	if first.Status != 200 || !strings.Contains(first.Body, `"store":false`) {
		t.Fatalf("%d %s", first.Status, first.Body)
	}
	for members, code := range map[string]string{
		`"input":"more","previous_response_id":"` + gatewaytest.Field(t, first, "id") + `"`:            "previous_response_not_found",
		`"input":[{"type":"item_reference","id":"msg_1"},{"role":"user","content":"more"}]`:            "unsupported_value",
		`"input":[{"type":"item_reference","id":"msg_1"},{"role":"user","content":"m"}],"stream":true`: "unsupported_value",
	} {
		a := s.ask(s.one, s.ada, "claude-haiku-4-5", members)
		if e := a.APIError(t); a.Status != 400 || e.Code != code || !strings.Contains(e.Message, "store:false") ||
			!strings.Contains(e.Message, "RESPONSES_STORE_HOURS") || !strings.Contains(e.Message, "ENCRYPTION_KEY") ||
			code == "unsupported_value" && !strings.Contains(e.Message, "providerOptions: {openai: {store: false}}") {
			t.Errorf("%s: %d %s", members, a.Status, a.Body)
		}
	}
	if a := s.one.Call(t, "GET", "/v1/responses/"+gatewaytest.Field(t, first, "id"), "", s.ada...); a.Status != 404 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

func TestSessionStaysWithItsOrganisationAndEncryptedContentFindsItsOwn(t *testing.T) {
	s := startShared(t)
	keys := map[string]bool{}
	for _, session := range []string{"s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8"} {
		var first string
		for _, at := range []*gatewaytest.Program{s.one, s.two, s.one} {
			// What the client calls the prompt in caches comes before the session of its headers.
			header := append([]string{"Session-Id", "of " + at.URL}, s.ada...)
			if a := s.ask(at, header, "gpt-6-sol", `"input":"hi","prompt_cache_key":"`+session+`"`); a.Status != 200 {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
			call := s.up.take()[0]
			if first == "" {
				first = call
			}
			if call != first {
				t.Errorf("%s: %s, then %s", session, first, call)
			}
			keys[call] = true
		}
	}
	if len(keys) != 2 {
		t.Errorf("all sessions use %v", keys)
	}
	for _, owner := range []string{"org-a", "org-b"} {
		for _, session := range []string{"s1", "s2", "s3", "s4", "s5", "s6"} {
			input := `"input":[{"type":"reasoning","summary":[],"encrypted_content":"gAAAA-` + owner + `"},{"role":"user","content":"x"}],"prompt_cache_key":"` + session + `"`
			a := s.ask(s.one, s.ada, "gpt-6-sol", input)
			calls := s.up.take()
			if a.Status != 200 || len(calls) > 2 || !strings.HasSuffix(calls[len(calls)-1], owner) {
				t.Errorf("%s: %v, %d %s", owner, calls, a.Status, a.Body)
			}
		}
	}
	a := s.ask(s.one, s.ada, "gpt-6-sol", `"input":[{"type":"reasoning","summary":[],"encrypted_content":"gAAAA-org-c"},{"role":"user","content":"x"}],"stream":true`)
	calls := s.up.take()
	if e := a.APIError(t); a.Status != 400 || e.Code != "invalid_encrypted_content" || len(calls) != 2 || calls[0] == calls[1] {
		t.Errorf("%v, %d %s", calls, a.Status, a.Body)
	}
}
