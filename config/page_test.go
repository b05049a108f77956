package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"modelgateway/config"
	"modelgateway/providers/all"
)

const (
	pageBegin = "<!-- settings: written by make golden -->\n"
	pageEnd   = "<!-- end of settings -->\n"
)

// The tables of docs/configuration.md have the settings under the headings of
// .env.example. With -update they are written anew.
func TestConfigurationPageHasTheSettingsOfTheExample(t *testing.T) {
	path := filepath.Join("..", "docs", "configuration.md")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(content), pageBegin)
	tables, after, ends := strings.Cut(rest, pageEnd)
	if !begins || !ends {
		t.Fatalf("%s has no place for the tables of settings", path)
	}
	want := settingTables(t)
	if *update {
		if err := os.WriteFile(path, []byte(before+pageBegin+want+pageEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		tables = want
	}
	if tables != want {
		t.Errorf("%s is out of date: run make golden", path)
	}
}

// settingTables has a table for each heading of .env.example.
func settingTables(t *testing.T) string {
	t.Helper()
	example, err := os.ReadFile(filepath.Join("..", ".env.example"))
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[string]string)
	for _, s := range documented() {
		value := "none"
		if s.Default != "" {
			value = "`" + s.Default + "`"
		}
		// A cell of a table ends at a bar, and *_BASE_URL would be emphasis.
		doc := strings.NewReplacer("|", `\|`, "*", `\*`).Replace(s.Doc)
		rows[s.Name] = "| `" + s.Name + "` | " + value + " | " + doc + " |\n"
	}
	groups := make(map[string]string)
	for _, s := range config.Settings(all.Settings()) {
		groups[s.Name] = s.Group
	}
	var b strings.Builder
	heading := ""
	for line := range strings.Lines(string(example)) {
		if text, ok := strings.CutPrefix(line, "# ---- "); ok {
			heading = strings.TrimSuffix(text, " ----\n")
			b.WriteString("\n### " + heading + "\n\n| Setting | Default | Meaning |\n|---|---|---|\n")
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(line, "#"), "=")
		if group, ok := groups[name]; ok && group != heading {
			t.Errorf("%s is under %q in .env.example, but of the group %q", name, heading, group)
		}
		b.WriteString(rows[name])
		delete(rows, name)
	}
	if len(rows) > 0 {
		t.Errorf("%d settings are not in .env.example", len(rows))
	}
	b.WriteString("\n")
	return b.String()
}
