package monitoring

import (
	"os"
	"slices"
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
		if !strings.Contains(string(text), "\n      "+s.Name+": ") {
			t.Errorf("%s is missing", s.Name)
		}
	}
}

// Docker Compose 1.29 and 2 replace variables by their defaults in the same way.
func TestComposeFilePublishesNothingAndStartsWithoutDotenv(t *testing.T) {
	t.Parallel()
	services := composeServices(t)
	gateway, redis := services["gateway"], services["redis"]
	if want := []string{"${PUBLISH_ADDRESS:-127.0.0.1}:${PORT:-8080}:8080"}; !slices.Equal(gateway.Ports, want) {
		t.Errorf("published at %v", gateway.Ports)
	}
	if want := []string{"${GATEWAY_ENV_FILE:-.env.example}"}; !slices.Equal(gateway.EnvFile, want) {
		t.Errorf("env_file: %v", gateway.EnvFile)
	}
	if gateway.Environment["HOST"] != "" || gateway.Environment["PORT"] != "8080" {
		t.Errorf("listens on %q, port %q", gateway.Environment["HOST"], gateway.Environment["PORT"])
	}
	if want := []string{"CMD", "/modelgateway", "-readycheck"}; !slices.Equal(gateway.Healthcheck.Test, want) {
		t.Errorf("health check: %v", gateway.Healthcheck.Test)
	}
	const password = "${REDIS_PASSWORD:-modelgateway}"
	if at := slices.Index(redis.Command, "--requirepass"); at < 0 || redis.Command[at+1] != password ||
		redis.Environment["REDISCLI_AUTH"] != password || !strings.Contains(gateway.Environment["REDIS_URL"], "redis://:"+password+"@") {
		t.Errorf("redis: %v, %v, %s", redis.Command, redis.Environment, gateway.Environment["REDIS_URL"])
	}
}
