package monitoring

import (
	"os"
	"strings"
	"testing"

	"modelgateway/config"
	"modelgateway/providers/all"

	"modelgateway/tests/gatewaytest"
)

// The gateway would never see a setting that the compose file does not pass on.
func TestComposeFilePassesEverySetting(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(gatewaytest.File(t, "docker-compose.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range config.Settings(all.Settings()) {
		if s.Name != "HOST" && s.Name != "PORT" && !strings.Contains(string(text), "\n      "+s.Name+": ") {
			t.Errorf("%s is missing", s.Name)
		}
	}
}
