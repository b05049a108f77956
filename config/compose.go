package config

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"modelgateway/internal/spelling"
)

// envFileVariable holds, under Docker Compose, the path of the .env file whose
// variables are the environment of the container. It is set in the file itself.
const envFileVariable = "GATEWAY_ENV_FILE"

// publishedPort is set by docker-compose.yml: the port of this machine behind which the
// container listens on its own PORT. Compose 1.29 cannot make PUBLIC_URL of it.
const publishedPort = "GATEWAY_PUBLISHED_PORT"

// port is the one by which clients on this machine reach the gateway.
func (l *loader) port() int {
	if published, err := strconv.Atoi(l.environ[publishedPort]); err == nil {
		return published
	}
	return l.Port
}

// ComposeSettings are read by docker-compose.yml, not by the gateway.
func ComposeSettings() []Setting {
	return []Setting{
		{
			Name: envFileVariable, Default: ".env",
			Doc: "Passes this file to the container, so that all of its settings arrive there and a misspelt name stops the start (keep this line).",
		},
		{
			Name: "PUBLISH_ADDRESS", Default: "127.0.0.1",
			Doc: "Address of this machine on which PORT is published; 0.0.0.0 is every interface (an IP address, IPv6 in brackets).",
		},
		{
			Name: "POSTGRES_PASSWORD", Default: "modelgateway", Secret: true,
			Doc: "Password of the database; set it before the first start, since the volume keeps it (letters, digits, - and _).",
		},
		{
			Name: "REDIS_PASSWORD", Default: "modelgateway", Secret: true,
			Doc: "Password of Redis (letters, digits, - and _).",
		},
	}
}

// isComposeName says whether a variable of .env is for Docker Compose or Docker.
func isComposeName(name string) bool {
	return strings.HasPrefix(name, "COMPOSE_") || strings.HasPrefix(name, "DOCKER_") ||
		slices.ContainsFunc(ComposeSettings(), func(s Setting) bool { return s.Name == name })
}

// containerNames are variables that a container has without .env: of its image, of
// Docker, of Go's runtime and of its libraries; and those that a takeover of a LiteLLM is given.
const containerNames = `^(PATH|HOME|HOSTNAME|TERM|TZ|LANG|LC_[A-Z]+|container|SSL_CERT_(FILE|DIR)|` + publishedPort + `|` +
	`GO(GC|MEMLIMIT|DEBUG|MAXPROCS|TRACEBACK)|(HTTPS?|NO|ALL|FTP)_PROXY|(https?|no|all|ftp)_proxy|` +
	`LITELLM_(DATABASE_URL|(SALT|MASTER)_KEY(_FILE)?))$`

// reportUnknown reports all unknown names of a container's environment, which
// came from its .env file.
func (l *loader) reportUnknown(environ map[string]string) {
	container := regexp.MustCompile(containerNames)
	for name := range sorted(environ) {
		if !slices.Contains(l.known, name) && !isComposeName(name) && !container.MatchString(name) {
			l.fault("%s: %s", oneLine(environ[envFileVariable]), l.unknown(name))
		}
	}
}

// settingName is the form of a setting's name, or of a short word. Other texts are not shown in faults:
// they may be a part of a secret.
var settingName = regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$|^[A-Z]{1,12}$`)

// unknown is the fault of a name that is no setting, in a file that is only for
// settings.
func (l *loader) unknown(name string) string {
	if meant := nearest(name, l.known); meant != "" {
		return misspelt(name, meant)
	}
	if meant := spelling.Nearest(name, l.known, 1); len(meant) > 0 && len(name) < minLength && settingName.MatchString(name) {
		return misspelt(name, meant[0])
	}
	if settingName.MatchString(name) {
		return name + " is not a setting"
	}
	return "the name is not that of a setting"
}
