package providers

import (
	"testing"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/dialects/chat"
	"modelgateway/llm"
)

// chats is a provider that translates chat completions only.
type chats struct{ Exchange }

func (c chats) Abilities() Abilities { return Abilities{} }

func (c chats) Prepare(Call) (Exchange, error) { return c, nil }

func TestCallForAModelOfAnotherKindIsRefused(t *testing.T) {
	for _, tt := range []struct {
		asked, has llm.Kind
		want       string // the message; empty where the call is prepared
	}{
		{llm.KindChat, llm.KindChat, ""},
		{llm.KindChat, llm.KindEmbedding, "the model `m` is for embeddings, not for chat completions"},
		{llm.KindEmbedding, llm.KindChat, "the model `m` is for chat completions, not for embeddings"},
		{llm.KindEmbedding, llm.KindEmbedding, "p does not answer requests for embeddings"},
	} {
		req := &llm.Request{Kind: tt.asked, Source: new(chat.Request)}
		call := Call{Request: req, Model: &catalog.Model{ID: "m", Provider: "p", Kind: tt.has}}
		var got Exchange
		err := call.Check()
		if err == nil {
			got, err = Prepare(chats{}, call)
		}
		if tt.want == "" {
			if err != nil || got == nil {
				t.Errorf("%s of %s: %v", tt.asked, tt.has, err)
			}
			continue
		}
		e := api.AsError(err)
		if e.Status != 400 || e.Code != api.CodeUnsupportedValue || e.Param != "model" || e.Message != tt.want || got != nil {
			t.Errorf("%s of %s: %+v", tt.asked, tt.has, e)
		}
	}
}

func TestProviderServesTheKindsThatItPrepares(t *testing.T) {
	if !Serves(chats{}, llm.KindChat) || Serves(chats{}, llm.KindEmbedding) {
		t.Error("a provider of chat completions serves chat models only")
	}
}
