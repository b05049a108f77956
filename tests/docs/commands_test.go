package docs

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"modelgateway/config"
	"modelgateway/providers/all"
	"modelgateway/tests/gatewaytest"
)

// commands returns what a page has in blocks of a language in which commands are written.
func commands(t *testing.T, page string) (blocks []string) {
	t.Helper()
	text, err := os.ReadFile(gatewaytest.File(t, page))
	if err != nil {
		t.Fatal(err)
	}
	for i, part := range strings.Split("\n"+string(text), "\n```") {
		language, block, _ := strings.Cut(part, "\n")
		if i%2 == 1 && slices.Contains([]string{"sh", "bash", "shell", "console", "http", "python"}, strings.TrimSpace(language)) {
			blocks = append(blocks, block+"\n")
		}
	}
	return blocks
}

func TestEveryCommandOfTheDocumentsIsRunOrListed(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(gatewaytest.File(t, "docs") + "/*.md")
	if err != nil || len(pages) < 20 {
		t.Fatal(pages, err)
	}
	known := slices.Collect(maps.Keys(elsewhere()))
	for _, r := range runs() {
		for _, block := range r.blocks {
			known = append(known, r.page+": "+block)
		}
	}
	used := map[string]bool{}
	for _, page := range append(pages, "README.md") {
		name := filepath.Base(page)
		if name != "README.md" {
			name = "docs/" + name
		}
		for _, block := range commands(t, name) {
			found := slices.DeleteFunc(slices.Clone(known), func(k string) bool { return !strings.HasPrefix(name+": "+block, k) })
			for _, k := range found {
				used[k] = true
			}
			if len(found) != 1 {
				t.Errorf("%s: %d of the tables have\n%s", name, len(found), block)
			}
		}
	}
	for _, k := range known {
		if !used[k] {
			t.Errorf("no page has %q", k)
		}
	}
}

func TestCommandsOfTheDocumentsWork(t *testing.T) {
	t.Parallel()
	for i, r := range runs() {
		t.Run(fmt.Sprintf("%s %d", r.page, i), func(t *testing.T) {
			t.Parallel()
			p := gatewaytest.Launch(t, nil, append([]string{"SIMULATOR=true", gatewaytest.JWTSecret}, r.settings...)...)
			out := r.do(t, p)
			rest := out
			for _, want := range r.want {
				_, after, found := strings.Cut(rest, want)
				if !found {
					t.Fatalf("they do not print %s, or elsewhere: %s", want, out)
				}
				rest = after
			}
		})
	}
}

// do runs the commands as a reader would, in a folder of their own, and returns what they print.
func (r run) do(t *testing.T, p *gatewaytest.Process) string {
	t.Helper()
	var script strings.Builder
	for _, block := range commands(t, r.page) {
		if slices.ContainsFunc(r.blocks, func(begin string) bool { return strings.HasPrefix(block, begin) }) {
			script.WriteString(block)
		}
	}
	text := regexp.MustCompile(`(http://)?localhost:8080`).ReplaceAllString(script.String(), p.URL)
	text = strings.ReplaceAll(text, "2026-11-01", time.Now().AddDate(0, 0, -9).Format(time.DateOnly)) // the page has a day of its time
	for old, now := range r.replace {
		text = strings.ReplaceAll(text, old, now)
	}
	env := append(slices.Clone(p.Cmd.Env), "PUBLIC_URL="+p.URL)
	switch r.token {
	case "user":
		env = append(env, "TOKEN="+strings.TrimPrefix(p.Login(t)[1], "Bearer "))
	case "administrator":
		env = append(env, "TOKEN="+strings.TrimPrefix(p.Administrator(t)[1], "Bearer "))
	}
	return runScript(t, text, t.TempDir(), env)
}

// runScript runs commands in a folder, and returns what they print.
func runScript(t *testing.T, text, folder string, env []string) string {
	t.Helper()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(".curlrc", "fail-with-body\n") // so that a refusal ends the script
	write("modelgateway", "#!/bin/sh\nexec env "+strings.Join(gatewaytest.AsProgram(), " ")+" '"+os.Args[0]+"' \"$@\"\n")
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", text)
	cmd.Dir = folder
	cmd.Env = append(slices.Clone(env), "PATH="+folder+":"+os.Getenv("PATH"), "HOME="+folder, "CURL_HOME="+folder)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, text, out)
	}
	return string(out)
}

func TestSettingsOfThePageOnAccountsAreValid(t *testing.T) {
	t.Parallel()
	var settings []string
	for line := range strings.Lines(commands(t, "docs/accounts.md")[0]) {
		setting, _, _ := strings.Cut(line, " ")
		setting = strings.TrimSpace(setting)
		switch name, _, _ := strings.Cut(setting, "="); name {
		case "JWT_SECRET":
			setting = gatewaytest.JWTSecret
		case "OPENAI_API_KEY":
			setting = name + "=sk-test"
		}
		settings = append(settings, setting)
	}
	if len(settings) < 5 {
		t.Fatalf("%q", settings)
	}
	if _, err := config.Load(settings, "", all.Settings()); err != nil {
		t.Error(err)
	}
}

func TestTheTestsThatRunTheOtherCommandsExist(t *testing.T) {
	t.Parallel()
	named := 0
	for command, where := range elsewhere() {
		for _, name := range regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(where, -1) {
			named++
			folder, _, _ := strings.Cut(regexp.MustCompile(`(tests|deploy)/\w+`).FindString(where), ",")
			files, err := filepath.Glob(filepath.Join(gatewaytest.File(t, "docs"), "..", folder, "*_test.go"))
			if folder == "" { // a test of this package
				files, err = filepath.Glob("*_test.go")
			}
			if err != nil || !slices.ContainsFunc(files, func(file string) bool {
				text, err := os.ReadFile(file)
				return err == nil && strings.Contains(string(text), "func "+name+"(")
			}) {
				t.Errorf("%s: there is no %s in %s (%v)", command, name, folder, err)
			}
		}
	}
	if named < 10 {
		t.Errorf("only %d tests are named", named)
	}
}
