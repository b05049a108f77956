package config

import (
	"slices"
	"strings"
	"testing"
)

func TestAProviderMayNeedItsAddressOrNothingElse(t *testing.T) {
	with := append(slices.Clone(TestProviders),
		ProviderSettings{Name: "resource", Title: "Resource", Prefix: "RESOURCE", Models: "resource", Version: "/v1"},
		ProviderSettings{Name: "local", Title: "Local", Prefix: "LOCAL", Models: "local", Version: "/v1", Keyless: true})
	for environ, want := range map[string][]string{
		"":                                   nil,
		"RESOURCE_BASE_URL=http://a/v1":      nil,
		"RESOURCE_API_KEY=k LOCAL_API_KEY=k": nil,
		"RESOURCE_BASE_URL=http://a/v1 RESOURCE_API_KEY=k": {"resource"},
		"LOCAL_BASE_URL=http://a/v1":                       {"local"},
		"LOCAL_BASE_URL=http://a/v1 LOCAL_API_KEY=k":       {"local"},
		"OPENAI_API_KEY=k":                                 {"openai"},
	} {
		c, err := Load(strings.Fields(environ), "", with)
		if err != nil {
			t.Errorf("%s: %v", environ, err)
			continue
		}
		var got []string
		for name, p := range c.Providers {
			if p.Configured() {
				got = append(got, name)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: configured are %v, want %v", environ, got, want)
		}
	}
}

func TestTheVariablesThatTheModelsFileNamesAreRead(t *testing.T) {
	file := write(t, "models.yaml", `
providers:
  - {name: eu, keys: {env: ACME_EU_KEY}}
  - {name: us, keys: [{env: ACME_US_KEY}, {file: /nowhere}]}
  - {name: literal, keys: sk-literal}
`)
	dotenv := write(t, ".env", "MODELS_FILE="+file+"\nACME_EU_KEY=a,b\n")
	c := mustLoad(t, dotenv, "ACME_US_KEY=c")
	if len(c.Variables) != 2 || !slices.Equal(reveal(c.Variables["ACME_EU_KEY"]), []string{"a", "b"}) ||
		!slices.Equal(reveal(c.Variables["ACME_US_KEY"]), []string{"c"}) {
		t.Errorf("got %v", c.Variables)
	}
	if _, err := load(nil, write(t, ".env", "MODELS_FILE="+file+"\nACME_EU_KEYS=a\n")); err == nil ||
		!strings.Contains(err.Error(), "line 2: ACME_EU_KEYS is not a setting; did you mean ACME_EU_KEY?") {
		t.Errorf("a misspelt variable: %v", err)
	}
	if _, err := load([]string{"MODELS_FILE=" + file, "ACME_EU_KEY=a b"}, ""); err == nil || strings.Contains(err.Error(), "a b") ||
		!strings.HasPrefix(err.Error(), "ACME_EU_KEY: ") {
		t.Errorf("a bad key: %v", err)
	}
}
