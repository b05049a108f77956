package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"modelgateway/config"
	"modelgateway/tests/gatewaytest"
)

// blocks returns the shell code of a page below a heading.
func blocks(t *testing.T, page, heading string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), heading+"\n")
	if !found {
		t.Fatalf("%s has no %s", page, heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var code []string
	for i, part := range strings.Split(section, "```") {
		if block, ok := strings.CutPrefix(part, "sh\n"); ok && i%2 == 1 {
			code = append(code, block)
		}
	}
	if len(code) == 0 {
		t.Fatalf("%s has no code below %s", page, heading)
	}
	return code
}

func TestSettingsOfThePageOnProxiesAreValid(t *testing.T) {
	t.Parallel()
	settings := strings.Split(strings.TrimSpace(blocks(t, "reverse-proxies.md", "# Reverse proxies")[0]), "\n")
	if len(settings) < 4 {
		t.Fatalf("%q", settings)
	}
	if _, err := config.Load(append(settings, gatewaytest.JWTSecret), "", nil); err != nil {
		t.Error(err)
	}
}

func TestCommandsOfThePageOnProxiesWork(t *testing.T) {
	t.Parallel()
	eachProxy(t, func(t *testing.T, behind func(p ...*gatewaytest.Program) *front) {
		p := simulated(t, gatewaytest.JWTSecret)
		_, key := p.CreateKey(t, p.Login(t))
		f := behind(p)
		// curl reads from here what a test has instead of a domain and a known certificate.
		f.write(t, ".curlrc", "connect-to = "+host+":443:127.0.0.1:"+f.https+"\ncacert = "+f.crt+"\n")
		cmd := exec.Command("sh", "-euc", blocks(t, "reverse-proxies.md", "## Test it")[0])
		cmd.Env = append(os.Environ(), "HOME="+f.folder, "CURL_HOME="+f.folder, "KEY="+key)
		out, err := cmd.CombinedOutput()
		if ready, stream, _ := strings.Cut(string(out), "}"); err != nil || ready != `{"status":"ok"` || gatewaytest.TextOf(stream) == "" ||
			!strings.HasSuffix(stream, "data: [DONE]\n\n") {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

func TestChecksOfConfigurationsPass(t *testing.T) {
	t.Parallel()
	for _, x := range proxies()[:2] {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			program := need(t, x.find)
			f := &front{folder: t.TempDir(), gateways: []string{"127.0.0.1:8080"}, https: freePort(t), http: freePort(t)}
			f.certify(t)
			arguments := x.arguments(t, f)
			if x.name == "nginx" {
				arguments = append(arguments, "-t")
			} else {
				arguments[0] = "validate"
			}
			if out, err := exec.Command(program, arguments...).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
