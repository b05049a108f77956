package deploy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"modelgateway/tests/gatewaytest"
)

// The tools of the chart, and the release of Kubernetes that it is rendered for, whose schemas are stored.
const (
	helmModule        = "helm.sh/helm/v3/cmd/helm@v3.22.0"
	kubeconformModule = "github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0"
	kubernetesVersion = "1.37.0"
)

var (
	findHelm        = sync.OnceValues(func() (string, error) { return goTool("helm", helmModule) })
	findKubeconform = sync.OnceValues(func() (string, error) { return goTool("kubeconform", kubeconformModule) })
)

// goTool builds a program from its module once, in a folder of the user's cache. One that is installed might be
// of another release, and render other manifests.
func goTool(name, module string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	_, version, _ := strings.Cut(module, "@")
	folder := filepath.Join(cache, "modelgateway-tests", name+"-"+version)
	path := filepath.Join(folder, name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	fresh, err := os.MkdirTemp(folder, "new-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(fresh) }()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	if _, err := goCommand(ctx, fresh, "install", module); err != nil {
		return "", err
	}
	return path, os.Rename(filepath.Join(fresh, name), path) // appears when it is complete
}

// chart is the chart's folder.
func chart(t testing.TB) string { return gatewaytest.File(t, "deploy/helm/modelgateway") }

// render returns the manifests of the chart with these values, YAML.
func render(t *testing.T, values string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), need(t, findHelm), "template", "modelgateway", chart(t), "--namespace", "gateway",
		"--kube-version", kubernetesVersion, "--values", "-")
	cmd.Stdin = strings.NewReader(values)
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%w\n%s", err, exit.Stderr)
	}
	return string(out), err
}

// conform validates manifests against the stored schemas: unknown members and kinds are faults.
func conform(t *testing.T, manifests string) error {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), need(t, findKubeconform), "-strict", "-summary",
		"-schema-location", "testdata/schemas/{{.ResourceKind}}{{.KindSuffix}}.json", "-")
	cmd.Stdin = strings.NewReader(manifests)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// manifest is what the tests read of a manifest.
type manifest struct {
	Kind     string
	Metadata struct {
		Name                string
		Labels, Annotations map[string]string
	}
	Data       map[string]string
	StringData map[string]string `yaml:"stringData"`
	Spec       yaml.Node
}

// parse returns the manifests by kind and name.
func parse(t *testing.T, text string) map[string]manifest {
	t.Helper()
	all := map[string]manifest{}
	for decoder := yaml.NewDecoder(bytes.NewReader([]byte(text))); ; {
		var m manifest
		err := decoder.Decode(&m)
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all[m.Kind+" "+m.Metadata.Name] = m
	}
}

// into decodes the spec of a manifest.
func (m manifest) into(t *testing.T, v any) {
	t.Helper()
	if err := m.Spec.Decode(v); err != nil {
		t.Fatalf("%s: %v", m.Kind, err)
	}
}

// pod is what the tests read of a Deployment.
type pod struct {
	Replicas *int
	Template struct {
		Metadata struct{ Labels, Annotations map[string]string }
		Spec     struct {
			AutomountServiceAccountToken  *bool             `yaml:"automountServiceAccountToken"`
			EnableServiceLinks            *bool             `yaml:"enableServiceLinks"`
			TerminationGracePeriodSeconds int               `yaml:"terminationGracePeriodSeconds"`
			SecurityContext               map[string]any    `yaml:"securityContext"`
			TopologySpreadConstraints     []map[string]any  `yaml:"topologySpreadConstraints"`
			NodeSelector                  map[string]string `yaml:"nodeSelector"`
			Volumes                       []map[string]any
			Containers                    []container
		}
	}
}

type container struct {
	Image           string
	SecurityContext struct {
		AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation"`
		ReadOnlyRootFilesystem   bool  `yaml:"readOnlyRootFilesystem"`
		Capabilities             struct{ Drop []string }
	} `yaml:"securityContext"`
	Env []struct {
		Name, Value string
		ValueFrom   struct {
			SecretKeyRef struct{ Name, Key string } `yaml:"secretKeyRef"`
		} `yaml:"valueFrom"`
	}
	StartupProbe   probe `yaml:"startupProbe"`
	LivenessProbe  probe `yaml:"livenessProbe"`
	ReadinessProbe probe `yaml:"readinessProbe"`
	Lifecycle      struct {
		PreStop struct{ Sleep struct{ Seconds int } } `yaml:"preStop"`
	}
	Resources struct{ Limits map[string]string }
}

type probe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
}
