package agents

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

// codexModel is a model as Codex prints it.
type codexModel struct {
	Slug         string `json:"slug"`
	Name         string `json:"display_name"`
	Window       int    `json:"context_window"`
	Instructions string `json:"base_instructions"`
}

// ours is in the gateway's instructions for a model that it lists.
const ours = "You are a coding agent. You work in the user's folder through Codex"

// codexModels are the models that the installed Codex knows.
func (s *session) codexModels(t *testing.T, options ...string) map[string]codexModel {
	t.Helper()
	o := s.run(t, []string{"GATEWAY_KEY=any", s.path()}, s.installed("codex"), append([]string{"debug", "models"}, options...)...)
	var list struct {
		Models []codexModel `json:"models"`
	}
	if err := json.Unmarshal([]byte(o.out), &list); err != nil {
		t.Fatalf("%v: %.300s %s", err, o.out, o.faults)
	}
	models := map[string]codexModel{}
	for _, m := range list.Models {
		models[m.Slug] = m
	}
	return models
}

// path finds the command modelgateway of the session, and the installed clients.
func (s *session) path() string {
	return "PATH=" + filepath.Join(s.home, "bin") + ":" + filepath.Join(s.clients, "node_modules", ".bin") + ":" + os.Getenv("PATH")
}

// command writes the command modelgateway of the session.
func (s *session) command(t *testing.T, script string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(s.home, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.home, "bin", "modelgateway"), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
}

// signedIn gives Codex the settings of docs/codex.md with a command for its tokens, which prints
// this key in place of a token.
func (s *session) signedIn(t *testing.T, key string) {
	t.Helper()
	s.command(t, `[ "$1 $2 $3" = 'token --url `+s.front.url+`' ] && echo `+key)
	s.codexByCommand(t)
}

// codexByCommand gives Codex the settings of docs/codex.md, with which it asks the command modelgateway for tokens.
func (s *session) codexByCommand(t *testing.T) {
	t.Helper()
	for _, e := range examples(t) {
		if e.language == "toml" {
			s.codexSettings(t, strings.ReplaceAll(e.text, "http://localhost:8080", s.front.url)+
				"[analytics]\nenabled = false\n")
			return
		}
	}
	t.Fatal("docs/codex.md has no settings with a command")
}

// TestCodexShowsTheModelsOfTheCaller holds the form of the list: Codex drops the whole list in
// which a member is missing that it needs.
func TestCodexShowsTheModelsOfTheCaller(t *testing.T) {
	s := newSession(t, needClients(t), "SIMULATOR=true", "MODELS_LISTED=all", "REQUIRE_AUTH=true", gatewaytest.JWTSecret,
		"MODEL_ALIASES=gpt-5.5=claude-opus-5-5;best=claude-opus-5-5")
	s.codexSettings(t, codexSettings)
	own := s.codexModels(t)
	_, key := s.program.CreateLimitedKey(t, s.program.Login(t), `"models":["claude-opus-5-5","gemini-3.5-flash","gpt-5.5","gpt-4o"]`)
	s.signedIn(t, key)
	all := s.codexModels(t)
	if s.front.answers(200, "/v1/models?client_version=") == 0 || len(all) != len(own)+3 {
		t.Errorf("%d models beside %d of its own", len(all), len(own))
	}
	for slug, m := range own {
		if all[slug] != m {
			t.Errorf("%s is not what Codex has in its own list: %.200v", slug, all[slug])
		}
	}
	for slug, want := range map[string]codexModel{
		"claude-opus-5-5":  {Name: "claude-opus-5-5", Window: 1_000_000},
		"best":             {Name: "best (claude-opus-5-5)", Window: 1_000_000},
		"gemini-3.5-flash": {Name: "gemini-3.5-flash", Window: 1_048_576},
	} {
		if m := all[slug]; m.Name != want.Name || m.Window != want.Window || !strings.Contains(m.Instructions, ours) {
			t.Errorf("%s: %+v", slug, m)
		}
	}
}

