package tokens

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"modelgateway/catalog"
	"modelgateway/config"
	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/all"
	"modelgateway/providers/providertest"
)

// translators are the three real providers, none of which is called.
func translators(t testing.TB) map[string]providers.Provider {
	t.Helper()
	return translatorsAt(t, "http://127.0.0.1:1")
}

func translatorsAt(t testing.TB, url string) map[string]providers.Provider {
	t.Helper()
	at := config.Provider{Keys: poolOf("k"), BaseURL: url}
	cfg := config.Config{
		UpstreamTimeout: time.Minute, StreamIdleTimeout: time.Minute, ProviderObjects: config.ObjectsAllow,
		Providers: map[string]config.Provider{},
	}
	for _, name := range catalog.Providers() {
		cfg.Providers[name] = at
	}
	byName := map[string]providers.Provider{}
	for _, p := range all.New(cfg) {
		byName[p.Name] = p.Provider
	}
	if len(byName) != len(cfg.Providers) {
		t.Fatalf("%d providers", len(byName))
	}
	return byName
}

// bound is the most of a request, decoded and translated as it would be.
func bound(t testing.TB, body string, model *catalog.Model) (input, output int64) {
	t.Helper()
	r := decoded(t, body)
	x, err := translators(t)[model.Provider].Prepare(providers.Call{Request: r, Model: model})
	if err != nil {
		t.Fatalf("%s: %v", body[:min(len(body), 300)], err)
	}
	return Max(r, model, Bounds{Images: imagesOf(model.Provider), Output: x.Properties().MaxOutput})
}

func imagesOf(provider string) providers.Images {
	for _, d := range all.Drivers() {
		if d.Name == provider {
			return d.Images
		}
	}
	return providers.Images{}
}

func decoded(t testing.TB, body string) *llm.Request {
	t.Helper()
	r, err := chat.Decode(nil, []byte(body))
	if err != nil {
		t.Fatalf("%s: %v", body[:min(len(body), 300)], err)
	}
	return r
}

func model(t testing.TB, id string) *catalog.Model {
	t.Helper()
	list, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	m, ok := list.Model(id)
	if !ok {
		t.Fatalf("no model %s", id)
	}
	own := *m // which a test may change
	return &own
}

const gemini25 = "gemini-2.5-flash-lite"

func TestBoundOfAnAnswerIsTheSmallerOfClientAndModel(t *testing.T) {
	long := model(t, gpt)
	long.MaxOutput = 0 // as of one that was discovered
	long.Traits.LimitField = ""
	for _, tt := range []struct {
		name, members string
		model         *catalog.Model
		want          int64
	}{
		{"no bound", ``, model(t, gpt), 8192},
		{"the client's", `,"max_tokens":100`, model(t, gpt), 100},
		{"the client's, by its newer name", `,"max_completion_tokens":200`, model(t, gpt), 200},
		{"both: the looser, for who reads only that", `,"max_completion_tokens":1,"max_tokens":300`, model(t, gpt), 300},
		{"both, the other way", `,"max_completion_tokens":300,"max_tokens":1`, model(t, gpt), 300},
		{"more than the model has", `,"max_tokens":100000`, model(t, gpt), 8192},
		{"several", `,"max_tokens":100,"n":5`, model(t, gpt), 500},
		{"several without a bound", `,"n":3`, model(t, gpt), 3 * 8192},
		{"one", `,"n":1`, model(t, gpt), 8192},
		{"unknown limit of the model", ``, long, 131_072},
		{"unknown limit of the model, and the client wants less", `,"max_tokens":100`, long, 100},
		{"unknown limit of the model, and the client wants more", `,"max_tokens":500000`, long, 500_000},
		{"as much as can be said", `,"max_tokens":2147483647,"n":128`, long, 128 * 2147483647},
		{"gemini", `,"max_tokens":100,"n":4`, model(t, gemini25), 400},
		{"gemini thinks inside it", `,"max_tokens":100,"reasoning_effort":"high"`, model(t, gemini25), 100},
		{"gemini without a bound", ``, model(t, gemini25), 65_536},
		{"anthropic has a usual one", ``, model(t, haiku), 8192},
		{"anthropic's client", `,"max_tokens":100`, model(t, haiku), 100},
		{"anthropic reads the newer", `,"max_completion_tokens":100,"max_tokens":5000`, model(t, haiku), 100},
		{"anthropic thinks inside it", `,"max_tokens":100,"reasoning_effort":"low"`, model(t, haiku), 100},
		{"anthropic thinks beside the usual", `,"reasoning_effort":"high"`, model(t, haiku), 8192 + 16384},
		{"anthropic thinks, in its own words", `,"max_tokens":4000,"thinking":{"type":"enabled","budget_tokens":3000}`, model(t, haiku), 4000},
		{"anthropic may not think more than it may write", `,"max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":3000}`,
			model(t, haiku), 2000},
		{"anthropic, up to its most", `,"max_tokens":64000,"thinking":{"type":"enabled","budget_tokens":70000}`, model(t, haiku), 64_000},
		{"anthropic, the model's most", `,"max_tokens":100000`, model(t, haiku), 64_000},
	} {
		_, got := bound(t, `{"model":"m","messages":[{"role":"user","content":"hi"}]`+tt.members+`}`, tt.model)
		if got != tt.want {
			t.Errorf("%s: %d, not %d", tt.name, got, tt.want)
		}
	}
}

