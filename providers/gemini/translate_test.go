package gemini

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/providertest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden is a file of testdata/golden: what a request becomes for a model.
type golden struct {
	Model    string         `json:"model"`
	Request  jsontext.Value `json:"request"`
	Ignored  []string       `json:"ignored"`
	Upstream jsontext.Value `json:"upstream"`
}

func model(t testing.TB, id string) *catalog.Model {
	t.Helper()
	all := providertest.Catalog(t)
	return all.Derive(catalog.Gemini, id)
}

// testKey is what calls are made with.
const testKey = "secret"

func provider(url string) *Provider {
	return New(providers.Options{
		BaseURL: url, HeaderTimeout: 5 * time.Second, IdleTimeout: 5 * time.Second,
		Now: func() time.Time { return time.Unix(1760000000, 0) },
	})
}

func prepare(t testing.TB, id, body string) (*exchange, error) {
	t.Helper()
	req, err := chat.Decode(nil, []byte(body))
	if err != nil {
		t.Fatalf("the request is not valid: %s: %v", body, err)
	}
	x, err := provider("http://127.0.0.1:1").Prepare(providers.Call{Request: req, Model: model(t, id)})
	if err != nil {
		return nil, err
	}
	return x.(*exchange), nil
}

func TestGoldenRequests(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/*.json")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d golden files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var want golden
			if err := json.Unmarshal(text, &want, json.RejectUnknownMembers(true)); err != nil {
				t.Fatal(err)
			}
			x, err := prepare(t, want.Model, string(want.Request))
			if err != nil {
				t.Fatal(err)
			}
			got := golden{Model: want.Model, Request: want.Request, Ignored: x.Properties().Ignored, Upstream: x.body}
			if *update {
				save(t, file, got)
				return
			}
			if !slices.Equal(got.Ignored, want.Ignored) {
				t.Errorf("ignored %v, want %v", got.Ignored, want.Ignored)
			}
			if a, b := plain(t, got.Upstream), plain(t, want.Upstream); a != b {
				t.Errorf("got  %s\nwant %s", a, b)
			}
		})
	}
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

func save(t *testing.T, file string, g golden) {
	t.Helper()
	text, err := json.Marshal(g, jsontext.WithIndent("  "), jsontext.PreserveRawStrings(true))
	if err == nil {
		err = os.WriteFile(file, append(text, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestSchemasKeepTheirBytes(t *testing.T) {
	const schema = `{ "type" : "object",
		"z": "\u00e9\/<>&", "required":["a"], "properties": {"a": {"type":"number", "maximum": 12345678901234567890.000}} }`
	body := `{"model":"m","messages":[{"role":"user","content":"q"}],
		"tools":[{"type":"function","function":{"name":"f","parameters":` + schema + `}}],
		"response_format":{"type":"json_schema","json_schema":{"name":"s","schema":` + schema + `}}}`
	x, err := prepare(t, "gemini-3.6-flash", body)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"parametersJsonSchema", "responseJsonSchema"} {
		if !strings.Contains(string(x.body), `"`+name+`":`+schema) {
			t.Errorf("%s has changed in %s", name, x.body)
		}
	}
}

func TestOnlyTheSchemaMemberIsLeftOut(t *testing.T) {
	for in, want := range map[string]string{
		`{"$schema":"x"}`:                                `{}`,
		`{ "$schema" : "x" , "a": 1 }`:                   `{ "a": 1 }`,
		`{"a": 1, "$schema":"x"}`:                        `{"a": 1}`,
		`{"a": 1 ,"$schema":{"b":[]}, "c":2}`:            `{"a": 1, "c":2}`,
		`{"a":{"$schema":"x"}}`:                          `{"a":{"$schema":"x"}}`,
		`{"a":"$schema"}`:                                `{"a":"$schema"}`,
		`{"properties":{"$schema":{}},"$schema":"last"}`: `{"properties":{"$schema":{}}}`,
	} {
		if got := string(without(jsontext.Value(in), "$schema")); got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
}

func TestInlineDataIsInTheFormThatGeminiTakes(t *testing.T) {
	const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
	for in, want := range map[[2]string]blob{
		{"image/jpg", "AAAA"}:                  {"image/jpeg", "AAAA"},
		{"Image/PNG ", "AAAA"}:                 {"image/png", "AAAA"},
		{"image/jpeg", png}:                    {"image/png", png},
		{"", png}:                              {"image/png", png},
		{"image/heic", "AAAA"}:                 {"image/heic", "AAAA"},
		{"image/png", "iVBORw0K\r\nGgoA AAA="}: {"image/png", "iVBORw0KGgoAAAA="},
		{"audio/wav", "UklG\nRg=="}:            {"audio/wav", "UklGRg=="},
		{"application/pdf", png}:               {"application/pdf", png},
	} {
		if got := *inlined(in[0], in[1]); got != want {
			t.Errorf("%q became %+v, want %+v", in, got, want)
		}
	}
}

func TestUntranslatableFieldsAreRefused(t *testing.T) {
	with := func(members string) string {
		return `{"model":"m","messages":[{"role":"user","content":"q"}],` + members + `}`
	}
	userSays := func(parts string) string {
		return `{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"q"},` + parts +
			`]}]}`
	}
	for name, tt := range map[string]struct{ body, param string }{
		"nine answers":                {with(`"n":9`), "n"},
		"a seed of 33 bits":           {with(`"seed":2147483648`), "seed"},
		"a seed below":                {with(`"seed":-2147483649`), "seed"},
		"sound out":                   {with(`"modalities":["text","audio"],"audio":{"voice":"v","format":"wav"}`), "modalities"},
		"images from a model of text": {with(`"modalities":["image"]`), "modalities"},
		"web search":                  {with(`"web_search_options":{}`), "web_search_options"},
		"a custom tool": {with(`"tools":[{"type":"function","function":{"name":"f"}},` +
			`{"type":"custom","custom":{"name":"c"}}]`), "tools[1].type"},
		"a custom tool choice": {with(`"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":{"type":"custom",` +
			`"custom":{"name":"c"}}`), "tool_choice"},
		"a call without tools": {with(`"tool_choice":"required"`), "tool_choice"},
		"a call of nothing allowed": {with(`"tools":[{"type":"function","function":{"name":"f"}}],` +
			`"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[]}}`), "tool_choice"},
		"a plain http image": {userSays(`{"type":"image_url","image_url":{"url":"http://example.com/a.png"}}`),
			"messages[1].content[1].image_url.url"},
		"an uploaded file": {userSays(`{"type":"file","file":{"file_id":"file-1"}}`), "messages[1].content[1].file.file_id"},
		"a file of no known kind": {userSays(`{"type":"file","file":{"file_data":"AAAA","filename":"a.xyz"}}`),
			"messages[1].content[1].file.file_data"},
		"a data URL without data": {userSays(`{"type":"image_url","image_url":{"url":"data:image/png;base64"}}`),
			"messages[1].content[1].image_url.url"},
		"an empty data URL": {userSays(`{"type":"image_url","image_url":{"url":"data:image/png;base64,"}}`),
			"messages[1].content[1].image_url.url"},
		"a data URL of no kind": {userSays(`{"type":"image_url","image_url":{"url":"data:;base64,AAAA"}}`),
			"messages[1].content[1].image_url.url"},
		"an SVG": {userSays(`{"type":"image_url","image_url":{"url":"data:image/svg+xml,%3Csvg%2F%3E"}}`),
			"messages[1].content[1].image_url.url"},
		"an earlier image of the model by http": {`{"model":"m","messages":[{"role":"user","content":"q"},` +
			`{"role":"assistant","content":"a","images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},` +
			`{"type":"image_url","image_url":{"url":"http://x/a.png"}}]}]}`,
			"messages[1].images[1].image_url.url"},
		"a data URL badly escaped": {userSays(`{"type":"image_url","image_url":{"url":"data:image/png,%zz"}}`),
			"messages[1].content[1].image_url.url"},
		"no content at all": {`{"model":"m","messages":[{"role":"user","content":""}]}`, "messages"},
		"nothing but foreign reasoning": {`{"model":"m","messages":[{"role":"assistant","reasoning_details":[{"type":"reasoning.text",` +
			`"text":"t","format":"anthropic-claude-v1"}]}]}`,
			"messages"},
		"a result without its call": {`{"model":"m","messages":[{"role":"tool","tool_call_id":"a","content":"x"}]}`,
			"messages[0].tool_call_id"},
		"a custom call in the history": {`{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"a","type":"custom",` +
			`"custom":{"name":"c","input":"i"}}]},{"role":"tool","tool_call_id":"a","content":"x"}]}`, "messages[0].tool_calls[0].type"},
		"an image of http in a result": {`{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"a","type":"function",` +
			`"function":{"name":"f","arguments":""}}]},{"role":"tool","tool_call_id":"a","content":[{"type":"image_url",` +
			`"image_url":{"url":"http://x/a.png"}}]}]}`, "messages[1].content[0].image_url.url"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := prepare(t, "gemini-2.5-flash", tt.body)
			e, ok := errors.AsType[*api.Error](err)
			if !ok || e.Status != 400 || e.Type != api.TypeInvalidRequest || e.Param != tt.param || e.Message == "" {
				t.Errorf("got %+v, %v; want a 400 for %s", e, err, tt.param)
			}
		})
	}
}

func TestMessagesNestedTooDeepAreRefused(t *testing.T) {
	const deep = 9998
	nested := strings.Repeat(`{\"a\":`, deep) + "1" + strings.Repeat("}", deep)
	for name, texts := range map[string][2]string{"arguments": {nested, "r"}, "a result": {"{}", nested}} {
		t.Run(name, func(t *testing.T) {
			_, err := prepare(t, "gemini-2.5-flash", `{"model":"m","messages":[{"role":"user","content":"q"},
				{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"`+texts[0]+`"}}]},
				{"role":"tool","tool_call_id":"c","content":"`+texts[1]+`"}]}`)
			e, ok := errors.AsType[*api.Error](err)
			if !ok || e.Status != 400 || e.Code != api.CodeInvalidValue || e.Param != "messages" || e.Unwrap() == nil {
				t.Errorf("%+v, %v", e, err)
			}
		})
	}
}

func TestTranslatingDoesNotChangeTheRequest(t *testing.T) {
	text, err := os.ReadFile("testdata/golden/signatures_by_reasoning_details.json")
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(text, &g); err != nil {
		t.Fatal(err)
	}
	req, err := chat.Decode(nil, g.Request)
	if err != nil {
		t.Fatal(err)
	}
	var bodies []string
	for range 2 {
		tr, err := new(Provider).translate(providers.Call{Request: req, Model: model(t, g.Model)}, keepSignatures)
		if err != nil {
			t.Fatal(err)
		}
		body, err := tr.body()
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, string(body))
	}
	again, err := chat.Decode(nil, g.Request)
	if err != nil {
		t.Fatal(err)
	}
	_, err = again.Source.Conversation()
	if err != nil || bodies[0] != bodies[1] || !reflect.DeepEqual(req, again) {
		t.Errorf("translating changes the request: %v\n%s\n%s", err, bodies[0], bodies[1])
	}
}

func callOf(req *llm.Request, m *catalog.Model) providers.Call {
	return providers.Call{Request: req, Model: m}
}

func TestCacheMarksAreNamedWhereTheyStand(t *testing.T) {
	const mark, message, part = `"cache_control":{"type":"ephemeral"}`, "messages[].cache_control", "messages[].content[].cache_control"
	for _, tt := range []struct {
		message string
		want    []string
	}{
		{`{"role":"user","content":"q",` + mark + `}`, []string{message}},
		{`{"role":"user","content":[{"type":"text","text":"q"}],` + mark + `}`, []string{message}},
		{`{"role":"user","content":[{"type":"text","text":"q",` + mark + `}]}`, []string{part}},
		{`{"role":"user","content":[{"type":"text","text":"q",` + mark + `}],` + mark + `}`, []string{message, part}},
		{`{"role":"user","content":[{"type":"text","text":"q",` + mark + `},{"type":"text","text":"r"}],` + mark + `}`, []string{message,
			part}},
	} {
		x, err := prepare(t, "gemini-2.5-flash", `{"model":"m","messages":[`+tt.message+`]}`)
		if err != nil || !slices.Equal(x.Properties().Ignored, tt.want) {
			t.Errorf("%s: %v", tt.message, err)
		}
	}
}
