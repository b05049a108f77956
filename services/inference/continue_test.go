package inference

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/models"
	"modelgateway/services/auth"
	"modelgateway/services/conversation"
	"modelgateway/services/pool"
)

// continuing is a source that names an earlier response.
type continuing struct {
	llm.Source
	previous string
}

func (c continuing) Previous() string { return c.previous }

func (c continuing) Keeps() bool { return true }

// from is a request of a caller that goes on from a response.
func from(caller auth.Caller, model, previous string) Input {
	input := keyed(model, models.Limits{})
	input.Caller, input.Request.Source = caller, continuing{input.Request.Source, previous}
	return input
}

func TestOwnerIsTheUserElseTheKeyOfATeam(t *testing.T) {
	for want, c := range map[models.KeptFor]auth.Caller{
		{Owner: "user:ada", TeamID: "t"}: {UserID: "ada", KeyID: "key_1", TeamID: "t"},
		{Owner: "user:ada"}:              {UserID: "ada", KeyID: "key_1"},
		{Owner: "user:bob", All: true}:   {UserID: "bob"},
		{Owner: "key:key_1"}:             {KeyID: "key_1", TeamID: "t"},
		{Owner: "anonymous"}:             {Address: "192.0.2.1"},
	} {
		if got := owner(&c); got != want {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

func TestResponseIsGoneOnFromByItsOwnerOnly(t *testing.T) {
	c := newFixture(t, answering(catalog.OpenAI, usedUp(1, 1)), answering(catalog.Anthropic, usedUp(1, 1)))
	ada, bob, team := ofKey("k", models.Limits{}), auth.Caller{UserID: "bob"}, auth.Caller{KeyID: "k", TeamID: "t"}
	if _, err := c.made(t, from(ada, gpt, "")); err != nil {
		t.Fatal(err)
	}
	without := from(ada, gpt, "")
	if _, err := c.made(t, without); err != nil || without.Request.Handle != nil {
		t.Error("a service without a secret names responses")
	}
	for _, id := range []string{"resp_1", "resp_1_mgwAAAAAAAAAAAAAAAAAAAAAAAAAAA"} { // with no secret none can be checked
		ask := from(ada, gpt, id)
		_, err := c.made(t, ask)
		refusal(t, err, 400, api.CodePreviousNotFound)
		if _, _, err = c.chat.Kept(t.Context(), KeptAsk{Caller: ada, Method: http.MethodGet, ID: id}); ask.Request.Kept != nil || api.AsError(err).Status != 404 {
			t.Errorf("%s: %+v, %v", id, ask.Request.Kept, err)
		}
	}
	c.chat.Handles = conversation.NewHandles(c.Store, time.Now)
	if err := c.chat.Handles.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := from(ada, gpt, "")
	if _, err := c.made(t, first); err != nil || first.Request.Kept != nil {
		t.Fatal(err)
	}
	handle := first.Request.Handle(catalog.OpenAI, "k1", "resp_1")
	next := from(auth.Caller{UserID: "ada"}, gpt, handle) // by a login
	if _, err := c.made(t, next); err != nil {
		t.Fatal(err)
	}
	if kept := next.Request.Kept; kept == nil || kept.Provider != catalog.OpenAI || string(kept.Key) != string(pool.Fingerprint("k1")) || kept.ID != "resp_1" {
		t.Errorf("%+v", kept)
	}
	var messages []string
	for name, ask := range map[string]Input{
		"another user":                 from(bob, gpt, handle),
		"the same key id without user": from(team, gpt, handle),
		"no caller":                    from(auth.Caller{}, gpt, handle),
		"the provider's id":            from(ada, gpt, "resp_1"),
		"one that does not exist":      from(ada, gpt, "resp_2"),
		"another key":                  from(ada, gpt, first.Request.Handle(catalog.OpenAI, "k2", "resp_1")),
	} {
		_, err := c.made(t, ask)
		e := refusal(t, err, 400, api.CodePreviousNotFound)
		if e.Param != "previous_response_id" || e.Type != api.TypeInvalidRequest || ask.Request.Kept != nil {
			t.Errorf("%s: %+v", name, e)
		}
		messages = append(messages, e.Message)
	}
	for _, m := range messages {
		if m != messages[0] || strings.Contains(m, "resp_1") {
			t.Errorf("%q tells more than %q", m, messages[0])
		}
	}
	_, err := c.made(t, from(ada, haiku, handle))
	refusal(t, err, 400, api.CodePreviousNotFound)
	_, err = c.made(t, from(ada, "none", handle))
	refusal(t, err, 404, api.CodeModelNotFound)
	ask := from(bob, gpt, handle)
	c.chat.Continue(t.Context(), nil, &ask)
	if _, err := c.chat.Count(t.Context(), ask); api.AsError(err).Code != api.CodePreviousNotFound {
		t.Errorf("counted: %v", err)
	}
}
