package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

// example is a block of code of docs/clients.md or docs/codex.md, under its heading.
type example struct{ heading, language, text string }

var fence = regexp.MustCompile("(?ms)^(##+ .*?)$|^```([a-z]+)\n(.*?)^```$")

func examples(t *testing.T) (all []example) {
	t.Helper()
	var text []byte
	for _, page := range []string{"clients", "codex"} {
		of, err := os.ReadFile("../../docs/" + page + ".md")
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, of...)
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

// foreign are the aliases with which a gateway that has one provider answers the examples,
// which ask for models of all three.
var foreign = map[string]string{
	"anthropic": "MODEL_ALIASES=gpt-*=claude-opus-5-5;gemini-*=claude-opus-5-5",
	"openai":    "MODEL_ALIASES=gemini-embedding-2=text-embedding-3-small;claude-*=gpt-5;gemini-*=gpt-5;gpt-6-sol=gpt-5",
	"gemini":    "MODEL_ALIASES=text-embedding-*=gemini-embedding-2;claude-*=gemini-3.5-flash;gpt-*=gemini-3.5-flash",
}

// TestExamplesOfTheDocumentWork runs what docs/clients.md and docs/codex.md print as a reader would: on a
// gateway as make demo starts it, and on gateways that have one provider each. Only the
// installation is left out.
func TestExamplesOfTheDocumentWork(t *testing.T) {
	clients := needClients(t)
	all := examples(t)
	if len(all) < 12 {
		t.Fatalf("%d examples", len(all))
	}
	t.Run("demo", func(t *testing.T) {
		t.Parallel()
		newSession(t, clients, "SIMULATOR=true").runExamples(t, all, true)
	})
	for _, f := range providers() {
		f.aliases = foreign[f.name]
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			s := f.start(t, clients, nil)
			s.runExamples(t, all, f.name != "anthropic") // which has no models of embeddings
			s.upstream.acceptedAll(t)
		})
	}
}

var (
	installation = regexp.MustCompile(`(?m)^npm install .*$`)
	embeddings   = regexp.MustCompile(`(?ms)^for \(const name of .*?^}\n`)
)

// runExamples runs the examples for which this package has the clients.
func (s *session) runExamples(t *testing.T, all []example, vectors bool) {
	t.Helper()
	s.command(t, "exec env "+strings.Join(gatewaytest.AsProgram(), " ")+" "+os.Args[0]+` "$@"`)
	for i, e := range all {
		if e.language == "go" || e.language == "yaml" || e.language == "python" || e.language == "toml" || strings.HasPrefix(e.text, "export OPENAI_") {
			continue // tests/docs; those in TOML are in codex_models_test.go
		}
		if !vectors {
			e.text = embeddings.ReplaceAllString(e.text, "")
			if strings.Contains(e.text, "embeddings.create") {
				continue
			}
		}
		t.Run(fmt.Sprintf("%s %d", e.heading, i), func(t *testing.T) { s.runExample(t, e) })
	}
}

func (s *session) runExample(t *testing.T, e example, environment ...string) {
	t.Helper()
	environment = append(environment, s.path())
	text := strings.ReplaceAll(e.text, "http://localhost:8080", s.front.url)
	written := filepath.Join(s.work, "hello.txt")
	_ = os.Remove(written)
	var o outcome
	switch e.language {
	case "sh":
		o = s.run(t, append(environment, "KEY=any"), "bash", "-euc", installation.ReplaceAllString(text, ""))
	case "js":
		file, err := os.CreateTemp(filepath.Join(s.clients, scripts), "example*.mjs")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Remove(file.Name()) })
		if _, err := file.WriteString(text); err != nil {
			t.Fatal(err)
		}
		o = s.run(t, append(environment, "ANTHROPIC_BASE_URL="+s.front.url, "ANTHROPIC_AUTH_TOKEN=any"), "node", file.Name())
		if o.out == "" {
			t.Error("it prints nothing")
		}
	case "json":
		if err := os.WriteFile(filepath.Join(s.work, "opencode.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		e.text = "hello.txt"
		o = s.run(t, append(environment, "OPENCODE_DISABLE_MODELS_FETCH=1"), s.installed("opencode"),
			"run", `Create the file hello.txt that says "hello"`)
	default:
		t.Fatalf("who runs %s?", e.language)
	}
	if o.exit != 0 {
		t.Errorf("exit code %d: %s%s", o.exit, o.out, o.faults)
	}
	if !strings.Contains(e.text, "hello.txt") {
		return
	}
	if has, err := os.ReadFile(written); err != nil || string(has) != "hello\n" {
		t.Errorf("hello.txt has %q: %v; %s%s", has, err, o.out, o.faults)
	}
}
