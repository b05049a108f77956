package config

import (
	"slices"
	"testing"
)

// TestProviders are the providers of the tests in this package.
var TestProviders = []ProviderSettings{
	{Name: "openai", Title: "OpenAI", Prefix: "OPENAI", Models: "gpt", BaseURL: "https://api.openai.com/v1", Version: "/v1"},
	{
		Name: "anthropic", Title: "Anthropic", Prefix: "ANTHROPIC", Models: "claude",
		BaseURL: "https://api.anthropic.com", Version: "/v1",
	},
	{
		Name: "gemini", Title: "Gemini", Prefix: "GEMINI", Models: "gemini",
		BaseURL: "https://generativelanguage.googleapis.com", Version: "/v1beta", OtherKeys: []string{"GOOGLE_API_KEY"},
	},
}

func load(environ []string, dotenv string) (*Config, error) {
	return Load(environ, dotenv, TestProviders)
}

func allSettings() []Setting { return Settings(TestProviders) }

func allNames() []string { return newLoader(TestProviders).known }

func TestAFurtherProviderHasItsSettings(t *testing.T) {
	acme := ProviderSettings{
		Name: "acme", Title: "Acme", Prefix: "ACME", Models: "acme", BaseURL: "https://acme.example/v2", Version: "/v2",
		OtherKeys: []string{"ACME_TOKEN", "ROADRUNNER_TOKEN"},
	}
	with := append(slices.Clone(TestProviders), acme)
	for _, test := range []struct {
		environ []string
		want    Provider
	}{
		{nil, Provider{BaseURL: "https://acme.example"}},
		{[]string{"ACME_API_KEY=k", "ACME_BASE_URL=http://127.0.0.1:1/v2/"}, Provider{Keys: []Secret{NewSecret("k")}, BaseURL: "http://127.0.0.1:1"}},
		{[]string{"ROADRUNNER_TOKEN=a,b"}, Provider{Keys: []Secret{NewSecret("a"), NewSecret("b")}, BaseURL: "https://acme.example"}},
		{[]string{"ACME_TOKEN=a", "ROADRUNNER_TOKEN=a"}, Provider{Keys: []Secret{NewSecret("a")}, BaseURL: "https://acme.example"}},
	} {
		c, err := Load(test.environ, "", with)
		if err != nil {
			t.Errorf("%q: %v", test.environ, err)
			continue
		}
		got := c.Providers["acme"]
		if got.BaseURL != test.want.BaseURL || !slices.Equal(reveal(got.Keys), reveal(test.want.Keys)) || len(c.Providers) != 4 {
			t.Errorf("%q: got %+v", test.environ, c.Providers)
		}
	}
	for want, environ := range map[string][]string{
		"ACME_APIKEY is not a setting; did you mean ACME_API_KEY?":            {"ACME_APIKEY=k"},
		"ACME_TOKEN and ROADRUNNER_TOKEN are both set and differ: keep one":   {"ACME_TOKEN=a", "ROADRUNNER_TOKEN=b"},
		"ACME_API_KEY and ROADRUNNER_TOKEN are both set and differ: keep one": {"ACME_API_KEY=a", "ROADRUNNER_TOKEN=b"},
		"SIMULATOR: cannot be true while ACME_BASE_URL is set: the simulator replaces all providers": {
			"SIMULATOR=true", "ACME_BASE_URL=http://a",
		},
	} {
		if _, err := Load(environ, "", with); err == nil || err.Error() != want {
			t.Errorf("%q: got %v", environ, err)
		}
	}
}
