package config

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

const plantedSecret = "planted-S3cret-0f9e8d7c6b5a49382716"

// leaks reports whether s holds the planted secret in any of the forms in
// which fmt writes a text.
func leaks(s string) bool {
	for _, form := range []string{
		plantedSecret,
		fmt.Sprintf("%x", plantedSecret),
		fmt.Sprintf("%X", plantedSecret),
		fmt.Sprintf("% x", plantedSecret),
		fmt.Sprintf("%d", []byte(plantedSecret)),
		strings.Trim(fmt.Sprintf("%v", []byte(plantedSecret)), "[]"),
	} {
		if strings.Contains(s, form) {
			return true
		}
	}
	return false
}

// holder keeps a secret where fmt cannot call its methods.
type holder struct {
	name   string
	secret Secret
	pool   []Secret
	inner  struct{ deep *Secret }
}

func TestSecretDoesNotPrintWithAnyVerb(t *testing.T) {
	secret := NewSecret(plantedSecret)
	hidden := holder{name: "n", secret: secret, pool: []Secret{secret}}
	hidden.inner.deep = &secret
	values := map[string]any{
		"value":   secret,
		"pointer": &secret,
		"slice":   []Secret{secret},
		"map":     map[string]Secret{"k": secret},
		"field":   struct{ Key Secret }{secret},
		"hidden":  hidden,
		"address": &hidden,
		"config":  Config{JWTSecret: secret, Providers: map[string]Provider{"openai": {Keys: []Secret{secret}}}},
	}
	for name, value := range values {
		for _, verb := range strings.Split("v s q x X d o b c U e f g t T p w", " ") {
			for _, flag := range []string{"", "+", "#", "-", " ", "0", "40", ".99", "+#", "# "} {
				format := "%" + flag + verb
				if got := fmt.Sprintf(format, value); leaks(got) {
					t.Errorf("%s of %s: %s", format, name, got)
				}
			}
		}
	}
	if got := fmt.Sprintf("%v %s %q", secret, &secret, []Secret{secret}); got != "[redacted] [redacted] [[redacted]]" {
		t.Errorf("prints as %s", got)
	}
}

func TestSecretDoesNotPrintInErrors(t *testing.T) {
	err := fmt.Errorf("call with %v: %w", NewSecret(plantedSecret), fmt.Errorf("%#v", Config{RedisURL: NewSecret(plantedSecret)}))
	if leaks(err.Error()) {
		t.Errorf("error: %v", err)
	}
}

func TestSecretDoesNotTravelInJSON(t *testing.T) {
	type document struct {
		Key   Secret            `json:"key"`
		Pool  []Secret          `json:"pool"`
		Named map[string]Secret `json:"named"`
		Unset Secret            `json:"unset"`
	}
	secret := NewSecret(plantedSecret)
	doc := document{Key: secret, Pool: []Secret{secret}, Named: map[string]Secret{"a": secret}}
	const want = `{"key":"[redacted]","pool":["[redacted]"],"named":{"a":"[redacted]"},"unset":""}`
	for name, marshal := range map[string]func(any) ([]byte, error){
		"encoding/json": stdjson.Marshal,
		"json/v2":       func(v any) ([]byte, error) { return json.Marshal(v) },
	} {
		if got, err := marshal(doc); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

func TestSecretDoesNotPrintInLogs(t *testing.T) {
	secret := NewSecret(plantedSecret)
	config := Config{DatabaseURL: secret, Providers: map[string]Provider{"gemini": {Keys: []Secret{secret}}}}
	for name, handler := range map[string]func(*bytes.Buffer) slog.Handler{
		"text": func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
		"json": func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
	} {
		var out bytes.Buffer
		slog.New(handler(&out)).Info("m", "one", secret, "pointer", &secret, "many", []Secret{secret},
			"config", config, "address", &config, slog.Any("hidden", holder{secret: secret}))
		if leaks(out.String()) || !strings.Contains(out.String(), "[redacted]") {
			t.Errorf("%s: %s", name, out.String())
		}
	}
}

func TestUnsetSecretPrintsAsNothing(t *testing.T) {
	for _, secret := range []Secret{{}, NewSecret("")} {
		if got := fmt.Sprintf("%v%s%q%+v", secret, secret, secret, secret); got != "" || !secret.IsZero() || secret.Reveal() != "" {
			t.Errorf("an unset secret prints %q and reveals %q", got, secret.Reveal())
		}
	}
}

func TestSecretRevealsItsText(t *testing.T) {
	if secret := NewSecret(plantedSecret); secret.Reveal() != plantedSecret || secret.IsZero() {
		t.Errorf("reveals %q", secret.Reveal())
	}
}
