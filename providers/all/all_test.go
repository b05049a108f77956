package all_test

import (
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/all"
	"modelgateway/providers/providertest"
)

// A provider that uses the package of another one has its own name in errors.
func TestErrorsHaveTheNameOfTheProvider(t *testing.T) {
	req, err := chat.Decode(nil, []byte(`{"model":"acme-1","messages":[{"role":"user","content":"Hello"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all.Drivers() {
		for name, want := range map[string]string{"acme": "acme", "": d.Name} {
			up := providertest.Serve(t, providertest.Script{Status: 404})
			p := d.New(providers.Options{
				Name: name, BaseURL: up.URL, Now: time.Now, HeaderTimeout: time.Minute, IdleTimeout: time.Minute,
			})
			x, err := p.Prepare(providers.Call{Request: req, Model: &catalog.Model{ID: "acme-1", Upstream: "acme-1", Provider: "acme"}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err = x.Open(t.Context(), "sk-test"); err == nil || api.AsError(err).Provider != want {
				t.Errorf("%s as %q: %v", d.Name, name, err)
			}
		}
	}
}

// Another server with a vendor's API has other models; those of Anthropic's API are taken for Claude.
func TestWhatAVendorHasAServerWithItsAPIHasNot(t *testing.T) {
	for _, d := range all.Drivers() {
		own, copied := all.Abilities()[d.Name], d.New(providers.Options{Name: "acme", BaseURL: "https://acme.example"}).Abilities()
		claude := d.Name == catalog.Anthropic
		if !own.TakesMedia || own.RunsTools != claude || copied.TakesMedia || copied.RunsTools {
			t.Errorf("%s: %+v and %+v", d.Name, own, copied)
		}
		if (own.Tokens == llm.TokensClaude) != claude || (copied.Tokens == llm.TokensClaude) != claude ||
			(own.Tokens == llm.TokensOpenAI) != (d.Name == catalog.OpenAI) || copied.Tokens == llm.TokensOpenAI {
			t.Errorf("%s: the tokens of %d and %d", d.Name, own.Tokens, copied.Tokens)
		}
	}
}
