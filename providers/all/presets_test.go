package all

import (
	"bytes"
	"cmp"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/openai"
	"modelgateway/providers/providertest"
)

var update = flag.Bool("update", false, "rewrite the requests that the presets send")

// played is what a server of testdata/presets says. Every answer is Paris., or a call
// of weather with the city Paris, and has 10 and 7 tokens.
type played struct {
	model     string
	reasoning string // that it shows
	hidden    int64  // tokens of reasoning
	cached    int64
	status    int // of its error, as clients get it
	message   string
	late      string // the message of an error inside a stream; empty: it has none
	ignored   string // of fullRequest
}

var playedServers = map[string]played{
	"azure": {model: "gpt-4o", cached: 3, status: 400, ignored: "thinking top_k",
		message: "The response was filtered due to the prompt triggering the content management policy."},
	"mistral": {model: "mistral-small-latest", reasoning: "Hm.", status: 422, message: "Extra inputs are not permitted",
		ignored: "logit_bias messages[].name store thinking top_k user"},
	"groq": {model: "qwen/qwen3-32b", reasoning: "Hm.", hidden: 4, status: 400, message: "Tool call validation failed",
		late: "Tool call validation failed", ignored: "logit_bias messages[].name thinking top_k"},
	"deepseek": {model: "deepseek-reasoner", reasoning: "Hm.", hidden: 4, cached: 3, status: 400,
		message: "Missing `reasoning_content` field in the assistant message at message index 2.", ignored: "top_k"},
	"xai": {model: "grok-3-mini", reasoning: "Hm.", hidden: 4, cached: 3, status: 400,
		message: "Model grok-build-0.1 does not support parameter reasoningEffort.", ignored: "thinking top_k"},
	"together": {model: "openai/gpt-oss-20b", reasoning: "Hm.", status: 400, ignored: "thinking",
		message: "Input validation error: max_tokens must be positive"},
	"fireworks": {model: "accounts/fireworks/models/kimi", reasoning: "Hm.", status: 404, ignored: "thinking",
		message: "Model not found, inaccessible, and/or not deployed"},
	"openrouter": {model: "openai/gpt-5-mini", reasoning: "Hm.", hidden: 4, cached: 3, status: 429, message: "Provider returned error",
		late: "Provider disconnected", ignored: "thinking"},
	"cerebras": {model: "gpt-oss-120b", reasoning: "Hm.", hidden: 4, cached: 3, status: 400,
		message: "parallel_tool_calls is not supported", ignored: "frequency_penalty logit_bias parallel_tool_calls thinking top_k"},
	"ollama": {model: "gpt-oss:20b", reasoning: "Hm.", status: 404, message: `model "none" not found, try pulling it first`,
		ignored: "logit_bias parallel_tool_calls thinking top_k user"},
	"vllm": {model: "Qwen/Qwen3-8B", reasoning: "Hm.", status: 400, message: "This model's maximum context length is 4096 tokens.",
		late: "EngineCore encountered an issue.", ignored: "thinking"},
	"llamacpp": {model: "gpt-oss-20b", reasoning: "Hm.", status: 400, message: "the request exceeds the available context size",
		late: "context shift is disabled", ignored: "thinking"},
	"lmstudio": {model: "qwen3-8b", reasoning: "Hm.", status: 404, message: `Model "none" is not loaded`, ignored: "thinking"},
}

// copies are the presets that copy OpenAI's API. The others have tests of their own.
func copies() []providers.Preset {
	return slices.DeleteFunc(Presets(), func(p providers.Preset) bool { return p.Type != catalog.OpenAI })
}

// TestPresetsAreServed runs every preset whole, as a stream, with a tool and with an
// error, for a client of chat completions and for one of another dialect.
func TestPresetsAreServed(t *testing.T) {
	for _, preset := range copies() {
		want, ok := playedServers[preset.Name]
		if !ok {
			t.Errorf("%s is not played", preset.Name)
			continue
		}
		t.Run(preset.Name, func(t *testing.T) {
			s := newScripted(t, preset)
			for _, foreign := range []bool{false, true} {
				for _, section := range []string{"whole", "stream", "call", "call stream"} {
					got, err := s.ask(t, section, foreign, request(section, "hi"))
					if err != nil {
						t.Errorf("%s, foreign %t: %v", section, foreign, err)
						continue
					}
					want.check(t, section, got)
				}
				_, err := s.ask(t, "error", foreign, request("whole", "hi"))
				if e := api.AsError(err); err == nil || e.Status != want.status || e.Message != want.message || e.Provider != preset.Name {
					t.Errorf("%+v, want %d %s", err, want.status, want.message)
				}
				if want.late == "" {
					continue
				}
				if _, err = s.ask(t, "error stream", foreign, request("stream", "hi")); err == nil || !strings.Contains(err.Error(), want.late) {
					t.Errorf("%v, want %s", err, want.late)
				}
			}
		})
	}
}

