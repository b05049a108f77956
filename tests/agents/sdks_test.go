package agents

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

// runScript gives two tasks to a script of testdata, the second to be done by streams, and
// requires both files, the answers that come from the last results, and usage.
func (s *session) runScript(t *testing.T, script string, arguments ...string) {
	t.Helper()
	tasks := []string{
		`Put "tok1" into ` + s.work + `/one.txt and read it back`, `Put "tok2" into ` + s.work + `/two.txt and read it back`,
	}
	before := len(s.upstream.exchanges())
	o := s.run(t, nil, "node", append(append([]string{filepath.Join(s.clients, scripts, script), s.front.url + "/v1"}, arguments...), tasks...)...)
	lines := strings.Split(strings.TrimSpace(o.out), "\n")
	if o.exit != 0 || len(lines) != len(tasks) {
		t.Fatalf("exit code %d: %s%s", o.exit, o.out, o.faults)
	}
	for i, file := range []string{"one.txt", "two.txt"} {
		want := []string{"tok1", "tok2"}[i]
		var r struct {
			Text          string `json:"text"`
			Input, Output int
		}
		text, err := os.ReadFile(filepath.Join(s.work, file))
		if err != nil || string(text) != want+"\n" {
			t.Errorf("%s has %q: %v", file, text, err)
		}
		if err := json.Unmarshal([]byte(lines[i]), &r); err != nil || !strings.Contains(r.Text, done) || !strings.Contains(r.Text, want) ||
			r.Input == 0 || r.Output == 0 {
			t.Errorf("%v: %s", err, lines[i])
		}
	}
	if n := len(s.upstream.exchanges()) - before; n != turns*len(tasks) {
		t.Errorf("%d upstream calls", n)
	}
	s.upstream.acceptedAll(t)
	s.calledNoOther(t)
}

func TestSDKsDoATaskThroughResponsesWithAnyProvider(t *testing.T) {
	eachProvider(t, func(t *testing.T, s *session, f provider) {
		s.runScript(t, "openai.mjs", f.model)
		s.runScript(t, "langchain.mjs", f.model)
		s.runScript(t, "aisdk.mjs", f.model, `{"openai":{"store":false}}`)
		s.isBooked(t)
	})
}

func TestAISDKDoesATaskWithItsDefaultsWithAnyProvider(t *testing.T) {
	folder := needClients(t)
	for _, f := range providers() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			s := f.start(t, folder, nil, "ENCRYPTION_KEY=MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")
			s.runScript(t, "aisdk.mjs", f.model, `{}`)
			s.isBooked(t)
		})
	}
}

// openCode is opencode.json as docs/clients.md has it.
const openCode = `{"$schema":"https://opencode.ai/config.json","model":"gateway/MODEL","provider":{"gateway":{"npm":"@ai-sdk/openai",` +
	`"options":{"baseURL":"GATEWAY/v1","apiKey":"any"},"models":{"MODEL":{}}}}}`

// openCode gives the task to opencode, and requires that it did it through Responses.
func (s *session) openCode(t *testing.T, model string) {
	t.Helper()
	settings := strings.NewReplacer("GATEWAY", s.front.url, "MODEL", model).Replace(openCode)
	if err := os.WriteFile(filepath.Join(s.work, "opencode.json"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	o := s.run(t, []string{"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1"}, s.installed("opencode"), "run", task)
	s.hasTheFile(t)
	if o.exit != 0 || !strings.Contains(o.out, done) || s.front.answers(200, "/v1/responses") < turns {
		t.Errorf("exit code %d: %s%s", o.exit, o.out, o.faults)
	}
}

func TestOpenCodeDoesATaskThroughResponsesWithAnyProvider(t *testing.T) {
	eachProvider(t, func(t *testing.T, s *session, f provider) {
		s.openCode(t, f.model)
		s.upstream.acceptedAll(t)
		s.isBooked(t)
	})
}

func TestSDKsGetTheSameVectorsFromAnyProviderThatHasThem(t *testing.T) {
	folder := needClients(t)
	models := map[string]string{"openai": "text-embedding-3-small", "gemini": "gemini-embedding-2"}
	for _, f := range providers() {
		if models[f.name] == "" { // Anthropic has no such models
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			s := f.start(t, folder, nil)
			o := s.run(t, nil, "node", filepath.Join(s.clients, scripts, "embeddings.mjs"), s.front.url+"/v1", models[f.name])
			var r struct {
				Vectors []struct {
					Numbers int
					Length  float64
				}
				Same   bool
				Tokens int
			}
			if err := json.Unmarshal([]byte(o.out), &r); err != nil || o.exit != 0 || len(r.Vectors) != 5 || !r.Same || r.Tokens == 0 {
				t.Fatalf("%v, exit code %d: %s%s", err, o.exit, o.out, o.faults)
			}
			for _, v := range r.Vectors {
				if v.Numbers != 256 || v.Length < 0.999 || v.Length > 1.001 {
					t.Errorf("%+v", v)
				}
			}
			s.upstream.acceptedAll(t)
			s.calledNoOther(t)
			db := gatewaytest.OpenSQL(t, "sqlite:"+s.database)
			gatewaytest.Until(t, "the ledger has the three requests", func() bool {
				return gatewaytest.Sum(t, db, "SELECT count(*) FROM ledger_calls WHERE status = 200 AND input_tokens > 0") == 3
			})
		})
	}
}
