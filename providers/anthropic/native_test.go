package anthropic

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/config"
	"modelgateway/dialects/chat"
	"modelgateway/dialects/messages"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/providertest"
)

// messagesRequest is a request with this body.
func messagesRequest(t testing.TB, body string) *llm.Request {
	t.Helper()
	var own struct {
		Model     string `json:"model"`
		MaxTokens *int64 `json:"max_tokens"`
		Stream    bool   `json:"stream"`
	}
	if err := json.Unmarshal([]byte(body), &own); err != nil {
		t.Fatalf("the test's own request: %v\n%.1000s", err, body)
	}
	return &llm.Request{
		Source: &messages.Request{}, Raw: []byte(body), Kind: llm.KindChat, Model: own.Model, Stream: own.Stream, MaxOutput: own.MaxTokens, Choices: 1,
		Earlier: new(llm.Earlier),
	}
}

// ask opens a native call of a body at an upstream with these scripts.
func ask(t testing.TB, body string, change func(*providers.Call), scripts ...providertest.Script) (llm.Stream, *providertest.Upstream, error) {
	t.Helper()
	upstream := providertest.Serve(t, scripts...)
	call := providers.Call{Request: messagesRequest(t, body), Model: &catalog.Model{ID: "m", Upstream: "claude-up", Provider: catalog.Anthropic}}
	if change != nil {
		change(&call)
	}
	x, err := provider(upstream.URL).Prepare(call)
	if err != nil {
		return nil, upstream, err
	}
	stream, err := x.Open(t.Context(), testKey)
	return stream, upstream, err
}

// edited is a body for the upstream.
func edited(raw []byte, model string) [][]byte {
	return nativeBody(raw, model, marksOf(raw), earlier{})
}

// jsonScript answers with JSON.
func jsonScript(status int, body string) providertest.Script {
	return providertest.Script{Status: status, Header: http.Header{"Content-Type": {"application/json"}}, Pieces: [][]byte{[]byte(body)}}
}

const wholeMessageText = `{"id":"msg_1","type":"message","role":"assistant","model":"claude-up","content":[{"type":"text","text":"hi"}],` +
	`"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":2}}`

// replaced is a body with another value of its top-level member model, found by a decoder.
func replaced(t testing.TB, body []byte, model string) string {
	t.Helper()
	dec := jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowDuplicateNames(true))
	_, _ = dec.ReadToken()
	for dec.PeekKind() == jsontext.KindString {
		name, _ := dec.ReadToken()
		isModel := name.String() == "model"
		value, err := dec.ReadValue()
		if err != nil {
			t.Fatal(err)
		}
		if isModel {
			end := dec.InputOffset()
			return string(body[:end-int64(len(value))]) + string(quote(model)) + string(body[end:])
		}
	}
	return string(body)
}

// bodies are requests of real clients.
func bodies(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "requests", "*.json"))
	if err != nil || len(files) < 9 {
		t.Fatalf("%d requests, %v", len(files), err)
	}
	all := map[string][]byte{}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(file)] = body
	}
	return all
}

func TestTheUpstreamReceivesTheClientsBytesButForTheModel(t *testing.T) {
	for name, body := range bodies(t) {
		_, upstream, err := ask(t, string(body), nil, jsonScript(400, `{"type":"error","error":{"type":"invalid_request_error","message":"no"}}`))
		if err == nil {
			t.Fatal("the upstream has refused")
		}
		sent := upstream.Requests()
		if want := replaced(t, body, "claude-up"); len(sent) != 1 || string(sent[0].Body) != want {
			t.Errorf("%s: %d requests\n%.2000s\nwant\n%.2000s", name, len(sent), sent[0].Body, want)
		}
	}
}

