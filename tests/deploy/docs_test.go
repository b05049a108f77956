package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"modelgateway/config"
	"modelgateway/providers/all"
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
			f := &front{folder: t.TempDir(), gateways: []string{"127.0.0.1:8080"}, https: gatewaytest.FreePort(t), http: gatewaytest.FreePort(t)}
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

// Prometheus itself takes the rules, and each alert fires when it should and only then.
func TestAlertsWorkInPrometheus(t *testing.T) {
	t.Parallel()
	promtool := need(t, findPromtool)
	for _, arguments := range [][]string{
		{"check", "rules", "deploy/prometheus/alerts.yml"}, {"test", "rules", "deploy/prometheus/alerts_test.yml"},
		{"check", "config", "--syntax-only", "deploy/prometheus/prometheus.yml"},
	} {
		cmd := exec.Command(promtool, arguments...)
		cmd.Dir = gatewaytest.File(t, ".")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(arguments, " "), err, out)
		}
	}
}

// code returns the blocks of a language of the page about Kubernetes.
func code(t *testing.T, language string) []string {
	t.Helper()
	text, err := os.ReadFile(gatewaytest.File(t, "docs/kubernetes.md"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for i, part := range strings.Split(string(text), "```") {
		if block, ok := strings.CutPrefix(part, language+"\n"); ok && i%2 == 1 {
			found = append(found, block)
		}
	}
	return found
}

func TestSecretOfThePageOnKubernetesIsValid(t *testing.T) {
	t.Parallel()
	secret := parse(t, code(t, "yaml")[0])["Secret modelgateway"]
	if len(secret.StringData) < 3 {
		t.Fatalf("%+v", secret)
	}
	environ := []string{"REQUIRE_AUTH=true"}
	for name, value := range secret.StringData {
		environ = append(environ, name+"="+value)
	}
	if _, err := config.Load(environ, "", all.Settings()); err == nil || !strings.Contains(err.Error(), "it contains replaceby") {
		t.Errorf("the placeholder of JWT_SECRET is taken: %v", err)
	}
	if _, err := config.Load(append(environ, gatewaytest.JWTSecret), "", all.Settings()); err != nil {
		t.Error(err)
	}
}

// There is no cluster: helm install renders, and kubectl apply validates.
func TestCommandsOfThePageOnKubernetesWork(t *testing.T) {
	t.Parallel()
	helm, kubeconform := need(t, findHelm), need(t, findKubeconform)
	folder := t.TempDir()
	yaml := code(t, "yaml")
	for name, text := range map[string]string{"secret.yaml": yaml[0], "my-values.yaml": yaml[1]} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(gatewaytest.File(t, "deploy"), filepath.Join(folder, "deploy")); err != nil {
		t.Fatal(err)
	}
	script := `validate() { "$KUBECONFORM" -strict -summary -schema-location "$SCHEMAS/{{.ResourceKind}}{{.KindSuffix}}.json" "$1"; }
kubectl() { [ "$1 $2" = "apply -f" ] && validate "$3"; }
helm() {
	case $1 in
	install) shift && "$HELM" template --kube-version ` + kubernetesVersion + ` "$@" >rendered.yaml && validate rendered.yaml ;;
	template) "$HELM" "$@" >shown.yaml && validate shown.yaml ;;
	*) return 1 ;;
	esac
}
` + strings.Join(code(t, "sh"), "")
	cmd := exec.CommandContext(t.Context(), "sh", "-euc", script)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "HELM="+helm, "KUBECONFORM="+kubeconform, "SCHEMAS="+gatewaytest.File(t, "tests/deploy/testdata/schemas"))
	out, err := cmd.CombinedOutput()
	if n := strings.Count(string(out), "Invalid: 0, Errors: 0, Skipped: 0"); err != nil || n != 5 {
		t.Errorf("%d %v\n%s", n, err, out)
	}
	if rendered, _ := os.ReadFile(filepath.Join(folder, "rendered.yaml")); !strings.Contains(string(rendered), "kind: Ingress\n") {
		t.Errorf("%s", rendered)
	}
}
