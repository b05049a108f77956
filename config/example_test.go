package config_test

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"modelgateway/config"
	"modelgateway/providers/all"
)

func load(t *testing.T, dotenv string) *config.Config {
	t.Helper()
	c, err := config.Load(nil, dotenv, all.Settings())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The tests of the package itself cannot import the drivers, and name their
// settings again.
func TestSettingsInTestsAreThoseOfTheDrivers(t *testing.T) {
	drivers := all.Settings()
	for _, p := range config.TestProviders {
		if !slices.ContainsFunc(drivers, func(d config.ProviderSettings) bool { return reflect.DeepEqual(d, p) }) {
			t.Errorf("no driver has %+v", p)
		}
	}
}

var update = flag.Bool("update", false, "add missing settings to .env.example and docker-compose.yml")

// addSettings writes a file with a block for each setting that it has none for, after
// that of the setting before. mark is the beginning of a setting's last line.
func addSettings(t *testing.T, file string, settings []config.Setting, mark, block func(config.Setting) string) {
	t.Helper()
	path := filepath.Join("..", file)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text, end := string(content), 0
	for _, s := range settings {
		if !strings.Contains(text, "\n"+mark(s)) {
			text = text[:end] + block(s) + text[end:]
		}
		at := strings.Index(text, "\n"+mark(s)) + 1
		end = at + strings.Index(text[at:], "\n") + 1
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func updateSettings(t *testing.T) {
	t.Helper()
	addSettings(t, ".env.example", config.Settings(all.Settings()), func(s config.Setting) string { return "#" + s.Name + "=" },
		func(s config.Setting) string { return "\n# " + s.Doc + "\n#" + s.Name + "=" + s.Default + "\n" })
	// The container's own address is not that of the host.
	passed := slices.DeleteFunc(
		config.Settings(all.Settings()), func(s config.Setting) bool { return s.Name == "HOST" || s.Name == "PORT" },
	)
	addSettings(t, "docker-compose.yml", passed, func(s config.Setting) string { return "      " + s.Name + ": " },
		func(s config.Setting) string { return "      " + s.Name + ": ${" + s.Name + ":-}\n" })
}

// The example has a line for each setting with its documentation and default,
// and nothing else.
func TestExampleShowsEverySettingAndItsDefault(t *testing.T) {
	if *update {
		updateSettings(t)
	}
	text, err := os.ReadFile(filepath.Join("..", ".env.example"))
	if err != nil {
		t.Fatal(err)
	}
	want := make(map[string]config.Setting)
	for _, s := range documented() {
		want[s.Name] = s
	}
	lines := strings.Split(string(text), "\n")
	var live []string
	for i, line := range lines {
		name, value, ok := strings.Cut(strings.TrimPrefix(line, "#"), "=")
		if !ok || strings.HasPrefix(name, " ") {
			continue
		}
		live = append(live, name+"="+value)
		s, known := want[name]
		if !known {
			t.Errorf("%s is not a setting, or is there twice", name)
			continue
		}
		off := "#"
		if name == "GATEWAY_ENV_FILE" { // its absence is how docker-compose.yml knows that there is no .env
			off = ""
		}
		if line != off+name+"="+s.Default || lines[i-1] != "# "+s.Doc {
			t.Errorf("the example has\n%s\n%s\nbut the code says\n# %s\n%s%s=%s", lines[i-1], line, s.Doc, off, name, s.Default)
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("missing in the example: %v", slices.Sorted(maps.Keys(want)))
	}

	defaults := load(t, "")
	if got := load(t, filepath.Join("..", ".env.example")); got.Addr() != defaults.Addr() {
		t.Errorf("the unedited example gives %+v", got)
	}
	uncommented := filepath.Join(t.TempDir(), ".env")
	if err := os.WriteFile(uncommented, []byte(strings.Join(live, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	got := load(t, uncommented)
	if got.Addr() != defaults.Addr() || got.PublicURL != defaults.PublicURL || !reflect.DeepEqual(got.Providers, defaults.Providers) {
		t.Errorf("the uncommented example gives %+v", got)
	}
}

// documented are the settings of .env.example and of the configuration page.
func documented() []config.Setting {
	return append(config.ComposeSettings(), config.Settings(all.Settings())...)
}

func TestSettingsAreDescribed(t *testing.T) {
	for _, s := range documented() {
		if s.Name != strings.ToUpper(s.Name) || len(s.Doc) < 20 || !strings.HasSuffix(s.Doc, ").") || strings.Contains(s.Doc, "\n") {
			t.Errorf("%+v", s)
		}
	}
}

// The settings of presets are near variables that other programs have.
func TestVariablesOfOtherProgramsNearAPresetAreNoMisspellings(t *testing.T) {
	for _, name := range []string{"LLM_API_KEY", "LLM_BASE_URL", "AI_API_KEY", "AI_BASE_URL", "GROK_API_KEY", "GROK_BASE_URL", "OLLAMA_HOST"} {
		if _, err := config.Load([]string{name + "=x"}, "", all.Settings()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"GROQ_APIKEY", "OLAMA_BASE_URL", "MISTRALL_API_KEY"} {
		if _, err := config.Load([]string{name + "=x"}, "", all.Settings()); err == nil {
			t.Errorf("%s: no fault", name)
		}
	}
}
