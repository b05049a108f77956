package monitoring

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"modelgateway/tests/gatewaytest"
)

func TestDashboardPanelsFillTheirGrid(t *testing.T) {
	t.Parallel()
	b := dashboard(t)
	const columns = 24
	taken := map[[2]int]string{}
	ids := map[int]bool{}
	variables := map[string]bool{}
	rows := []string{}
	for _, v := range b.Templating.List {
		variables[v.Name] = true
	}
	for _, p := range b.Panels {
		if p.Title == "" || ids[p.ID] || p.GridPos.W < 1 || p.GridPos.H < 1 || p.GridPos.X+p.GridPos.W > columns {
			t.Errorf("%+v", p)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" {
					t.Errorf("%s lies over %s", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			rows = append(rows, p.Title)
			continue
		}
		if len(p.Targets) == 0 || p.FieldConfig.Defaults.Unit == "" && p.Type != "state-timeline" {
			t.Errorf("%s has no unit, or asks for nothing", p.Title)
		}
		for _, target := range p.Targets {
			if strings.Contains(target.Expr, "$model") && !variables["model"] ||
				strings.Contains(target.Expr, "$provider") && !variables["provider"] {
				t.Errorf("%s asks for a variable that is not there", p.Title)
			}
			if target.LegendFormat == "" && p.Type != "table" {
				t.Errorf("%s: %s has no name", p.Title, target.Expr)
			}
		}
	}
	if want := []string{"Traffic", "Latency", "Providers", "Spend", "Limits", "Inside"}; !slices.Equal(rows, want) ||
		!variables["provider"] ||
		!variables["model"] {
		t.Errorf("rows %v, variables %v", rows, slices.Collect(maps.Keys(variables)))
	}
}

func TestMonitoringFilesAreValidYAML(t *testing.T) {
	t.Parallel()
	files := 0
	err := fs.WalkDir(os.DirFS(gatewaytest.File(t, ".")), "deploy", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".yml" {
			return err
		}
		files++
		var any map[string]any
		readYAML(t, path, &any)
		return nil
	})
	if err != nil || files < 5 {
		t.Errorf("%d files: %v", files, err)
	}
}

// composeService holds what the tests need of a service of the compose file.
type composeService struct {
	Image    string
	Profiles []string
	Ports    []string
	Volumes  []string
	ReadOnly bool `yaml:"read_only"`
	Command  []string

	EnvFile     []string `yaml:"env_file"`
	Environment map[string]string
	Healthcheck struct{ Test []string }
}

func composeServices(t *testing.T) (services map[string]composeService) {
	t.Helper()
	var file map[string]yaml.Node
	readYAML(t, "docker-compose.yml", &file)
	node := file["services"]
	if err := node.Decode(&services); err != nil {
		t.Fatal(err)
	}
	return services
}

func TestMonitoringServicesNeedTheirProfile(t *testing.T) {
	t.Parallel()
	services := composeServices(t)
	for name, s := range services {
		eyes := name == "prometheus" || name == "grafana"
		if eyes != slices.Equal(s.Profiles, []string{"monitoring"}) || !eyes && len(s.Profiles) > 0 {
			t.Errorf("%s is of the profiles %v", name, s.Profiles)
		}
		if !eyes {
			continue
		}
		if _, tag, ok := strings.Cut(s.Image, ":"); !ok || strings.Count(tag, ".") != 2 || !s.ReadOnly {
			t.Errorf("%s: image %s, read-only %v", name, s.Image, s.ReadOnly)
		}
		for _, port := range s.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s is open to the network: %s", name, port)
			}
		}
		for _, volume := range s.Volumes {
			from, rest, _ := strings.Cut(volume, ":")
			if !strings.HasPrefix(from, "./") {
				continue
			}
			if _, err := os.Stat(gatewaytest.File(t, from)); err != nil || !strings.HasSuffix(rest, ":ro") {
				t.Errorf("%s mounts %s: %v", name, volume, err)
			}
		}
	}
	if len(services) < 5 {
		t.Errorf("%d services", len(services))
	}
}

// Prometheus reads the token from the file that the compose file writes.
func TestPrometheusFindsTheTokenAndTheGateway(t *testing.T) {
	t.Parallel()
	var config struct {
		Global        map[string]string
		RuleFiles     []string `yaml:"rule_files"`
		ScrapeConfigs []struct {
			Job           string `yaml:"job_name"`
			Authorization struct {
				File string `yaml:"credentials_file"`
			}
			Static []struct{ Targets []string } `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	readYAML(t, "deploy/prometheus/prometheus.yml", &config)
	if len(config.ScrapeConfigs) != 1 || !slices.Equal(config.RuleFiles, []string{"alerts.yml"}) {
		t.Fatalf("%+v", config)
	}
	scrape := config.ScrapeConfigs[0]
	compose, err := os.ReadFile(gatewaytest.File(t, "docker-compose.yml"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(compose), "> "+scrape.Authorization.File+" ") || scrape.Authorization.File == "" {
		t.Errorf("the token is looked for in %q", scrape.Authorization.File)
	}
	if scrape.Job != "modelgateway" || !slices.Equal(scrape.Static[0].Targets, []string{"gateway:8080"}) {
		t.Errorf("%+v", scrape)
	}
}