func (p played) check(t *testing.T, section string, got *chat.Completion) {
	t.Helper()
	c := got.Choices[0]
	text := ""
	if c.Message.Content != nil {
		text = *c.Message.Content
	}
	if strings.HasPrefix(section, "call") {
		calls := c.Message.ToolCalls
		if len(calls) != 1 || calls[0].ID == "" || calls[0].Function.Name != "weather" || calls[0].Function.Arguments != `{"city": "Paris"}` ||
			c.FinishReason != string(llm.FinishToolCalls) || text != "" {
			t.Errorf("%s: %+v", section, c)
		}
	} else if text != "Paris." || c.FinishReason != string(llm.FinishStop) || c.Message.ReasoningContent != p.reasoning {
		t.Errorf("%s: %q %q %s", section, text, c.Message.ReasoningContent, c.FinishReason)
	}
	u := got.Usage.Common()
	if u == nil || u.Input != 10 || u.Output != 7 || u.Total != 17 || u.Reasoning != p.hidden || u.Cached != p.cached {
		t.Errorf("%s: usage %+v", section, u)
	}
}

// fullRequest has what servers differ in.
const fullRequest = `{"model":"m","messages":[{"role":"developer","content":"Be brief."},{"role":"user","name":"ann",` +
	`"content":"Weather?"},` +
	`{"role":"assistant","content":null,"reasoning_content":"Hm.","reasoning_details":[{"type":"reasoning.summary","summary":"Hm.",` +
	`"index":0}],` +
	`"tool_calls":[{"id":"call_of_another_server","type":"function","function":{"name":"weather","arguments":"{}"}}]},` +
	`{"role":"tool","tool_call_id":"call_of_another_server","content":"sunny"}],"max_completion_tokens":50,"seed":1,"top_k":3,` +
	`"logit_bias":{"1":2},"user":"u","store":true,"frequency_penalty":0.5,"parallel_tool_calls":false,"thinking":{"type":"enabled"},` +
	`"reasoning_effort":"low","tools":[{"type":"function","function":{"name":"weather"}}],"stream":true,` +
	`"stream_options":{"include_usage":true}}`