func TestBoundOfAPromptIsItsBytesAndTheProvidersAdditions(t *testing.T) {
	const text = `{"model":"m","messages":[{"role":"user","content":"hi"}]}`
	data := func(kind string, size int) string {
		return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{0}, size))
	}
	png := "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte("\x89PNG"+strings.Repeat("\x00", 900_000)))
	picture := func(address string) string {
		return `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":{"url":"` +
			address + `"}}]}]}`
	}
	without := func(body, address string) int64 { return int64(len(body)-len(address)) + 256 + 16 }
	turbo, claude, gem := model(t, "gpt-4-turbo"), model(t, haiku), model(t, gemini25)
	unknown := model(t, "gpt-4-turbo")
	unknown.Context = 0
	link, film := "https://example.com/a.png", "https://www.youtube.com/watch?v=dQw4w9WgXcQ"
	sound := base64.StdEncoding.EncodeToString(append([]byte("ID3"), bytes.Repeat([]byte{1}, 79_997)...))
	spoken := `{"model":"m","messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"` + sound +
		`","format":"mp3"}}]}]}`
	pdf := `{"model":"m","messages":[{"role":"user","content":[{"type":"file","file":{"file_data":"` + "data:application/pdf;base64," +
		base64.StdEncoding.EncodeToString([]byte("%PDF-1.7 ")) + `","filename":"a.pdf"}}]}]}`
	tools := `{"model":"m","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"f"}}]}`
	functions := `{"model":"m","messages":[{"role":"user","content":"hi"}],"functions":[{"name":"f"}]}`
	schema := `{"model":"m","messages":[{"role":"user","content":"hi"}],"response_format":{"type":"json_object"}}`
	shown := func(address string) string {
		return `{"model":"m","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"so","images":[{"type":"image_url",` +
			`"image_url":{"url":"` + address + `"}}]},{"role":"user","content":"hi"}]}`
	}
	heard := func(audio string) string {
		return `{"model":"m","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"so","audio":` + audio +
			`},{"role":"user","content":"hi"}]}`
	}
	four := `{"model":"m","messages":[` + strings.Repeat(`{"role":"user","content":"hi"},`, 3) + `{"role":"user","content":"hi"}]}`
	long := `{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("a", 300_000) + `"}]}`
	for _, tt := range []struct {
		name, body string
		model      *catalog.Model
		want       int64
	}{
		{"text", text, turbo, without(text, "")},
		{"text", text, claude, without(text, "")},
		{"four messages", four, turbo, without(four, "") + 3*16},
		{"longer than the context", long, turbo, 128_000},
		{"longer than the context", long, claude, 200_000},
		{"a context that is larger", long, gem, without(long, "")},
		{"an unknown context", long, unknown, without(long, "")},
		{"a picture", picture(png), turbo, without(picture(png), png) + 49_000},
		{"a picture", picture(png), claude, without(picture(png), png) + 5000},
		{"a picture", picture(png), gem, without(picture(png), png) + 5000},
		{"a link", picture(link), turbo, without(picture(link), link) + 49_000},
		{"a link", picture(link), claude, without(picture(link), link) + 5000},
		{"a link", picture(link), gem, without(picture(link), link) + 5000},
		{"a link with a query", picture(link + "?a=b"), gem, without(picture(link), link) + 5000},
		{"a link in capitals", picture("https://example.com/A.JPEG"), gem, without(picture(link), link) + 5000},
		{"a link that does not say", picture(film), turbo, without(picture(film), film) + 49_000},
		{"a link that may be a film", picture(film), gem, 1_048_576},
		{"a link to a film", picture("https://example.com/a.mp4"), gem, 1_048_576},
		{"a film", picture(data("video/mp4", 10)), gem, 1_048_576},
		{"a document", picture(data("application/pdf", 10)), gem, 1_048_576},
		{"something", picture("data:;base64," + base64.StdEncoding.EncodeToString([]byte("%PDF-1.7 "))), gem, 1_048_576},
		{"a picture, in capitals", picture(strings.Replace(png, "image/png", "IMAGE/PNG", 1)), gem, without(picture(png), png) + 5000},
		{"a sound", spoken, gem, without(spoken, sound) + 80_001/8}, // 10 s of 64 kbit/s, which are 320 tokens
		{"a file", pdf, turbo, 128_000},
		{"a file", pdf, claude, 200_000},
		{"a file", pdf, gem, 1_048_576},
		{"a file with an unknown context", pdf, unknown, 1_000_000},
		{"a sound that is only named", heard(`{"id":"audio_1"}`), turbo, 128_000},
		{"no sound", heard(`null`), turbo, without(heard(`null`), "") + 2*16},
		{"tools", tools, claude, without(tools, "") + 1024},
		{"functions", functions, turbo, without(functions, "") + 1024},
		{"an answer of JSON", schema, claude, without(schema, "") + 1024},
		{"a picture of the model's", shown(png), gem, 1_048_576}, // its bytes may be text, and are not subtracted
		{"a picture of the model's that is none", shown(data("video/mp4", 10)), gem, 1_048_576},
	} {
		input, _ := bound(t, tt.body, tt.model)
		if input != tt.want {
			t.Errorf("%s for %s: %d, not %d", tt.name, tt.model.ID, input, tt.want)
		}
	}
	large := `{"model":"m","messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"f"}},{"type":"text","text":"` +
		strings.Repeat("a", 1_200_000) + `"}]}]}`
	if input, _ := bound(t, large, unknown); input < 1_200_000 {
		t.Errorf("a file beside a long text: %d", input)
	}
	small := `{"model":"m","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"so","images":[{"type":"image_url",` +
		`"image_url":{"url":"` + data("image/png", 30) + `"}}]},{"role":"user","content":"hi"}]}`
	if input, _ := bound(t, small, gem); input != without(small, "")+2*16+5000 {
		t.Errorf("a small picture of the model's: %d", input)
	}
}

