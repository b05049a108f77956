package converse

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/dialects/chat"
	"modelgateway/dialects/messages"
	"modelgateway/dialects/responses"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/providertest"
	"modelgateway/providers/upstream"
)

var update = flag.Bool("update", false, "write the golden files anew")

const (
	nova = "us.amazon.nova-2-lite-v1:0"
	oss  = "openai.gpt-oss-120b-1:0"

	testKey = "secret-key"
	ask     = `{"model":"m","messages":[{"role":"user","content":"hi"}]}`
)

func newAPI(url string) *API {
	opts := providers.Options{Now: func() time.Time { return time.Unix(1760000000, 0) }}
	return New(upstream.New(upstream.Options{
		Provider: "bedrock", BaseURL: url, Sign: providers.SignBearer, Refused: Refused,
		HeaderTimeout: 5 * time.Second, IdleTimeout: 5 * time.Second,
	}), opts)
}

func model(upstream string) *catalog.Model {
	return &catalog.Model{ID: "bedrock/" + upstream, Upstream: upstream, Provider: "bedrock", Kind: llm.KindChat}
}

func decode(t testing.TB, dialect llm.Dialect, body string) *llm.Request {
	t.Helper()
	read := map[llm.Dialect]func(api.Memory, []byte) (*llm.Request, error){
		llm.Chat: chat.Decode, llm.Messages: messages.Decode, llm.Responses: responses.Decode,
	}[dialect]
	req, err := read(nil, []byte(body))
	if err != nil {
		t.Fatalf("the request is not valid: %s: %v", body, err)
	}
	return req
}

// golden is a file of testdata/golden: what a request becomes for a model.
type golden struct {
	Dialect  llm.Dialect    `json:"dialect"`
	Model    string         `json:"model"`
	Request  jsontext.Value `json:"request"`
	Ignored  []string       `json:"ignored"`
	Upstream jsontext.Value `json:"upstream"`
}

func TestGoldenRequests(t *testing.T) {
	for name, want := range goldens(t) {
		t.Run(name, func(t *testing.T) {
			call := providers.Call{Request: decode(t, want.Dialect, string(want.Request)), Model: model(want.Model)}
			x, err := newAPI("http://127.0.0.1:1").Prepare(call)
			if err != nil {
				t.Fatal(err)
			}
			got := want
			got.Ignored, got.Upstream = x.Properties().Ignored, x.Properties().Body[0]
			if *update {
				save(t, filepath.Join("testdata/golden", name), got)
				return
			}
			if !slices.Equal(got.Ignored, want.Ignored) {
				t.Errorf("ignored %v, not %v", got.Ignored, want.Ignored)
			}
			if a, b := plain(t, got.Upstream), plain(t, want.Upstream); a != b {
				t.Errorf("got  %s\nwant %s", a, b)
			}
		})
	}
}

func goldens(t testing.TB) map[string]golden {
	t.Helper()
	files, err := filepath.Glob("testdata/golden/*.json")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d golden files, %v", len(files), err)
	}
	all := map[string]golden{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var g golden
		if err := json.Unmarshal(text, &g, json.RejectUnknownMembers(true)); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[filepath.Base(file)] = g
	}
	return all
}

// plain is a value without the spaces between its members, in their order.
func plain(t *testing.T, raw jsontext.Value) string {
	t.Helper()
	raw = raw.Clone()
	if err := raw.Compact(); err != nil {
		t.Fatalf("not valid JSON: %v in %s", err, raw)
	}
	return string(raw)
}

func save(t *testing.T, file string, value any) {
	t.Helper()
	text, err := json.Marshal(value, jsontext.WithIndent("  "), jsontext.PreserveRawStrings(true))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestWhatWouldChangeTheMeaningIsRefused(t *testing.T) {
	image := func(url string) string {
		return `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"` + url + `"}}]}]}`
	}
	for body, param := range map[string]string{
		`{"model":"m","n":2,"messages":[{"role":"user","content":"hi"}]}`:                                            "n",
		`{"model":"m","modalities":["text","audio"],"audio":{},"messages":[{"role":"user","content":"a"}]}`:          "modalities",
		`{"model":"m","web_search_options":{},"messages":[{"role":"user","content":"hi"}]}`:                          "web_search_options",
		image("https://example.com/a.png"):                                                                           "messages[0].content[0].image_url.url",
		image("data:image/png;base64,SGVsbG8="):                                                                      "messages[0].content[0].image_url.url",
		image("data:image/svg+xml;utf8,%3Csvg/%3E"):                                                                  "messages[0].content[0].image_url.url",
		`{"model":"m","messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"f"}}]}]}`:              "messages[0].content[0].file.file_id",
		`{"model":"m","messages":[{"role":"user","content":" "}]}`:                                                   "messages",
		`{"model":"m","tool_choice":"required","messages":[{"role":"user","content":"hi"}]}`:                         "tool_choice",
		`{"model":"m","messages":[{"role":"user","content":"a"}],"tools":[{"type":"custom","custom":{"name":"f"}}]}`: "tools[0].type",
	} {
		req, err := chat.Decode(nil, []byte(body))
		if err == nil {
			_, err = newAPI("http://127.0.0.1:1").Prepare(providers.Call{Request: req, Model: model(nova)})
		}
		if e := api.AsError(err); err == nil || e.Status != 400 || e.Param != param {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestTheModelStandsEscapedInThePath(t *testing.T) {
	for id, escaped := range map[string]string{
		nova: "us.amazon.nova-2-lite-v1%3A0",
		"arn:aws:bedrock:us-east-1:111122223333:application-inference-profile/a b": "arn%3Aaws%3Abedrock%3Aus-east-1%3A111122223333%3Aapplication-inference-profile%2Fa%20b",
	} {
		for stream, operation := range map[string]string{"false": "converse", "true": "converse-stream"} {
			u := providertest.Serve(t, providertest.Script{Status: 400, Pieces: [][]byte{[]byte(`{"message":"no"}`)}})
			req := decode(t, llm.Chat, strings.Replace(ask, "{", `{"stream":`+stream+`,`, 1))
			x, err := newAPI(u.URL).Prepare(providers.Call{Request: req, Model: model(id)})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := x.Open(t.Context(), testKey); err == nil || !strings.Contains(err.Error(), "status 400: no") {
				t.Errorf("%v", err)
			}
			if got := u.Requests()[0]; got.Path != "/model/"+escaped+"/"+operation || got.Header.Get("Authorization") != "Bearer "+testKey {
				t.Errorf("%+v", got)
			}
		}
	}
}

func TestAGuardrailIsSentWithEachChat(t *testing.T) {
	for text, want := range map[string]string{
		"":              ``,
		"abc:DRAFT":     `"guardrailConfig":{"guardrailIdentifier":"abc","guardrailVersion":"DRAFT"}`,
		"arn:a:b:g/x:7": `"guardrailConfig":{"guardrailIdentifier":"arn:a:b:g/x","guardrailVersion":"7"}`,
	} {
		guarded := *model(nova)
		guarded.Guardrail = text
		x, err := newAPI("").Prepare(providers.Call{Request: decode(t, llm.Chat, ask), Model: &guarded})
		if err != nil {
			t.Fatal(err)
		}
		body := string(x.Properties().Body[0])
		if !strings.Contains(body, want) || strings.Contains(body, "guardrail") != (text != "") {
			t.Errorf("%s: %s", text, body)
		}
	}
}
