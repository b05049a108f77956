package config

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// effective are the settings of an environment and a .env file, by name.
func effective(t *testing.T, dotenv string, environ ...string) map[string]Effective {
	t.Helper()
	path := filepath.Join(t.TempDir(), ".env")
	if err := os.WriteFile(path, []byte(dotenv), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(environ, path, TestProviders)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]Effective{}
	for _, e := range c.Effective(TestProviders) {
		all[e.Name] = e
	}
	return all
}

func TestEffectiveSettingsHaveTheirSource(t *testing.T) {
	t.Parallel()
	secretFile := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(secretFile, []byte("sk-1,sk-2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	all := effective(t, "PORT=1\nMAX_RETRIES=3\n", "PORT=4711", "OPENAI_API_KEY_FILE="+secretFile, "HOST=")
	for name, want := range map[string]Effective{
		"PORT":                  {Value: "4711", Source: FromEnvironment, IsSet: true},
		"MAX_RETRIES":           {Value: "3", Source: FromFile, IsSet: true},
		"LOG_LEVEL":             {Value: "info", Source: FromDefault},
		"HOST":                  {Source: FromDefault},
		"PUBLIC_URL":            {Value: "http://localhost:4711", Source: FromDefault},
		"OPENAI_API_KEY":        {Source: FromFile, IsSet: true, Count: 2},
		"RESPONSES_STORE_HOURS": {Value: "0", Source: FromDefault},
		"DATABASE_URL":          {Value: "sqlite:./data/gateway.db", Source: FromDefault},
	} {
		want.Setting = all[name].Setting
		if got := all[name]; got != want || got.Group == "" || got.Doc == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestEffectiveSettingsShowNoSecret(t *testing.T) {
	t.Parallel()
	var environ []string
	for _, row := range newLoader(TestProviders).table() {
		if row.Secret && !row.Address {
			switch {
			case strings.HasPrefix(row.Name, "ENCRYPTION"):
				environ = append(environ, row.Name+"=c0ffee5ec4e7c0ffee5ec4e7c0ffee5ec4e70123456789abcdef0123456789"+fmt.Sprintf("%02d", len(environ)))
			case row.Name == "GOOGLE_API_KEY", strings.HasPrefix(row.Name, "OTEL"), strings.HasPrefix(row.Name, "ALERT"):
			default:
				environ = append(environ, row.Name+"=c0ffee5ec4e7-"+plantedSecret+fmt.Sprint(len(environ)))
			}
		}
	}
	all := effective(t, "", append(environ, "IDP_CLIENT_ID=client",
		"DATABASE_URL=postgres://gw:"+plantedSecret+"@db:5432/gateway?sslmode=disable&password="+plantedSecret,
		"REDIS_URL=redis://:"+plantedSecret+"@cache:6379/1", "SMTP_URL=smtp://mailer:"+plantedSecret+"@mail:587", "SMTP_FROM=gw@example.com",
		"ALERT_WEBHOOK_URL=https://hooks.example.com/"+plantedSecret, "ALERT_WEBHOOK_SECRET="+goodWebhook,
		"OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20"+plantedSecret)...)
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), plantedSecret) || strings.Contains(string(text), "c0ffee5ec4e7") ||
		strings.Contains(string(text), goodWebhook) {
		t.Errorf("%s", text)
	}
	for name, want := range map[string]string{
		"DATABASE_URL": "postgres://gw@db:5432/gateway", "REDIS_URL": "redis://cache:6379/1", "SMTP_URL": "smtp://mailer@mail:587",
		"JWT_SECRET": "", "METRICS_TOKEN": "", "OTEL_EXPORTER_OTLP_HEADERS": "",
	} {
		if got := all[name]; got.Value != want || !got.IsSet {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestAnAddressIsShownWithoutWhatMayBeSecret(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"redis://token@h:6379": "redis://h:6379", "postgres://u:p%40@h/d?x=1#f": "postgres://u@h/d", "sqlite:./x.db": "sqlite:./x.db",
		"rediss://h/0": "rediss://h/0", "password": "", "%": "", "postgres://u:p@[::1]:5432/d": "postgres://u@[::1]:5432/d",
	} {
		if got := withoutPassword(address); got != want {
			t.Errorf("%s: %q", address, got)
		}
	}
}

func TestKeysThatWereReadAgainAreCounted(t *testing.T) {
	t.Parallel()
	c, err := Load([]string{"OPENAI_API_KEY=sk-1", "PORT=1"}, "", TestProviders)
	if err != nil {
		t.Fatal(err)
	}
	later, err := Load([]string{"OPENAI_API_KEY=sk-1,sk-2", "ANTHROPIC_API_KEY=sk-3", "PORT=2"}, "", TestProviders)
	if err != nil {
		t.Fatal(err)
	}
	before := *c
	c.TakeKeys(later, TestProviders)
	count := func(c *Config, name string) (n int, value string) {
		for _, e := range c.Effective(TestProviders) {
			if e.Name == name {
				return e.Count, e.Value
			}
		}
		return -1, ""
	}
	openai, _ := count(c, "OPENAI_API_KEY")
	anthropic, _ := count(c, "ANTHROPIC_API_KEY")
	_, port := count(c, "PORT")
	if old, _ := count(&before, "OPENAI_API_KEY"); openai != 2 || anthropic != 1 || port != "1" || old != 1 || len(c.Providers["openai"].Keys) != 2 {
		t.Errorf("%d, %d, %s, %d", openai, anthropic, port, old)
	}
}