func TestEmbeddingsHaveNoOutputTokens(t *testing.T) {
	r := decoded(t, `{"model":"m","messages":[{"role":"user","content":"`+strings.Repeat("word", 1000)+`"}],"max_tokens":100}`)
	r.Kind = llm.KindEmbedding
	vectors := model(t, gpt)
	if input, output := Max(r, vectors, Bounds{Output: 50}); input < 4000 || output != 0 {
		t.Errorf("at most %d and %d", input, output)
	}
	if got := Expected(r, vectors); got != int64(len(r.Raw)/4) {
		t.Errorf("expected %d", got)
	}
}

func TestExpectedTokens(t *testing.T) {
	unknown := model(t, gpt)
	unknown.MaxOutput = 0
	for _, tt := range []struct {
		members string
		model   *catalog.Model
		want    int64 // beside the text
	}{
		{``, model(t, gpt), 4096},
		{``, model(t, "gpt-3.5-turbo"), 4096},
		{``, unknown, 4096},
		{`,"max_tokens":100`, model(t, gpt), 100},
		{`,"max_tokens":100,"n":3`, model(t, gpt), 300},
	} {
		body := `{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("word", 1000) + `"}]` + tt.members + `}`
		if got := Expected(decoded(t, body), tt.model); got != int64(len(body)/4)+tt.want {
			t.Errorf("%s: %d", tt.members, got)
		}
	}
	for limit, want := range map[int64]int64{128_000: 4096, 100: 100, 0: 4096} {
		wish := decoded(t, `{"model":"m","messages":[{"role":"user","content":"q"}]}`)
		wish.OutputLimit, wish.OutputWish = limit, true
		if got := Expected(wish, model(t, gpt)); got != int64(len(wish.Raw)/4)+want {
			t.Errorf("a wish for %d: %d", limit, got)
		}
	}
	small := model(t, gpt)
	small.MaxOutput = 50
	body := `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]}]}`
	if got, want := Expected(decoded(t, body), small), int64(len(body)-len("https://example.com/a.png"))/4+1000+50; got != want {
		t.Errorf("a picture and a short answer: %d, not %d", got, want)
	}
}

// exchangeOnRecord is a recorded answer with the request that it answers, where that
// is known.
type exchangeOnRecord struct {
	providertest.Recording
	Request string `json:"request_file"`
}