func TestCodexDoesATaskWithAModelThatTheGatewayLists(t *testing.T) {
	f := providers()[0]
	s := f.start(t, needClients(t), nil, "MODELS_LISTED=all")
	s.signedIn(t, "any")
	s.codexModels(t)
	r := s.runCodex(t, "-m", f.model, task)
	s.codexDidTheTask(t, r)
	s.upstream.acceptedAll(t)
	calls := s.upstream.exchanges()
	if len(calls) != turns || !strings.Contains(calls[0].body, ours[:60]) || strings.Contains(calls[0].body, "running in the Codex CLI") ||
		strings.Contains(r.failures, "metadata") {
		t.Errorf("%d upstream calls, %+v: %.3000s", len(calls), r, calls[0].body)
	}
}

// TestCodexCompactsAtTheWindowOfTheModel has two questions, with a window that holds both and with
// one of which the first takes more than nine tenths.
func TestCodexCompactsAtTheWindowOfTheModel(t *testing.T) {
	folder := needClients(t)
	for name, window := range map[string]string{"large": "100000", "small": "1200"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "models.yaml")
			text := "models:\n  - {id: windowed, provider: anthropic, upstream: claude-opus-5-5, context: " + window + "}\n"
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			s := providers()[0].start(t, folder, nil, "MODELS_FILE="+file)
			s.signedIn(t, "any")
			first := s.runCodex(t, "-m", "windowed", strings.Repeat("Hello there. ", 100))
			second := s.runCodex(t, "resume", "--last", "-m", "windowed", "What did you do?")
			if first.failed || second.failed || !strings.Contains(second.text, `You said: "`) {
				t.Fatalf("%+v %+v", first, second)
			}
			calls, want := s.upstream.exchanges(), map[string]int{"large": 2, "small": 3}[name]
			if asked := strings.Contains(calls[1].body, "CONTEXT CHECKPOINT COMPACTION"); len(calls) != want || asked != (name == "small") {
				t.Errorf("%d upstream calls; the second asks for a summary: %v", len(calls), asked)
			}
		})
	}
}

func TestCatalogOfTheCommandLineIsAListOfCodex(t *testing.T) {
	s := newSession(t, needClients(t), "SIMULATOR=true", "MODELS_LISTED=all")
	s.codexSettings(t, codexSettings)
	own := s.codexModels(t, "--bundled")
	bundled := s.run(t, nil, s.installed("codex"), "debug", "models", "--bundled").out
	for _, from := range []string{"", bundled} {
		args := []string{"codex-catalog", "--url", s.front.url}
		if from != "" {
			args = append(args, "--with", "-")
		}
		code, out, faults := gatewaytest.TryCommand(t, []string{"MODELGATEWAY_API_KEY=any"}, from, args...)
		file := filepath.Join(s.home, "models.json")
		if err := os.WriteFile(file, []byte(out), 0o600); err != nil || code != 0 {
			t.Fatalf("%d: %v %s", code, err, faults)
		}
		all := s.codexModels(t, "-c", "model_catalog_json="+file)
		_, kept := all["gpt-5.5"]
		if all["claude-opus-5-5"].Window != 1_000_000 || kept != (from != "") || kept && all["gpt-5.5"] != own["gpt-5.5"] {
			t.Errorf("%d models, gpt-5.5 %v", len(all), kept)
		}
	}
}

// TestOpencodeTakesATokenFromItsEnvironment runs the example of docs/clients.md with a token in place
// of the key.
func TestOpencodeTakesATokenFromItsEnvironment(t *testing.T) {
	s := newSession(t, needClients(t), "SIMULATOR=true", "REQUIRE_AUTH=true", gatewaytest.JWTSecret)
	_, key := s.program.CreateKey(t, s.program.Login(t))
	for _, e := range examples(t) {
		if e.language == "json" {
			e.text = strings.Replace(e.text, `"apiKey": "any"`, `"apiKey": "{env:GATEWAY_TOKEN}"`, 1)
			s.runExample(t, e, "GATEWAY_TOKEN="+key)
		}
	}
	if s.front.answers(200, "/v1/responses") == 0 || s.front.answers(401, "") > 0 {
		t.Errorf("%d answers, %d without a credential", s.front.answers(200, ""), s.front.answers(401, ""))
	}
}
