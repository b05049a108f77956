package config

import (
	"reflect"
	"testing"
)

// goodWebhook is 32 bytes in the form of Standard Webhooks.
const goodWebhook = "whsec_c2VjcmV0IG9mIGEgd2ViaG9vayBpbiBhIHRlc3QgISE="

func TestEverySecretCanComeFromAFile(t *testing.T) {
	values := map[string]string{
		"DATABASE_URL": "postgres://u:" + plantedSecret + "@db/g", "REDIS_URL": "redis://:" + plantedSecret + "@cache",
		"JWT_SECRET": plantedSecret, "JWT_SECRET_PREVIOUS": plantedSecret, "IDP_CLIENT_SECRET": plantedSecret,
		"OPENAI_API_KEY": plantedSecret, "ANTHROPIC_API_KEY": plantedSecret, "GEMINI_API_KEY": plantedSecret, "GOOGLE_API_KEY": plantedSecret,
		"METRICS_TOKEN": plantedSecret, "SMTP_URL": "smtp://u:" + plantedSecret + "@mail.example.com",
		"ALERT_WEBHOOK_URL": "https://hooks.example.com/" + plantedSecret, "ALERT_WEBHOOK_SECRET": goodWebhook,
		"ENCRYPTION_KEY": goodEncryption, "ENCRYPTION_KEY_PREVIOUS": goodEncryption,
		"OTEL_EXPORTER_OTLP_HEADERS": "authorization=" + plantedSecret, "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "authorization=" + plantedSecret,
	}
	others := map[string]string{
		"JWT_SECRET_PREVIOUS": "JWT_SECRET=" + goodSigning, "IDP_CLIENT_SECRET": "IDP_CLIENT_ID=id", "SMTP_URL": "SMTP_FROM=gateway@example.com",
		"ALERT_WEBHOOK_URL": "ALERT_WEBHOOK_SECRET=" + goodWebhook, "ALERT_WEBHOOK_SECRET": "ALERT_WEBHOOK_URL=https://hooks.example.com",
		"ENCRYPTION_KEY_PREVIOUS":    "ENCRYPTION_KEY=" + otherEncryption,
		"OTEL_EXPORTER_OTLP_HEADERS": "OTEL_TRACES_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "OTEL_TRACES_EXPORTER=otlp",
	}
	for _, s := range allSettings() {
		if !s.Secret {
			continue
		}
		value, ok := values[s.Name]
		if !ok {
			t.Errorf("%s: no value in this test", s.Name)
			continue
		}
		for _, end := range []string{"", "\n", "\r\n"} {
			path := write(t, "secret", value+end)
			direct := mustLoad(t, "", s.Name+"="+value, others[s.Name])
			fromFile := mustLoad(t, "", s.Name+"_FILE="+path, others[s.Name])
			for name, p := range fromFile.Providers {
				if (p.KeysFile == path) != (len(p.Keys) > 0) {
					t.Errorf("%s_FILE: the keys of %s are said to come from %q", s.Name, name, p.KeysFile)
				}
				p.KeysFile = ""
				fromFile.Providers[name] = p
			}
			direct.given, fromFile.given = nil, nil // name the sources
			if !reflect.DeepEqual(direct, fromFile) {
				t.Errorf("%s_FILE with end %q differs from %s", s.Name, end, s.Name)
			}
		}
		delete(values, s.Name)
	}
	if len(values) > 0 {
		t.Errorf("no longer secret: %v", values)
	}
}

func TestOnlyOneNewlineIsTrimmedFromASecretFile(t *testing.T) {
	path := write(t, "secret", " "+plantedSecret+"\n\n")
	if c := mustLoad(t, "", "JWT_SECRET_FILE="+path); c.JWTSecret.Reveal() != " "+plantedSecret+"\n" {
		t.Errorf("got %q", c.JWTSecret.Reveal())
	}
}

func TestFaultsOfASecretFile(t *testing.T) {
	good := write(t, "good", plantedSecret)
	weak := write(t, "weak", "changeme\n")
	tests := map[string][]string{
		"JWT_SECRET_FILE: the file cannot be read: no such file or directory": {"JWT_SECRET_FILE=" + plantedSecret},
		"JWT_SECRET_FILE: the file cannot be read: is a directory":            {"JWT_SECRET_FILE=" + t.TempDir()},
		"JWT_SECRET_FILE: the file is empty":                                  {"JWT_SECRET_FILE=" + write(t, "empty", "\n")},
		"JWT_SECRET_FILE: the file is larger than 1 MiB":                      {"JWT_SECRET_FILE=/dev/zero"},
		"JWT_SECRET and JWT_SECRET_FILE are both set: keep one": {
			"JWT_SECRET=" + plantedSecret, "JWT_SECRET_FILE=" + good,
		},
		"JWT_SECRET_FILE: a well-known value, which attackers try first: it contains changeme, as examples and templates do; " +
			"generate one with: openssl rand -hex 32": {"JWT_SECRET_FILE=" + weak, "REQUIRE_AUTH=true"},
		"OPENAI_API_KEY_FILE: the file cannot be read: no such file or directory": {"OPENAI_API_KEY_FILE=/nowhere"},
		"REDIS_URL_FILE: does not begin with redis:// or rediss://":               {"REDIS_URL_FILE=" + good},
		"GEMINI_API_KEY and GOOGLE_API_KEY are both set and differ: keep one":     {"GEMINI_API_KEY_FILE=" + good, "GOOGLE_API_KEY=x"},
		"IDP_CLIENT_ID: missing, but required by IDP_CLIENT_SECRET":               {"IDP_CLIENT_SECRET_FILE=" + good},
		"JWT_SECRET_PREVIOUS: the same as JWT_SECRET, so nothing was rotated": {
			"JWT_SECRET_FILE=" + good, "JWT_SECRET_PREVIOUS=" + plantedSecret,
		},
		"JWT_SECRET_FLIE is not a setting; did you mean JWT_SECRET_FILE?": {"JWT_SECRET_FLIE=" + good},
		"ANTHROPIC_API_KEY and ANTHROPIC_API_KEY_FILE are both set: keep one": {
			"ANTHROPIC_API_KEY=" + plantedSecret, "ANTHROPIC_API_KEY_FILE=" + plantedSecret,
		},
		"OPENAI_API_KEY_FILE: item 1: a key contains a space, a control character or a character that is not ASCII": {
			"OPENAI_API_KEY_FILE=" + write(t, "two", plantedSecret+"\n"+plantedSecret+"\n"),
		},
	}
	for want, environ := range tests {
		if _, err := load(environ, ""); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