// Case 9: the upstream judges what the gateway does not know.
func TestUnknownFieldsBlocksAndToolsReachTheUpstream(t *testing.T) {
	const body = "{ \"new_field\" : {\"b\":1e2,\"a\":[ ]},\n\t\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"new_block\",\"x\":\"\\u00e9\"}]}," +
		`{"role":"system","content":"later","output_config":{"effort":"low"}}],"model"` + " : \"m\\u0031\" ,\r\n" +
		`"tools":[{"type":"new_tool_20271231","name":"n"}],"max_tokens":7 , "betas":["b"]}` + "\n "
	stream, upstream, err := ask(t, body, nil, jsonScript(200, wholeMessageText))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(upstream.Requests()[0].Body), strings.Replace(body, `"m\u0031"`, `"claude-up"`, 1); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	answer, err := llm.Collect(stream)
	if err != nil || string(answer.Raw) != wholeMessageText || answer.RawDialect != llm.Messages {
		t.Errorf("%+v, %v", answer, err)
	}
}

// Case 8: no beta is filtered, replaced or added.
func TestEveryBetaOfTheClientReachesTheUpstream(t *testing.T) {
	const betas = "claude-code-20250219,unknown-2030-01-01, interleaved-thinking-2025-05-14"
	version := llm.Header{Name: "Anthropic-Version", Value: "2024-12-24"}
	beta := llm.Header{Name: "Anthropic-Beta", Value: betas}
	for _, tt := range []struct {
		beside               llm.Beside
		path, version, betas string
	}{
		{llm.Beside{}, "/v1/messages", "2023-06-01", ""},
		{llm.Beside{Headers: []llm.Header{beta}, Query: "beta=true"}, "/v1/messages?beta=true", "2023-06-01", betas},
		{llm.Beside{Headers: []llm.Header{version, beta}}, "/v1/messages", "2024-12-24", betas},
	} {
		_, upstream, err := ask(t, `{"model":"m","max_tokens":9,"messages":[]}`, func(c *providers.Call) { c.Request.Beside = tt.beside },
			jsonScript(200, wholeMessageText))
		if err != nil {
			t.Fatal(err)
		}
		got := upstream.Requests()[0]
		if got.Path != tt.path || got.Header.Get("Anthropic-Version") != tt.version || got.Header.Get("Anthropic-Beta") != tt.betas ||
			got.Header.Get("X-Api-Key") != testKey || got.Header.Get("Authorization") != "" || len(got.Header.Values("Anthropic-Version")) != 1 {
			t.Errorf("%+v: %s %v", tt.beside, got.Path, got.Header)
		}
	}
}

