package operations

import (
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

func TestInvalidSettingsRefuseToStart(t *testing.T) {
	t.Parallel()
	for _, settings := range [][]string{
		{"PORT=eighty"},
		{"REQUIRE_AUTH=ture"},
		{"REQUIRE_AUTH=TRUE "},
		{"REQUIRE_AUTH=yes"},
		{"JWT_SECRET=", "REQUIRE_AUTH=true"},
		{"JWT_SECRET=changeme", "REQUIRE_AUTH=true"},
		{"JWT_SECRET=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "REQUIRE_AUTH=true"},
		{"JWT_SECRET=short-but-random-8f2b", "REQUIRE_AUTH=true"},
		{"IDP_CLIENT_ID=half"},
		{"TRUSTED_PROXIES=everybody"},
		{"JWT_EXPIRY_SECONDS=24h"},
		{"MODELS_FILE=/nonexistent.yaml"},
		{"SIMULATOR=true", "OPENAI_BASE_URL=http://127.0.0.1:1"},
		{"REQUIRE_ATUH=true"},
	} {
		p, err := gatewaytest.TryStart(t, settings...)
		if err == nil {
			_ = p.Stop()
		}
		name, _, _ := strings.Cut(settings[0], "=")
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v: %v", settings, err)
		}
	}
}