// TestPresetsAreSentWhatTheyTake compares what each server gets of a full request
// with testdata/presets.
func TestPresetsAreSentWhatTheyTake(t *testing.T) {
	for _, preset := range copies() {
		t.Run(preset.Name, func(t *testing.T) {
			s := newScripted(t, preset)
			for _, foreign := range []bool{false, true} {
				if _, err := s.ask(t, "call stream", foreign, fullRequest); err != nil {
					t.Fatal(err)
				}
				file := filepath.Join("testdata", "presets", preset.Name+map[bool]string{false: ".json", true: ".foreign.json"}[foreign])
				if *update {
					if err := os.WriteFile(file, append(s.body, '\n'), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(file)
				if err != nil || string(bytes.TrimSpace(want)) != string(s.body) {
					t.Errorf("foreign %t: %s\nwant %s %v", foreign, s.body, want, err)
				}
			}
			if got := strings.Join(s.ignored, " "); got != playedServers[preset.Name].ignored {
				t.Errorf("ignored %q, want %q", got, playedServers[preset.Name].ignored)
			}
			if keys := []string{s.header.Get("Authorization"), s.header.Get("Api-Key")}; !slices.Contains(
				[][2]string{{"Bearer secret", ""}, {"", "secret"}}, [2]string(keys)) {
				t.Errorf("headers %v", s.header)
			}
		})
	}
}

// TestDeepSeekIsToldNotToThinkInItsOwnWords asks for no reasoning in OpenAI's words.
func TestDeepSeekIsToldNotToThinkInItsOwnWords(t *testing.T) {
	presets := Presets()
	s := newScripted(t, presets[slices.IndexFunc(presets, func(p providers.Preset) bool { return p.Name == "deepseek" })])
	for _, body := range []string{
		strings.Replace(request("whole", "hi"), `}]`, `}],"reasoning_effort":"none"`, 1),
		strings.Replace(request("whole", "hi"), `}]`, `}],"thinking":{"type":"disabled"}`, 1),
	} {
		for _, foreign := range []bool{false, true} {
			if _, err := s.ask(t, "whole", foreign, body); err != nil {
				t.Fatal(err)
			}
			if got := string(s.body); !strings.Contains(got, `"thinking":{"type":"disabled"}`) || strings.Contains(got, "reasoning_effort") {
				t.Errorf("foreign %t: %s", foreign, got)
			}
		}
	}
}

// TestPresetsHaveAnAddressOrWantOne checks the table itself.
func TestPresetsHaveAnAddressOrWantOne(t *testing.T) {
	names := map[string]bool{}
	for _, p := range copies() {
		if names[p.Name] || p.Title == "" || p.Prefix == "" || p.Type != catalog.OpenAI || p.Version != "/v1" {
			t.Errorf("%+v", p)
		}
		names[p.Name] = true
		if p.BaseURL != "" && (!strings.HasPrefix(p.BaseURL, "https://") || !strings.HasSuffix(p.BaseURL, p.Version)) {
			t.Errorf("%s: %s", p.Name, p.BaseURL)
		}
		if p.Keyless && p.BaseURL != "" {
			t.Errorf("%s has no key, and a fixed address", p.Name)
		}
	}
	if len(names) != 13 || len(Presets()) != 16 {
		t.Errorf("%d of %d presets", len(names), len(Presets()))
	}
}

// scripted is a server that says the sections of a file.
type scripted struct {
	preset   providers.Preset
	provider *openai.Provider
	sections map[string]string
	section  string
	body     []byte // of the last request
	header   http.Header
	ignored  []string // of the last native request
}

func newScripted(t *testing.T, preset providers.Preset) *scripted {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "presets", preset.Name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	s := &scripted{preset: preset, sections: map[string]string{}}
	for section := range strings.SplitSeq("\n"+string(text), "\n== ") {
		name, body, _ := strings.Cut(section, "\n")
		s.sections[name] = body
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.provider = openai.New(providers.Options{
		Name: preset.Name, BaseURL: server.URL, HeaderTimeout: 10 * time.Second, IdleTimeout: 10 * time.Second, Now: time.Now,
		Sign: preset.Sign, Server: preset.Server,
	})
	return s
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.body, _ = io.ReadAll(r.Body)
	s.header = r.Header
	body, known := s.sections[s.section]
	status := http.StatusOK
	if s.section == "error" {
		code, text, _ := strings.Cut(body, " ")
		status, _ = strconv.Atoi(code)
		body = text
	}
	if !known || r.URL.Path != "/v1/chat/completions" {
		status = http.StatusNotFound
	}
	kind := "application/json"
	if strings.HasSuffix(s.section, "stream") {
		kind, body = "text/event-stream", events(body)
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// events are lines of a file as an event stream.
func events(lines string) string {
	var out strings.Builder
	for line := range strings.Lines(lines) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "event: "):
			out.WriteString(line + "\n")
		case line == "" || strings.HasPrefix(line, ":") || strings.HasPrefix(line, "error: "):
			out.WriteString(line + "\n\n")
		default:
			out.WriteString("data: " + line + "\n\n")
		}
	}
	return out.String()
}

func request(section, text string) string {
	out := `{"model":"m","messages":[{"role":"user","content":"` + text + `"}]`
	if strings.HasPrefix(section, "call") {
		out += `,"tools":[{"type":"function","function":{"name":"weather","parameters":{"type":"object"}}}]`
	}
	if strings.HasSuffix(section, "stream") {
		out += `,"stream":true,"stream_options":{"include_usage":true}`
	}
	return out + `}`
}

// ask makes a request that is answered with a section, and reads the answer as a
// client does.
func (s *scripted) ask(t *testing.T, section string, foreign bool, body string) (*chat.Completion, error) {
	t.Helper()
	s.section = section
	req, err := chat.Decode(nil, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if foreign {
		req = providertest.Foreign(req)
	}
	x, err := s.provider.Prepare(providers.Call{Request: req, Model: s.model(t)})
	if err != nil {
		t.Fatal(err)
	}
	if !foreign {
		s.ignored = x.Properties().Ignored
	}
	stream, err := x.Open(t.Context(), "secret")
	if err != nil {
		return nil, err
	}
	if req.Stream {
		return providertest.Collect(providertest.Chunks(req, stream))
	}
	return providertest.Completion(req, stream)
}

// model has the traits of the preset's rule, or those that its facts' provider has.
func (s *scripted) model(t *testing.T) *catalog.Model {
	t.Helper()
	id := playedServers[s.preset.Name].model
	c := providertest.Catalog(t)
	m := c.Derive(cmp.Or(s.preset.Facts, s.preset.Type), id)
	m.Provider = s.preset.Name
	if at := slices.IndexFunc(s.preset.Rules, func(r catalog.Rule) bool { return slices.Contains(r.Match, "*") }); at >= 0 {
		m.Traits = s.preset.Rules[at].Traits
	}
	return m
}