// A recorded request is in its provider's own words. Ours has as many bytes of
// text and as many pictures, and the tools beside it.
func inOurWords(t testing.TB, provider string, body []byte) (text string, skipped bool) {
	t.Helper()
	var own map[string]json.RawMessage
	if err := json.Unmarshal(body, &own); err != nil {
		t.Fatal(err)
	}
	for _, hosted := range []string{"googleSearch", "codeExecution", "urlContext", "web_search", "web_fetch", "code_execution", "mcp_server",
		"fileSearch", "memory_", "tool_search", "advisor", "fileData", "container"} {
		if strings.Contains(string(body), hosted) {
			return "", true // tools that the provider runs: the gateway sends none of them
		}
	}
	if provider == catalog.OpenAI {
		return string(body), false
	}
	said, err := json.Marshal(string(body))
	if err != nil {
		t.Fatal(err)
	}
	parts := []string{`{"type":"text","text":` + string(said) + `}`}
	for range strings.Count(string(body), `"inlineData"`) + strings.Count(string(body), `"type": "image"`) {
		parts = append(parts, `{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}`)
	}
	limits := ""
	for name, place := range map[string]json.RawMessage{"max_tokens": own["max_tokens"], "generationConfig": own["generationConfig"]} {
		var n int64
		var config struct{ MaxOutputTokens int64 }
		if name == "max_tokens" {
			_ = json.Unmarshal(place, &n)
		} else if json.Unmarshal(place, &config) == nil {
			n = config.MaxOutputTokens
		}
		if n > 0 {
			limits = fmt.Sprintf(`,"max_tokens":%d`, n)
		}
	}
	if own["thinking"] != nil {
		limits += `,"thinking":` + string(own["thinking"])
	}
	if own["tools"] != nil {
		limits += `,"tools":[{"type":"function","function":{"name":"f"}}]`
	}
	return `{"model":"m","messages":[{"role":"user","content":[` + strings.Join(parts, ",") + `]}]` + limits + `}`, false
}

// The environment's RECORDINGS names a folder whose answers have their requests;
// those of the project's own come without.
func TestNoRecordedCallUsedMoreThanItsBound(t *testing.T) {
	compared := map[string]int{}
	eachRecorded(t, func(r exchangeOnRecord, body []byte, m *catalog.Model) {
		ours, skip := inOurWords(t, r.Provider, body)
		if skip {
			return
		}
		input, output := bound(t, ours, m)
		if used := r.Expect.Usage; used.Prompt > input || used.Completion > output {
			t.Errorf("%s used %d and %d, and the bounds are %d and %d", r.File, used.Prompt, used.Completion, input, output)
		}
		compared[r.Provider]++
	})
	if t.Logf("compared: %v", compared); providertest.Dir() != providertest.Own() && len(compared) < 3 {
		t.Error("nothing was compared")
	}
}

// A client that is told the size of a prompt before OpenAI has counted it learns about what
// OpenAI counts.
func TestEstimatesOfRecordedPromptsAreNearWhatOpenAICounted(t *testing.T) {
	e := theEstimator()
	compared := 0
	eachRecorded(t, func(r exchangeOnRecord, body []byte, m *catalog.Model) {
		contains := func(text string, parts ...string) bool {
			return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
		}
		others := contains(r.Model, "muse-", "/", "-search-")
		media := contains(string(body), `"image_url"`, `"input_audio"`, `"file"`)
		if r.Provider != catalog.OpenAI || r.Expect.Usage.Prompt == 0 || others || media {
			return // another vendor's vocabulary, what a search adds, or what no vocabulary counts
		}
		got, err := e.ForOpenAI(decoded(t, string(body)), len(m.Traits.Thinking) > 0)
		want := r.Expect.Usage.Prompt
		const percent, few = 15, 3
		if off := max(got-want, want-got); err != nil || off > max(few, want*percent/100) {
			t.Errorf("%s: %d tokens, not %d, %v", r.File, got, want, err)
		}
		compared++
	})
	if t.Logf("compared: %d", compared); providertest.Dir() != providertest.Own() && compared < 20 {
		t.Error("too few were compared")
	}
}

// eachRecorded calls f with each recorded answer of a chat that has its request and its usage.
func eachRecorded(t *testing.T, f func(r exchangeOnRecord, body []byte, m *catalog.Model)) {
	t.Helper()
	dir := providertest.Dir()
	text, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []exchangeOnRecord
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	list, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if r.Request == "" || r.API != "chat" || r.Expect.Usage == nil {
			continue
		}
		body, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(r.Request)))
		if err != nil {
			t.Fatal(err)
		}
		m, ok := list.Model(r.ModelID())
		if !ok {
			m = list.Derive(r.Provider, r.ModelID())
		}
		f(r, body, m)
	}
}
