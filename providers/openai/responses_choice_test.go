package openai

import (
	"testing"

	"modelgateway/catalog"
	"modelgateway/providers"
)

func TestWhichAPIServesAModel(t *testing.T) {
	own := New(providers.Options{BaseURL: address})
	other, copied := New(providers.Options{BaseURL: "http://127.0.0.1:1"}), chatOnly(address)
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
		m := model(t, id)
		if got := [3]string{own.api(m), other.api(m), copied.api(m)}; got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
}

// A model that chat completions do not serve is called by the Responses API whatever the
// client asks: what that does not have is named.
func TestModelsOfTheResponsesAPIAloneAreNeverCalledByChatCompletions(t *testing.T) {
	x := prepare(t, provider("http://127.0.0.1:1"), "gpt-5.3-codex", hello+`,"n":2,"seed":1,"prediction":{},"store":true}`)
	if _, ok := x.(*respondingExchange); !ok || len(x.Properties().Ignored) != 4 {
		t.Errorf("%T, ignored %v", x, x.Properties().Ignored)
	}
}
