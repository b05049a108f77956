package operations

import (
	"strings"
	"testing"

	"modelgateway/api"
	"modelgateway/tests/gatewaytest"
)

// shown decodes what a page of the administration answers with, which has none of the secrets.
func shown[T any](t *testing.T, p *gatewaytest.Program, path string, root []string, secrets ...string) (list T) {
	t.Helper()
	a := p.Call(t, "GET", path, "", root...)
	if a.Status != 200 || a.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	for _, secret := range secrets {
		if strings.Contains(a.Body, secret) {
			t.Errorf("%s is shown: %s", secret, a.Body)
		}
	}
	a.JSON(t, &list)
	return list
}

// settingsOf is what GET /admin/settings answers with.
func settingsOf(t *testing.T, p *gatewaytest.Program) api.SettingList {
	t.Helper()
	return shown[api.SettingList](t, p, "/admin/settings", p.Administrator(t), "canary")
}

func TestSettingsInEffectAreShownWithoutSecrets(t *testing.T) {
	t.Parallel()
	list := settingsOf(t, gatewaytest.Start(t, gatewaytest.JWTSecret,
		"OPENAI_API_KEY=sk-canary-1,sk-canary-2", "METRICS_TOKEN=canary-token", "MAX_RETRIES=1"))
	all := map[string]api.Setting{}
	for _, s := range list.Data {
		all[s.Name] = s
	}
	for _, want := range []api.Setting{
		{Name: "MAX_RETRIES", Group: "Models", Value: "1", Default: "2", Source: "environment", Set: true},
		{Name: "LOG_FORMAT", Group: "Logging and metrics", Value: "json", Default: "auto", Source: "environment", Set: true},
		{Name: "STRICT_PARAMS", Group: "Models", Value: "false", Default: "false", Source: "default"},
		{Name: "JWT_SECRET", Group: "Authentication", Source: "environment", Secret: true, Set: true},
		{Name: "REDIS_URL", Group: "Storage", Source: "default", Secret: true},
	} {
		got := all[want.Name]
		if got.Description == "" {
			t.Errorf("%s has no description", want.Name)
		}
		got.Description = ""
		if got != want {
			t.Errorf("%+v, not %+v", got, want)
		}
	}
	if keys := all["OPENAI_API_KEY"]; !keys.Secret || !keys.Set || keys.Count == nil || *keys.Count != 2 || keys.Value != "" {
		t.Errorf("%+v", keys)
	}
	if list.StartedAt == 0 || list.Version == "" || len(list.Warnings) != 1 ||
		!strings.Contains(list.Warnings[0].Message, "anyone who reaches this address can use it") { // only this machine does
		t.Errorf("%d, %s, %v", list.StartedAt, list.Version, list.Warnings)
	}
}

func TestWarningsAreThoseOfCheckAndNameTheirSetting(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "HOST=", "OPENAI_API_KEY=sk-canary-1",
		"ADMIN_EMAILS=root@example.com,other@example.com", "AZURE_OPENAI_API_KEY=k")
	list := settingsOf(t, p)
	var named []string
	for _, w := range list.Warnings {
		named = append(named, string(w.Setting))
		if !strings.Contains(w.Message, string(w.Setting)) || strings.Count(p.Log.String(), w.Message[:60]) == 0 {
			t.Errorf("%+v was not logged by the start", w)
		}
	}
	if got := strings.Join(named, " "); got != "AZURE_OPENAI_API_KEY JWT_SECRET REQUIRE_AUTH ADMIN_EMAILS" {
		t.Errorf("%s: %+v", got, list.Warnings)
	}
}
