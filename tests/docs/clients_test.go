package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/longtest"
)

// settings are what a client is told: where the gateway is, and with which key.
type settings struct{ base, key, model string }

// section returns the text below a heading of docs/clients.md, and its first block of code.
func section(t *testing.T, heading string) (text, block string) {
	t.Helper()
	page, err := os.ReadFile(gatewaytest.File(t, "docs/clients.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(page), "\n"+heading+"\n")
	if !found {
		t.Fatalf("docs/clients.md has no %s", heading)
	}
	text, _, _ = strings.Cut(text, "\n"+heading[:strings.Index(heading, " ")]+" ")
	if _, rest, found := strings.Cut(text, "\n```"); found {
		_, block, _ = strings.Cut(rest, "\n")
		block, _, _ = strings.Cut(block, "\n```")
	}
	return text, block
}

// exported reads the variables of a line of a shell.
func exported(block, base string) settings {
	s := settings{model: "claude-sonnet-5"}
	for word := range strings.FieldsSeq(block) {
		switch name, value, _ := strings.Cut(word, "="); name {
		case base:
			s.base = value
		case "OPENAI_API_KEY":
			s.key = value
		}
	}
	return s
}

func otherClients(t *testing.T) map[string]settings {
	t.Helper()
	_, python := section(t, "### Python: OpenAI's SDK, LangChain")
	_, index := section(t, "### LlamaIndex")
	arguments := regexp.MustCompile(`\(model="(.*?)", api_base="(.*?)", api_key="(.*?)", is_chat_model=True\)`).FindStringSubmatch(index)
	_, webUI := section(t, "### Open WebUI")
	_, text := section(t, "### Continue")
	var editor struct {
		Models []struct{ Provider, Model, APIBase, APIKey string }
	}
	decode(t, strings.NewReplacer("apiBase", "apibase", "apiKey", "apikey").Replace(text), &editor)
	_, text = section(t, "### LibreChat")
	var chat struct {
		Endpoints struct {
			Custom []struct {
				BaseURL, APIKey string
				Models          struct{ Default []string }
			}
		}
	}
	decode(t, strings.NewReplacer("baseURL", "baseurl", "apiKey", "apikey").Replace(text), &chat)
	text, _ = section(t, "### Cursor and Cline")
	cells := regexp.MustCompile("(?m)^\\| [^|]+ \\| `([^`]+)` \\|$").FindAllStringSubmatch(text, -1)
	if len(editor.Models) != 1 || editor.Models[0].Provider != "openai" || len(chat.Endpoints.Custom) != 1 ||
		len(cells) != 3 || arguments == nil {
		t.Fatalf("%+v %+v %q", editor, chat, cells)
	}
	m, c := editor.Models[0], chat.Endpoints.Custom[0]
	return map[string]settings{
		"OpenAI's SDK for Python, LangChain": exported(python, "OPENAI_BASE_URL"), "LlamaIndex": {arguments[2], arguments[3], arguments[1]},
		"Open WebUI": exported(webUI, "OPENAI_API_BASE_URL"), "Continue": {m.APIBase, m.APIKey, m.Model},
		"LibreChat": {c.BaseURL, c.APIKey, c.Models.Default[0]}, "Cursor, Cline": {cells[0][1], cells[1][1], cells[2][1]},
	}
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}

// These clients list the models, and send chats with the key as a bearer token: whole, and as a
// stream with its usage at the end.
func TestSettingsOfOtherClientsReachTheGateway(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "SIMULATOR=true")
	for name, s := range otherClients(t) {
		t.Run(name, func(t *testing.T) {
			path, found := strings.CutPrefix(s.base, "http://localhost:8080")
			if !found || s.key == "" {
				t.Fatalf("%+v", s)
			}
			bearer := []string{"Authorization", "Bearer " + s.key}
			if a := p.Call(t, "GET", path+"/models", "", bearer...); a.Status != 200 || !strings.Contains(a.Body, `"`+s.model+`"`) {
				t.Errorf("models: %d %s", a.Status, a.Body)
			}
			const messages = `"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":[{"type":"text","text":"Hello"}]}]`
			body := `{"model":"` + s.model + `",` + messages + `,"max_tokens":100`
			if a := p.Call(t, "POST", path+"/chat/completions", body+"}", bearer...); a.Status != 200 || !strings.Contains(a.Body, "Hello") {
				t.Errorf("chat: %d %s", a.Status, a.Body)
			}
			a := p.Call(t, "POST", path+"/chat/completions", body+`,"stream":true,"stream_options":{"include_usage":true}}`, bearer...)
			if a.Status != 200 || !strings.Contains(gatewaytest.TextOf(a.Body), "Hello") || !strings.Contains(a.Body, `"usage":{`) ||
				!strings.HasSuffix(a.Body, "data: [DONE]\n\n") {
				t.Errorf("stream: %d %s", a.Status, a.Body)
			}
		})
	}
}

// TestTheProgramInGoWorks compiles it with the SDK's release of go.mod.
func TestTheProgramInGoWorks(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	_, program := section(t, "## Go")
	p := gatewaytest.Start(t, "SIMULATOR=true")
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(program, "http://localhost:8080", p.URL)), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "run", file).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Hello") {
		t.Errorf("%v: %s", err, out)
	}
}