func TestTheLimitOfANativeAnswerIsThatOfTheBody(t *testing.T) {
	x, err := provider("http://127.0.0.1:1").Prepare(providers.Call{
		Request: messagesRequest(t, `{"model":"m","max_tokens":128000,"messages":[]}`), Model: &catalog.Model{Upstream: "m"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if most := x.Properties().MaxOutput; most != 128000 || len(x.Properties().Ignored) > 0 {
		t.Errorf("%d, %v", most, x.Properties().Ignored)
	}
}

// Long parts of a body are not copied.
func TestLongPartsOfABodyAreNotCopied(t *testing.T) {
	raw := []byte(`{"messages":[{"role":"user","content":"` + strings.Repeat("a", 1<<20) + `"}],"model":"m","max_tokens":9}`)
	pieces := edited(raw, "claude-up")
	if len(pieces) != 3 || &pieces[0][0] != &raw[0] || len(pieces[0]) < 1<<20 {
		t.Errorf("%d pieces", len(pieces))
	}
	if same := edited(raw, "m"); len(same) != 1 || len(same[0]) != len(raw) {
		t.Errorf("the same model: %d pieces", len(same))
	}
}

func FuzzNativeBody(f *testing.F) {
	for _, body := range bodies(f) {
		f.Add(body)
	}
	f.Add([]byte(`{"messages":[{"content":[{"type":"thinking","thinking":"","signature":"mgw1.eyJwIjoib3BlbmFpIn0"}]}],"model":"a"}`))
	f.Add([]byte("{\"\\u006dodel\" :\"b\\\\\",\"model2\":{\"model\":1}}"))
	f.Fuzz(func(t *testing.T, body []byte) {
		var strict map[string]jsontext.Value
		if api.Decode(body, &strict) != nil || jsontext.Value(body).Kind() != jsontext.KindBeginObject {
			return
		}
		got := bytes.Join(edited(body, "claude-up"), nil)
		if bytes.Contains(body, []byte("mgw1")) {
			if !jsontext.Value(got).IsValid() {
				t.Fatalf("%q became %q", body, got)
			}
			return
		}
		if want := replaced(t, body, "claude-up"); string(got) != want {
			t.Fatalf("%q became %q, not %q", body, got, want)
		}
	})
}

func TestCallIDsThatCarrySomethingAreUnpacked(t *testing.T) {
	packed := chat.PackID("call_7", []chat.ReasoningDetail{{Type: chat.ReasoningEncrypted, Data: "c2VjcmV0", Format: llm.FormatGemini}})
	talk := func(id string) string {
		return `{"model":"claude-up","messages":[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use","id":"` + id +
			`","name":"f","input":{"id":"` + packed + `"}}]},{"role":"user","content":[{"type":"tool_result", "tool_use_id" :"` + id + `","content":"` +
			packed + `"}]}]}`
	}
	if got := string(bytes.Join(edited([]byte(talk(packed)), "claude-up"), nil)); got != talk("call_7") {
		t.Errorf("%s\nwant\n%s", got, talk("call_7"))
	}
}

// sealed is a signature of the gateway's.
func sealed(s string) string {
	return "mgw1." + base64.RawURLEncoding.EncodeToString([]byte(s))
}

// Case 12, to Anthropic: what another provider has signed is left out, and all other bytes
// stay. Case 15: a thought without text keeps its signature.
func TestThoughtsOfOtherProvidersAreLeftOut(t *testing.T) {
	openai, gemini := sealed(`{"p":"openai","m":"gpt-5","i":"rs_1","s":"abc"}`), sealed(`{"p":"gemini","m":"gemini-3-pro","s":"abc"}`)
	own, ownData := sealed(`{"p":"anthropic","s":"EqQB=="}`), sealed(`{"p":"anthropic","k":2,"d":"EmwK"}`)
	think := func(signature string) string {
		return `{"type":"thinking","thinking":"so","signature":"` + signature + `"}`
	}
	redacted := func(data string) string { return `{"type":"redacted_thinking", "data":"` + data + `"}` }
	const text, call = `{"type":"text","text":"mgw1. is no signature"}`, `{"type":"tool_use","id":"c","name":"f","input":{"signature":"mgw1.x"}}`
	for _, tt := range []struct{ name, content, want string }{
		{"the first", think(openai) + " , " + text, text},
		{"the last", text + " ,\n" + think(gemini), text},
		{"between", text + "," + think(gemini) + " , " + call, text + " , " + call},
		{"several", think(openai) + "," + redacted(gemini) + "," + text + "," + think(gemini) + "," + call, text + "," + call},
		{"one that cannot be read", think("mgw1.???") + "," + text, text},
		{"escaped", think(`\u006d`+openai[1:]) + "," + text, text},
		{"Claude's own", think("EqQBCgYI==") + "," + redacted("Emw=") + "," + text, think("EqQBCgYI==") + "," + redacted("Emw=") + "," + text},
		{"without text", `{"type":"thinking","thinking":"","signature":"EqQB"}` + "," + text, `{"type":"thinking","thinking":"","signature":"EqQB"}` + "," + text},
		{"Claude's through another dialect", think(own) + "," + redacted(ownData) + "," + text, think("EqQB==") + "," + redacted("EmwK") + "," + text},
		{"only in texts", text + "," + call, text + "," + call},
	} {
		talk := func(content string) string {
			return `{"messages": [ {"role":"user","content":"mgw1."},{"role":"assistant","content":[ ` + content + ` ]} ,` +
				`{"role":"user","content":"go on"} ],"model":"claude-up", "x":"mgw1." }`
		}
		if got := string(bytes.Join(edited([]byte(talk(tt.content)), "claude-up"), nil)); got != talk(tt.want) {
			t.Errorf("%s: %s\nwant %s", tt.name, got, talk(tt.want))
		}
	}
}

func TestATurnThatIsLeftEmptyIsLeftOut(t *testing.T) {
	foreign := `{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"` + sealed(`{"p":"openai","s":"a"}`) + `"}]}`
	const user = `{"role":"user","content":"hi"}`
	for _, tt := range []struct{ name, messages, want string }{
		{"between", user + ", " + foreign + ", " + user, user + ", " + user},
		{"the first", foreign + " ," + user, user},
		{"the last", user + "," + foreign, user},
		{"in a row", user + "," + foreign + "," + foreign + "," + user, user + "," + user},
		{"empty before", `{"role":"user","content":[]},` + foreign, `{"role":"user","content":[]}`},
	} {
		body := func(messages string) string { return `{"model":"claude-up","messages":[` + messages + `]}` }
		if got := string(bytes.Join(edited([]byte(body(tt.messages)), "claude-up"), nil)); got != body(tt.want) {
			t.Errorf("%s: %s", tt.name, got)
		}
	}
}

func TestObjectsOfTheSharedAccountAreRefused(t *testing.T) {
	block := func(b string) string {
		return `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"hi"},` + b + `]}]}`
	}
	const file = `{"type":"image","source":{"type":"file","file_id":"file_1"}}`
	for _, tt := range []struct{ name, body, path string }{
		{"a source", block(file), "messages[0].content[1].source.file_id"},
		{"an escaped name", block(strings.Replace(file, "file_id", `file\u005fid`, 1)), "messages[0].content[1].source.file_id"},
		{"in a result", block(`{"type":"tool_result","tool_use_id":"c","content":[` + file + `]}`), "messages[0].content[1].content[0].source.file_id"},
		{"in a document", block(`{"type":"document","source":{"type":"content","content":[` + file + `]}}`),
			"messages[0].content[1].source.content[0].source.file_id"},
		{"an upload", block(`{"type":"container_upload","file_id":"file_1"}`), "messages[0].content[1].file_id"},
		{"of a tool", `{"tools":[{"name":"f"},{"type":"x","file_id":"f"}]}`, "tools[1].file_id"},
		{"a skill", `{"container":{"skills":[{"type":"anthropic","skill_id":"pdf"},{"type":"custom","skill_id":"s"}]}}`, "container.skills[1]"},

		{"the skill of Anthropic", `{"container":{"id":"c","skills":[{"type":"anthropic","skill_id":"pdf"}]}}`, ""},
		{"a container that an answer named", `{"container":"container_1"}`, ""},
		{"what a tool is called with", block(`{"type":"tool_use","id":"c","name":"f","input":{"file_id":"mine"}}`), ""},
		{"what a hosted tool has answered", block(`{"type":"code_execution_tool_result","content":{"content":[{"file_id":"file_1"}]}}`), ""},
		{"a text", block(`{"type":"text","text":"{\"file_id\":1}"}`), ""},
	} {
		path := func(policy string) string {
			p := provider("http://127.0.0.1:1")
			p.objects = policy
			_, err := p.native(providers.Call{Request: messagesRequest(t, tt.body), Model: &catalog.Model{Upstream: "m"}}, messagesPath)
			if err != nil {
				return api.AsError(err).Param
			}
			return ""
		}
		if got := path(config.ObjectsOwn); got != tt.path || path("") != got {
			t.Errorf("%s: %q, not %q", tt.name, got, tt.path)
		}
		if got := path(config.ObjectsAllow); got != "" {
			t.Errorf("%s: %q although all are allowed", tt.name, got)
		}
		if got := path(config.ObjectsNone); strings.Contains(tt.body, `"container":`) && got != "container" {
			t.Errorf("%s: %q although none is allowed", tt.name, got)
		}
	}
	_, _, err := ask(t, block(file), nil, jsonScript(200, wholeMessageText))
	if e := api.AsError(err); e.Status != 400 || e.Code != api.CodeUnsupportedValue || !strings.Contains(e.Message, "PROVIDER_OBJECTS") {
		t.Errorf("%v", err)
	}
}

func TestThoughtsOfAModelThatTheGatewayReplacedAreLeftOutOfOneMoreRequest(t *testing.T) {
	const refusal = `{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: Invalid ` + "`signature` in `thinking`" + ` block"}}`
	const body = `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[` +
		`{"type":"thinking","thinking":"b","signature":"Eq"},{"type":"text","text":"c"}]},{"role":"user","content":"d"}]}`
	const without = `{"model":"claude-up","max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[` +
		`{"type":"text","text":"c"}]},{"role":"user","content":"d"}]}`
	moved := func(c *providers.Call) { c.Moved = true }
	other := strings.Replace(refusal, "Invalid `signature` in `thinking` block", "too short", 1)
	for _, tt := range []struct {
		name, body, answer string
		change             func(*providers.Call)
		calls              int
	}{
		{"by the gateway", body, refusal, moved, 2},
		{"by the client", body, refusal, nil, 1},
		{"for another reason", body, other, moved, 1},
		{"without thoughts", strings.Replace(body, `{"type":"thinking","thinking":"b","signature":"Eq"},`, "", 1), refusal, moved, 1},
	} {
		stream, upstream, err := ask(t, tt.body, tt.change, jsonScript(400, tt.answer), jsonScript(200, wholeMessageText))
		sent := upstream.Requests()
		if len(sent) != tt.calls || (err == nil) != (tt.calls == 2) {
			t.Errorf("%s: %d calls, %v", tt.name, len(sent), err)
			continue
		}
		if err != nil {
			continue
		}
		if answer, err := llm.Collect(stream); err != nil || string(answer.Raw) != wholeMessageText || string(sent[1].Body) != without {
			t.Errorf("%s: %v %s", tt.name, err, sent[1].Body)
		}
	}
}

func TestTokensAreCountedByTheUpstream(t *testing.T) {
	const answer = `{ "input_tokens": 2095 }`
	upstream := providertest.Serve(t, jsonScript(200, answer))
	p := provider(upstream.URL)
	req := messagesRequest(t, `{"messages":[{"role":"user","content":"hi"}],"model":"m"}`)
	req.Beside = llm.Beside{Headers: []llm.Header{{Name: "Anthropic-Beta", Value: "token-counting-2024-11-01"}}, Query: "beta=true"}
	got, err := p.count(t.Context(), providers.Call{Request: req, Model: model(t, budgetNew)}, testKey)
	if err != nil || got.Tokens != 2095 || string(got.Raw) != answer || got.Dialect != llm.Messages {
		t.Errorf("%+v, %v", got, err)
	}
	sent := upstream.Requests()[0]
	if want := `{"messages":[{"role":"user","content":"hi"}],"model":"` + budgetNew + `"}`; sent.Path != "/v1/messages/count_tokens?beta=true" ||
		string(sent.Body) != want || sent.Header.Get("Anthropic-Beta") != "token-counting-2024-11-01" {
		t.Errorf("%s %s %v", sent.Path, sent.Body, sent.Header)
	}

	translated := chatRequest(t, `{"model":"m","stream":true,"temperature":0.5,"stop":"x","user":"u","max_tokens":5000,"reasoning_effort":"low",`+
		`"messages":[{"role":"system","content":"be brief"},{"role":"user","content":"hi"}],`+oneTool+`}`)
	got, err = p.count(t.Context(), providers.Call{Request: translated, Model: model(t, budgetNew)}, testKey)
	if err != nil || got.Tokens != 2095 || got.Raw != nil {
		t.Errorf("translated: %+v, %v", got, err)
	}
	want := `{"model":"` + budgetNew + `","system":"be brief","messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],` +
		`"tool_choice":{"type":"auto"},"thinking":{"type":"enabled","budget_tokens":2048},` + sentTool + `}`
	if sent := upstream.Requests()[1]; string(sent.Body) != want || sent.Path != "/v1/messages/count_tokens" {
		t.Errorf("translated: %s %s\nwant %s", sent.Path, sent.Body, want)
	}

	for _, bad := range []string{`{}`, `{"input_tokens":"many"}`, `no`} {
		upstream.Play(jsonScript(200, bad))
		if _, err := p.count(t.Context(), providers.Call{Request: req, Model: model(t, budgetNew)}, testKey); api.AsError(err).Status != 502 {
			t.Errorf("%s: %v", bad, err)
		}
	}
	upstream.Play(jsonScript(400, `{"type":"error","error":{"type":"invalid_request_error","message":"messages: at least one"}}`))
	_, err = p.count(t.Context(), providers.Call{Request: req, Model: model(t, budgetNew)}, testKey)
	if e := api.AsError(err); e.Status != 400 || e.RawDialect != llm.Messages || len(e.Raw) == 0 {
		t.Errorf("%+v", e)
	}
}
