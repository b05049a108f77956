package all_test

import (
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/dialects/chat"
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
