package monitoring

import (
	"cmp"
	"os"
	"regexp"
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

// composed is the environment of the container, with these variables on the machine.
func composed(t *testing.T, machine map[string]string) (environ []string) {
	t.Helper()
	variable := regexp.MustCompile(`\$\{(\w+):-([^}]*)\}`)
	for name, value := range composeServices(t)["gateway"].Environment {
		environ = append(environ, name+"="+variable.ReplaceAllStringFunc(value, func(v string) string {
			parts := variable.FindStringSubmatch(v)
			return cmp.Or(machine[parts[1]], parts[2])
		}))
	}
	return environ
}

// Who starts the compose file as it is, perhaps on another port, is told how to go on.
func TestComposeFileStartsAGatewayThatSaysWhatToDo(t *testing.T) {
	t.Parallel()
	const try = "or SIMULATOR=true to try the gateway without keys: SIMULATOR=true docker compose up"
	environ := append(composed(t, map[string]string{"PORT": "18350"}), "DATABASE_URL=sqlite:"+t.TempDir()+"/gateway.db", "REDIS_URL=",
		"HOST=127.0.0.1", "PORT=0")
	p := gatewaytest.Start(t, environ...)
	for _, want := range []string{try, "http://localhost:18350/docs", "http://localhost:18350/"} {
		if !strings.Contains(p.Log.String(), want) {
			t.Errorf("the log lacks %q: %s", want, p.Log)
		}
	}
	if strings.Contains(p.Log.String(), "localhost:8080") {
		t.Errorf("the log has the port of the container: %s", p.Log)
	}
	for model, status := range map[string]int{"gpt-4": 503, "claude-haiku-4-5": 404} { // of the catalogue, and of a known family
		a := p.Chat(t, `{"model":"`+model+`","messages":[{"role":"user","content":"Hello"}]}`)
		if a.Status != status || !strings.Contains(a.APIError(t).Message, "_API_KEY, "+try) {
			t.Errorf("%s: %d %s", model, a.Status, a.Body)
		}
	}
	simulated := gatewaytest.Start(t, append(environ, "DATABASE_URL=sqlite:"+t.TempDir()+"/gateway.db", "SIMULATOR=true")...)
	if a := simulated.Chat(t, gatewaytest.HelloRequest); a.Status != 200 {
		t.Errorf("with the simulator: %d %s", a.Status, a.Body)
	}
}
