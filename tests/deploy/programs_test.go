package deploy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// nginxArguments runs nginx with the example as a package of Debian includes it.
func nginxArguments(t *testing.T, f *front) []string {
	t.Helper()
	site := f.write(t, "modelgateway.conf", f.example(t, "nginx/modelgateway.conf",
		"listen 443 ssl", "listen 127.0.0.1:"+f.https+" ssl", "listen 80", "listen 127.0.0.1:"+f.http, "server 127.0.0.1:8080;",
		"server "+strings.Join(f.gateways, ";\nserver ")+";", "/etc/nginx/tls/gateway.crt", f.crt, "/etc/nginx/tls/gateway.key", f.key))
	main := "daemon off;\nmaster_process off;\npid " + f.folder + "/pid;\nevents {}\nhttp {\n\taccess_log off;\n"
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		main += fmt.Sprintf("\t%s_temp_path %s/%s;\n", kind, f.folder, kind)
	}
	return []string{"-e", "stderr", "-p", f.folder, "-c", f.write(t, "nginx.conf", main+"\tinclude "+site+";\n}\n")}
}

// caddyArguments runs Caddy with the example, on other ports.
func caddyArguments(t *testing.T, f *front) []string {
	t.Helper()
	site := f.example(t, "caddy/Caddyfile", "127.0.0.1:8080", strings.Join(f.gateways, " "),
		"/etc/caddy/tls/gateway.crt", f.crt, "/etc/caddy/tls/gateway.key", f.key)
	options := "{\n\tadmin off\n\thttp_port " + f.http + "\n\thttps_port " + f.https + "\n}\n"
	return []string{"run", "--adapter", "caddyfile", "--config", f.write(t, "Caddyfile", options+site)}
}

// traefikArguments runs Traefik with both files of the example.
func traefikArguments(t *testing.T, f *front) []string {
	t.Helper()
	dynamic := f.write(t, "modelgateway.yml", f.example(t, "traefik/modelgateway.yml", "127.0.0.1:8080", strings.Join(f.gateways, "\n          - url: http://"),
		"/etc/traefik/tls/gateway.crt", f.crt, "/etc/traefik/tls/gateway.key", f.key))
	static := f.write(t, "traefik.yml", f.example(t, "traefik/traefik.yml", `":443"`, `"127.0.0.1:`+f.https+`"`,
		`":80"`, `"127.0.0.1:`+f.http+`"`, "/etc/traefik/modelgateway.yml", dynamic))
	return []string{"--configFile=" + static}
}

// buildTraefik builds Traefik from its module, in its folder: go install refuses a module that replaces others.
func buildTraefik(path string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Minute)
	defer cancel()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	out, err := goCommand(ctx, filepath.Dir(path), "mod", "download", "-json", "github.com/traefik/traefik/v3@"+traefikVersion)
	if err != nil {
		return err
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		return err
	}
	fresh := path + ".new-" + strconv.Itoa(os.Getpid()) // the other name appears when it is complete
	if _, err := goCommand(ctx, module.Dir, "build", "-trimpath", "-ldflags=-s -w", "-o", fresh, "./cmd/traefik"); err != nil {
		return err
	}
	return os.Rename(fresh, path)
}

// goCommand runs the go command in a folder, where it installs programs as well, with a low priority: it may build for
// minutes.
func goCommand(ctx context.Context, folder string, arguments ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "nice", append([]string{"go"}, arguments...)...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOBIN="+folder)
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%v: %w\n%s", cmd.Args, err, exit.Stderr)
	}
	return out, err
}
