package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// workflow is what these tests look at.
type workflow struct {
	Permissions map[string]string
	Jobs        map[string]struct {
		Permissions map[string]string
		Needs       string
		Steps       []struct {
			Uses, Run string
		}
	}
}

func TestWorkflowsRunTargetsThatExist(t *testing.T) {
	t.Parallel()
	makefile := read(t, "Makefile")
	paths, err := filepath.Glob(filepath.Join("..", "..", ".github", "workflows", "*.yml"))
	if err != nil || len(paths) != 4 {
		t.Fatalf("%v, %v", paths, err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var w workflow
		if err := yaml.Unmarshal(text, &w); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if w.Permissions["contents"] != "read" || len(w.Permissions) != 1 {
			t.Errorf("%s: a job without permissions of its own has %v", path, w.Permissions)
		}
		targets := 0
		for name, job := range w.Jobs {
			if _, known := w.Jobs[job.Needs]; job.Needs != "" && !known {
				t.Errorf("%s: %s needs %s", path, name, job.Needs)
			}
			for _, step := range job.Steps {
				if step.Uses != "" && !regexp.MustCompile(`^[a-z-]+/[a-z-]+@v\d+$`).MatchString(step.Uses) {
					t.Errorf("%s: %s names no version", path, step.Uses)
				}
				for _, match := range regexp.MustCompile(`make ([a-z-]+)`).FindAllStringSubmatch(step.Run, -1) {
					targets++
					if !strings.Contains(makefile, "\n"+match[1]+":") {
						t.Errorf("%s: the Makefile has no %s", path, match[1])
					}
				}
			}
		}
		if targets == 0 {
			t.Errorf("%s runs no target", path)
		}
	}
}

// A package with a fuzz target that no part of the nightly run names would never be fuzzed.
func TestEveryFuzzTargetIsInTheNightlyRun(t *testing.T) {
	t.Parallel()
	_, matrix, _ := strings.Cut(read(t, ".github/workflows/nightly.yml"), "packages:")
	matrix, _, _ = strings.Cut(matrix, "steps:")
	parts := strings.Fields(matrix)
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), "\nfunc Fuzz") {
			return err
		}
		folder := "." + strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../..")
		if !slices.ContainsFunc(parts, func(part string) bool {
			under, all := strings.CutSuffix(part, "/...")
			return folder == under || all && strings.HasPrefix(folder, under+"/")
		}) {
			t.Errorf("%s has a fuzz target, and no part of the nightly run", folder)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheServiceWaitsAsLongAsTheProgramDrains(t *testing.T) {
	t.Parallel()
	unit := read(t, "deploy/release/package/modelgateway.service")
	stop := regexp.MustCompile(`TimeoutStopSec=(\d+)\n`).FindStringSubmatch(unit)
	grace := regexp.MustCompile("`SHUTDOWN_GRACE_SECONDS` \\| `(\\d+)`").FindStringSubmatch(read(t, "docs/configuration.md"))
	if stop == nil || grace == nil {
		t.Fatal("no TimeoutStopSec, or no SHUTDOWN_GRACE_SECONDS")
	}
	needed, err1 := time.ParseDuration(grace[1] + "s")
	given, err2 := time.ParseDuration(stop[1] + "s")
	if err1 != nil || err2 != nil || given < needed+30*time.Second {
		t.Errorf("systemd ends the program after %s, and it drains for %s", given, needed)
	}
}

func TestSystemdAcceptsTheService(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	// The program need not be installed here: any other stands for it.
	unit := strings.Replace(read(t, "deploy/release/package/modelgateway.service"), "/usr/bin/modelgateway", "/bin/true", 1)
	verify := func(text string) string {
		path := filepath.Join(t.TempDir(), "modelgateway.service")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, _ := exec.CommandContext(t.Context(), "systemd-analyze", "verify", "--man=no", "--recursive-errors=no", path).CombinedOutput()
		var found []string
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, "modelgateway.service") {
				found = append(found, line)
			}
		}
		return strings.Join(found, "")
	}
	if found := verify(unit); found != "" {
		t.Error(found)
	}
	if verify(strings.Replace(unit, "ProtectHome=yes", "ProtectHome=perhaps\nProtectNothing=yes", 1)) == "" {
		t.Error("a wrong directive is accepted")
	}
}

func TestPackagesNameFilesThatExist(t *testing.T) {
	t.Parallel()
	var config struct {
		Contents []struct{ Src, Dst string }
		Scripts  map[string]string
	}
	if err := yaml.Unmarshal([]byte(read(t, "deploy/release/package/nfpm.yaml")), &config); err != nil {
		t.Fatal(err)
	}
	if len(config.Contents) < 4 || len(config.Scripts) != 3 {
		t.Fatalf("%+v", config)
	}
	for _, c := range config.Contents {
		if path, ok := strings.CutPrefix(c.Src, "@ROOT@/"); ok {
			read(t, path)
		}
	}
	for _, script := range config.Scripts {
		path := filepath.Join("..", "..", strings.TrimPrefix(script, "@ROOT@/"))
		if out, err := exec.CommandContext(t.Context(), "sh", "-n", path).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", path, err, out)
		}
	}
	for _, name := range documents {
		read(t, name)
	}
}

func TestTheImageOfAReleaseIsThatOfTheDockerfile(t *testing.T) {
	t.Parallel()
	_, final, found := strings.Cut(read(t, "Dockerfile"), "\nFROM ")
	if !found {
		t.Fatal("the Dockerfile has no second stage")
	}
	kept := func(text string) (lines []string) {
		for line := range strings.Lines(text) {
			if name, _, _ := strings.Cut(line, " "); slices.Contains([]string{"FROM", "ENV", "USER", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT"}, name) {
				lines = append(lines, line)
			}
		}
		return lines
	}
	if want, got := kept("FROM "+final), kept(read(t, "deploy/release/Dockerfile")); !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

func TestTheChangelogNamesTheSchema(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("..", "..", "models", "migrations", "*.sql"))
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	number := strings.TrimLeft(filepath.Base(files[len(files)-1])[:4], "0")
	_, unreleased, _ := strings.Cut(read(t, "CHANGELOG.md"), "\n## ")
	if unreleased, _, _ = strings.Cut(unreleased, "\n## "); !strings.Contains(unreleased, "\nSchema "+number+".") {
		t.Errorf("the first section of CHANGELOG.md does not say Schema %s", number)
	}
	if !regexp.MustCompile(`\| (\d+–)?` + number + ` \|`).MatchString(read(t, "docs/upgrade.md")) {
		t.Errorf("docs/upgrade.md has no schema %s", number)
	}
}

func TestTheVersionReachesTheImageOfTheComposeFile(t *testing.T) {
	t.Parallel()
	var compose struct {
		Services map[string]struct {
			Build struct{ Args map[string]string }
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, "docker-compose.yml")), &compose); err != nil {
		t.Fatal(err)
	}
	if got := compose.Services["gateway"].Build.Args["VERSION"]; got != "${VERSION:-dev}" {
		t.Errorf("the compose file builds version %q", got)
	}
	if file := read(t, "Dockerfile"); !strings.Contains(file, "\nARG VERSION=dev\n") || !strings.Contains(file, "app.release=${VERSION}") {
		t.Error("the Dockerfile does not pass VERSION to the linker")
	}
}
