package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// example is a block of code of docs/clients.md, under its heading.
type example struct{ heading, language, text string }

var fence = regexp.MustCompile("(?ms)^(##+ .*?)$|^```([a-z]+)\n(.*?)^```$")

func examples(t *testing.T) (all []example) {
	t.Helper()
	text, err := os.ReadFile("../../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	heading := ""
	for _, found := range fence.FindAllStringSubmatch(string(text), -1) {
		if found[1] != "" {
			heading = strings.TrimLeft(found[1], "# ")
			continue
		}
		all = append(all, example{heading, found[2], found[3]})
	}
	return all
}

// TestExamplesOfTheDocumentWork runs what docs/clients.md prints as a reader would, on a
// gateway as make demo starts it. Only the installation is left out.
func TestExamplesOfTheDocumentWork(t *testing.T) {
	clients := needClients(t)
	s := newSession(t, clients, "SIMULATOR=true")
	path := "PATH=" + filepath.Join(clients, "node_modules", ".bin") + ":" + os.Getenv("PATH")
	all := examples(t)
	if len(all) < 12 {
		t.Fatalf("%d examples", len(all))
	}
	for i, e := range all {
		if e.language == "go" || e.language == "yaml" || e.language == "python" || strings.HasPrefix(e.text, "export OPENAI_") {
			continue // tests/docs
		}
		t.Run(fmt.Sprintf("%s %d", e.heading, i), func(t *testing.T) {
			text := strings.ReplaceAll(e.text, "http://localhost:8080", s.front.url)
			_ = os.Remove(filepath.Join(s.work, "hello.txt"))
			var o outcome
			switch e.language {
			case "sh":
				text = regexp.MustCompile(`(?m)^npm install .*$`).ReplaceAllString(text, "")
				o = s.run(t, []string{path, "KEY=any"}, "bash", "-euc", text)
			case "js":
				file := filepath.Join(clients, scripts, fmt.Sprintf("example%d.mjs", i))
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				if o = s.run(t, []string{path, "ANTHROPIC_BASE_URL=" + s.front.url, "ANTHROPIC_AUTH_TOKEN=any"}, "node", file); o.out == "" {
					t.Error("it prints nothing")
				}
			case "json":
				if err := os.WriteFile(filepath.Join(s.work, "opencode.json"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				e.text = "hello.txt"
				o = s.run(t, []string{path, "OPENCODE_DISABLE_MODELS_FETCH=1"}, s.installed("opencode"), "run", `Create the file hello.txt that says "hello"`)
			default:
				t.Fatalf("who runs %s?", e.language)
			}
			if o.exit != 0 {
				t.Errorf("exit code %d: %s%s", o.exit, o.out, o.faults)
			}
			if !strings.Contains(e.text, "hello.txt") {
				return
			}
			if written, err := os.ReadFile(filepath.Join(s.work, "hello.txt")); err != nil || string(written) != "hello\n" {
				t.Errorf("hello.txt has %q: %v; %s%s", written, err, o.out, o.faults)
			}
		})
	}
}
