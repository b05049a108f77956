package openai

import (
	"net/http"
	"testing"

	"modelgateway/catalog"
	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/openai/openaitest"
	"modelgateway/providers/providertest"
)

func TestWhichAPIServesAModel(t *testing.T) {
	own := New(providers.Options{BaseURL: address})
	other, copied := New(providers.Options{BaseURL: "http://127.0.0.1:1"}), New(openaitest.Options(address, providers.Server{ChatOnly: true}))
	for id, want := range map[string][3]string{ // at OpenAI, at another address, of a server that copies its API
		"gpt-4.1":         {catalog.APIChat, catalog.APIChat, catalog.APIChat},
		"gpt-5":           {catalog.APIBoth, catalog.APIBoth, catalog.APIChat},
		"gpt-5.1":         {catalog.APIBoth, catalog.APIBoth, catalog.APIChat},
		"gpt-6-sol":       {catalog.APIBoth, catalog.APIBoth, catalog.APIChat},
		"o3":              {catalog.APIBoth, catalog.APIBoth, catalog.APIChat},
		"o1":              {catalog.APIChat, catalog.APIChat, catalog.APIChat},
		"gpt-5.3-codex":   {catalog.APIResponses, catalog.APIResponses, catalog.APIChat},
		"o3-pro":          {catalog.APIResponses, catalog.APIResponses, catalog.APIChat},
		"new-model":       {catalog.APIBoth, catalog.APIChat, catalog.APIChat},
		"gpt-4o-search-x": {catalog.APIChat, catalog.APIChat, catalog.APIChat},
	} {
		m := openaitest.Model(t, id)
		if got := [3]string{own.api(m), other.api(m), copied.api(m)}; got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
}

// A model that chat completions do not serve is called by the Responses API whatever the
// client asks: what that does not have is named.
func TestModelsOfTheResponsesAPIAloneAreNeverCalledByChatCompletions(t *testing.T) {
	req, err := chat.Decode(nil, []byte(openaitest.Hello+`,"n":2,"seed":1,"prediction":{},"store":true}`))
	if err != nil {
		t.Fatal(err)
	}
	up := providertest.Serve(t, providertest.Script{Status: http.StatusBadRequest})
	x, err := provider(up.URL).Prepare(providers.Call{Request: req, Model: openaitest.Model(t, "gpt-5.3-codex")})
	if err != nil || len(x.Properties().Ignored) != 4 {
		t.Fatalf("%v, ignored %v", err, x.Properties().Ignored)
	}
	if _, err := x.Open(t.Context(), openaitest.Key); err == nil || up.Requests()[0].Path != "/v1/responses" {
		t.Errorf("%v, sent to %s", err, up.Requests()[0].Path)
	}
}

// provider is a provider at an address.
func provider(url string) *Provider { return New(openaitest.Options(url, providers.Server{})) }

// A server with a copy of the API is asked by chat completions.
func TestServersWithChatCompletionsOnlyAreNotCalledNatively(t *testing.T) {
	p := New(providers.Options{Server: providers.Server{ChatOnly: true}})
	if p.speaks(llm.Responses, nil) || !p.speaks(llm.Chat, nil) || !provider("").speaks(llm.Responses, nil) || provider("").speaks(llm.Messages, nil) {
		t.Error("it speaks something else")
	}
}
