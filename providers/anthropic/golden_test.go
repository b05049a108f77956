package anthropic

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

var update = flag.Bool("update", false, "write the golden files anew")

const (
	png  = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	jpeg = "/9j/4AAQSkZJRgABAQEASABIAAD="
	gif  = "R0lGODlhAQABAAAAACw="
	webp = "UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA=="
	pdf  = "JVBERi0xLjQKJcOkw7zDtsOf"
)

// calls makes an assistant's message of tool calls, each given as id, name and
// arguments.
func calls(of ...string) string {
	var all []string
	for c := range slices.Chunk(of, 3) {
		all = append(
			all,
			`{"id":`+string(quote(c[0]))+`,"type":"function","function":{"name":"`+c[1]+`","arguments":`+string(quote(c[2]))+`}}`,
		)
	}
	return `{"role":"assistant","content":null,"tool_calls":[` + strings.Join(all, ",") + `]}`
}

func user(text string) string { return `{"role":"user","content":` + string(quote(text)) + `}` }

func result(id, text string) string {
	return `{"role":"tool","tool_call_id":` + string(quote(id)) + `,"content":` + string(quote(text)) + `}`
}

func talk(messages ...string) string { return `"messages":[` + strings.Join(messages, ",") + `]` }

const weather = `{"type":"function","function":{"name":"get_weather","description":"d","parameters":{"type":"object",` +
	`"properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}}}`

// signedTurn is an assistant's turn with thinking in reasoning_details.
const signedTurn = `{"role":"assistant","content":"Let me see.","reasoning_content":"I need the weather.","reasoning_details":[
	{"type":"reasoning.text","text":"I need the weather.","signature":"sig+/=","format":"anthropic-claude-v1","index":0},
	{"type":"reasoning.encrypted","data":"red+/=","format":"anthropic-claude-v1","index":1},
	{"type":"reasoning.text","text":"not signed","format":"anthropic-claude-v1","index":2},
	{"type":"reasoning.encrypted","data":"other","format":"google-gemini-v1","index":3}],
	"tool_calls":[{"id":"toolu_1","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Paris\"}"}}]}`

const person = `{"type":"object","properties":{"name":{"type":"string","minLength":1,"pattern":"^[A-Z](?=x)"},` +
	`"age":{"type":"integer","minimum":0,"maximum":150,"description":"In years."},"mail":{"type":"string","format":"email"},` +
	`"tags":{"type":"array","items":{"type":"object","properties":{"k":{"type":"string"}}},"minItems":2},` +
	`"either":{"oneOf":[{"type":"string"},{"type":"null"}]}},"required":["name"],"$schema":"https://json-schema.org/draft/2020-12/schema"}`

// goldens are requests whose translations are in testdata/golden.
var goldens = []struct {
	name, model, body string
	ignored           []string
}{
	{"conversation", budgetNew, `{"model":"X","max_tokens":300,"temperature":1.4,"stop":"END","tool_choice":"required",` +
		`"parallel_tool_calls":false,` +
		talk(`{"role":"system","content":"Be brief."}`,
			`{"role":"user","content":[{"type":"text","text":"Weather in Paris and Rome?"},{"type":"image_url",`+
				`"image_url":{"url":"data:image/png;base64,`+png+`"}}]}`,
			calls("call_1", "get_weather", `{"city":"Paris"}`, "call_2", "get_weather", `{"city":"Rome"}`),
			result("call_1", `{"c":14}`), result("call_2", "sunny"),
			`{"role":"developer","content":"Use Celsius."}`, user("And Oslo?")) + `,"tools":[` + weather + `]}`, []string{"temperature"}},
	{"results in any order", budgetNew, `{` + talk(user("q"), calls("a", "f", "", "b", "g", `{"x":1}`),
		result("b", "2"), `{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"see"},{"type":"image_url",`+
			`"image_url":{"url":"data:;base64,`+gif+`","detail":"low"}},{"type":"text","text":"  "}]}`,
		user("go on")) + `,"model":"m","tools":[` + weather + `]}`, []string{"messages[].content[].image_url.detail"}},
	{"arguments", budgetNew, `{"model":"m",` + talk(user("q"), calls("a", "f", `{"big":12345678901234567890,"html":"<b>&</b>",`+
		`"f":1.50}`, "b", "f", `{broken`, "c", "f", `[1]`, "d", "f", `  {"x" : "\u00e9\u2028"} `),
		result("a", "1"), result("b", ""), result("c", " "), result("d", "<&>")) + `,"tools":[` + weather + `]}`, nil},
	{"ids", budgetNew, `{"model":"m",` + talk(user("q"), calls("call:1/ä", "f", "", "call.1/ä", "f", "", strings.Repeat("x", 80), "f", ""),
		result("call.1/ä", "second"), result("call:1/ä", "first"), result(strings.Repeat("x", 80), "third"),
		calls("again", "f", ""), result("again", "1"), calls("again", "f", ""), result("again", "2")) + `,"tools":[` + weather + `]}`, nil},
	{"history without tools", budgetNew, `{"model":"m",` + talk(user("q"), calls("a", "f", "", "b", "bad name", ""), result("a",
		"1"), result("b", "2"), calls("c", "f", ""), result("c", "3"), user("thanks")) + `}`, nil},
	{"images", budgetNew, `{"model":"m",` + talk(`{"role":"user","content":[
		{"type":"image_url","image_url":{"url":"https://example.com/a.png","detail":"auto"}},
		{"type":"image_url","image_url":{"url":"data:image/png;base64,`+jpeg+`"}},
		{"type":"image_url","image_url":{"url":"data:image/JPG;charset=x;BASE64,`+webp+`","detail":"high"}},
		{"type":"image_url","image_url":{"url":"data:image/gif;base64,`+gif[:8]+`\n `+gif[8:]+`"}}]}`) + `}`,
		[]string{"messages[].content[].image_url.detail"}},
	{"files", budgetNew, `{"model":"m",` + talk(`{"role":"user","content":[
		{"type":"file","file":{"file_data":"data:application/pdf;base64,`+pdf+`","filename":"a.pdf"}},
		{"type":"file","file":{"file_data":"`+pdf+`"}},
		{"type":"file","file":{"file_data":"data:application/octet-stream;base64,`+pdf+`"}},
		{"type":"file","file":{"file_data":"data:text/markdown;charset=utf-8;base64,IyBHcsO8w59l","filename":"a.md"}},
		{"type":"file","file":{"file_data":"data:text/plain,a%20b"}},
		{"type":"file","file":{"file_data":"data:application/json;base64,e30"}}]}`) + `}`, nil},
	{"blank texts", budgetNew, `{"model":"m",` + talk(`{"role":"system","content":" "}`, user("a"),
		`{"role":"assistant","content":" \n"}`, user("b"),
		`{"role":"assistant","content":"","reasoning_details":[{"type":"reasoning.text","text":"t","signature":"s",`+
			`"format":"anthropic-claude-v1","index":0}]}`,
		`{"role":"user","name":"bob","content":[{"type":"text","text":""},{"type":"text","text":"c"},{"type":"text","text":"\t"}]}`) +
		`,"reasoning_effort":"low"}`, []string{"messages[].name"}},
	{"instructions only", budgetNew, `{"model":"m",` + talk(`{"role":"system","content":"s"}`, user(" ")) + `}`, nil},
	{"assistant first", budgetNew, `{"model":"m",` + talk(`{"role":"assistant","content":"Welcome."}`, user("q")) + `}`, nil},
	{"prefill", budgetNew, `{"model":"m",` + talk(user("q"), `{"role":"assistant","content":"The answer is \n"}`) +
		`,"reasoning_effort":"high"}`, []string{"reasoning_effort"}},
	{"refusals", budgetNew, `{"model":"m",` + talk(user("q"), `{"role":"assistant","content":[{"type":"text","text":"Well."},`+
		`{"type":"refusal","refusal":"No."}]}`, user("why?")) + `}`, nil},
	{"deprecated functions", budgetNew, `{"model":"m",` + talk(user("q"), `{"role":"assistant","content":null,`+
		`"function_call":{"name":"f","arguments":"{}"}}`, `{"role":"function","name":"f","content":"1"}`) +
		`,"functions":[{"name":"f","description":"d","parameters":{"type":"object","properties":{}}}],"function_call":{"name":"f"}}`, nil},
	{"functions beside tools", budgetNew, `{"model":"m",` + talk(user("q")) + `,"functions":[{"name":"g"}],` +
		`"function_call":"none","tools":[` + weather + `]}`, []string{"functions", "function_call"}},
	{"tool schemas", budgetNew, `{"model":"m",` + talk(user("q")) + `,"tools":[
		{"type":"function","function":{"name":"none"}},
		{"type":"function","function":{"name":"null","parameters":null}},
		{"type":"function","function":{"name":"empty","parameters":{}}},
		{"type":"function","function":{"name":"untyped","parameters":{"properties":{"z":{"const":"<&>"},` +
		`"a":{"maximum":12345678901234567890.0}}}}},
		{"type":"function","function":{"name":"other","parameters":{"b":1,"type":["object","null"],"a":2}}}]}`, nil},
	{"strict tools", budgetNew, `{"model":"m",` + talk(user("q")) + `,"tools":[
		{"type":"function","function":{"name":"yes","strict":true,"parameters":{"type":"object",` +
		`"properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}}},
		{"type":"function","function":{"name":"open","strict":true,"parameters":{"type":"object","properties":{"a":{"type":"string"}}}}},
		{"type":"function","function":{"name":"no","strict":false}}]}`, []string{"tools[].function.strict"}},
	{"strict tools of old", budgetOld, `{"model":"m","tools":[{"type":"function","function":{"name":"f","strict":true,` +
		`"parameters":{"type":"object","properties":{},"additionalProperties":false}}}],` + talk(user("q")) + `}`,
		[]string{"tools[].function.strict"}},
	{"allowed tools", budgetNew, `{"model":"m",` + talk(user("q")) + `,"tools":[` + weather +
		`,{"type":"function","function":{"name":"b"}},{"type":"function","function":{"name":"c"}}],
		"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"function",` +
		`"function":{"name":"c"}},{"type":"function","function":{"name":"b"}}]}}}`, nil},
	{"schema", budgetNew, `{"model":"m",` + talk(user("q")) + `,"reasoning_effort":"low","response_format":{"type":"json_schema",` +
		`"json_schema":{"name":"n","strict":true,"schema":{ "type":"object", "properties":{"b":{"type":"string"},` +
		`"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"number"}},"additionalProperties":false}}}}`, nil},
	{"schema to mend", byItself, `{"model":"m",` + talk(user("q")) + `,"reasoning_effort":"low",` +
		`"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":` + person + `}}}`, []string{"response_format"}},
	{"schema by tool", budgetOld, `{"model":"m",` + talk(user("q")) + `,"reasoning_effort":"low",` +
		`"response_format":{"type":"json_schema","json_schema":{"name":"person","description":"A person.","schema":` + person + `}}}`,
		[]string{"reasoning_effort"}},
	{"schema by tool beside tools", noThinking, `{"model":"m",` + talk(user("q")) + `,"tools":[` + weather +
		`],"response_format":{"type":"json_schema","json_schema":{"name":"get_weather","schema":{"properties":{}}}}}`, nil},
	{"free form objects by tool", budgetNew, `{"model":"m",` + talk(user("q")) + `,"response_format":{"type":"json_schema",` +
		`"json_schema":{"name":"n","schema":{"type":"object","properties":{"tags":{"type":"object","additionalProperties":` +
		`{"type":"string"}}},"required":["tags"],"additionalProperties":false}}}}`, nil},
	{"free form objects in a list", budgetNew, `{"model":"m",` + talk(user("q")) + `,"response_format":{"type":"json_schema",` +
		`"json_schema":{"name":"n","schema":{"type":"array","items":{"type":"object"}}}}}`, []string{"response_format"}},
	{"schema by tool, no tools wanted", noThinking, `{"model":"m",` + talk(user("q")) + `,"tools":[` + weather +
		`],"tool_choice":"none","response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"object"}}}}`, nil},
	{"schema while a tool is forced", noThinking, `{"model":"m",` + talk(user("q")) + `,"tools":[` + weather +
		`],"tool_choice":"required","response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"object"}}}}`, nil},
	{"cache marks", budgetNew, `{"model":"m",` + talk(`{"role":"system","content":[{"type":"text","text":"s1",`+
		`"cache_control":{"type":"ephemeral"}},{"type":"text","text":"s2"}]}`,
		`{"role":"user","content":"a","cache_control":{"type":"ephemeral","ttl":"1h"}}`, `{"role":"assistant","content":"b"}`,
		`{"role":"user","content":[{"type":"text","text":"c","cache_control":null}]}`,
		`{"role":"assistant","content":null,"cache_control":{"type":"ephemeral"},"tool_calls":[{"id":"a","type":"function",`+
			`"function":{"name":"f","arguments":""}}]}`, result("a", "r")) +
		`,"tools":[{"type":"function","function":{"name":"f"},"cache_control":{"type":"ephemeral"}}]}`, nil},
	{"too many cache marks", budgetNew, `{"model":"m","cache_control":{"type":"ephemeral"},` +
		talk(`{"role":"system","content":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}]}`,
			`{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},{"type":"text","text":"b",`+
				`"cache_control":{"type":"ephemeral"}}]}`,
			`{"role":"assistant","content":null,"cache_control":{"type":"ephemeral"},"tool_calls":[{"id":"a","type":"function",`+
				`"function":{"name":"f","arguments":""}}]}`,
			`{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"r","cache_control":{"type":"ephemeral"}}],`+
				`"cache_control":{"type":"ephemeral"}}`) +
		`,"tools":[{"type":"function","function":{"name":"f"},"cache_control":{"type":"ephemeral"}}]}`, []string{"cache_control"}},
	{"thinking comes back", budgetNew, `{"model":"m",` + talk(user("q"), signedTurn, result("toolu_1", "rain")) + `,"tools":[` +
		weather + `],"reasoning_effort":"low"}`, nil},
	{"thinking comes back by default", byDefault, `{"model":"m",` + talk(user("q"), signedTurn, result("toolu_1", "rain")) +
		`,"tools":[` + weather + `]}`, nil},
	{"thinking is not wanted", budgetNew, `{"model":"m",` + talk(user("q"), signedTurn, result("toolu_1", "rain")) + `,"tools":[` +
		weather + `]}`, nil},
	{"a tool loop without its thinking", budgetNew, `{"model":"m",` + talk(user("q"), calls("a", "get_weather", `{}`), result("a",
		"rain")) + `,"tools":[` + weather + `],"thinking":{"type":"enabled","budget_tokens":2000}}`, []string{"thinking"}},
	{"a tool loop without its thinking, by itself", bothWays, `{"model":"m",` + talk(user("q"), calls("a", "get_weather", `{}`),
		result("a", "rain")) + `,"tools":[` + weather + `],"thinking":{"type":"enabled","budget_tokens":2000}}`, nil},
	{"a tool loop that only seems over", budgetNew, `{"model":"m",` + talk(user("q"), calls("a", "get_weather", `{}`), result("a",
		"rain"), `{"role":"assistant","content":" "}`, user("well?")) + `,"tools":[` + weather + `],"reasoning_effort":"low"}`,
		[]string{"reasoning_effort"}},
	{"a longer tool loop with its thinking", budgetNew, `{"model":"m",` + talk(user("q"), signedTurn, result("toolu_1", "rain"),
		calls("b", "get_weather", `{}`), result("b", "sun"), calls("c", "get_weather", `{}`), result("c", "fog")) + `,"tools":[` +
		weather + `],"reasoning_effort":"low"}`, nil},
	{"a tool loop after one with thinking", budgetNew, `{"model":"m",` + talk(user("q"), signedTurn, result("toolu_1", "rain"),
		user("and now?"), calls("b", "get_weather", `{}`), result("b", "sun")) + `,"tools":[` + weather + `],"reasoning_effort":"low"}`,
		[]string{"reasoning_effort"}},
	{"thinking comes back to an unknown model", unknown, `{"model":"m",` + talk(user("q"), signedTurn, result("toolu_1",
		"rain")) + `,"tools":[` + weather + `]}`, nil},
	{"pictures of the model", byDefault, `{"model":"m",` + talk(user("draw"), `{"role":"assistant","content":"Here.","images":[`+
		picture+`]}`, user("and again"), `{"role":"assistant","content":null,"images":[`+picture+`,`+picture+`]}`,
		user("what is it?")) + `}`, []string{"messages[].images"}},
	{"a tool loop that is over", budgetNew, `{"model":"m",` + talk(user("q"), calls("a", "get_weather", `{}`), result("a", "rain"),
		`{"role":"assistant","content":"Rain."}`, user("thanks")) + `,"tools":[` + weather + `],"reasoning_effort":"low"}`, nil},
}

// picture is an image that a model made.
const picture = `{"type":"image_url","image_url":{"url":"data:image/png;base64,` + png + `"}}`

func TestRequestsMatchTheirGoldenFiles(t *testing.T) {
	for _, tt := range goldens {
		t.Run(tt.name, func(t *testing.T) {
			body, ignored := sent(t, tt.model, tt.body)
			if !slices.Equal(ignored, tt.ignored) {
				t.Errorf("ignored %q, want %q", ignored, tt.ignored)
			}
			shown := jsontext.Value(body)
			if err := shown.Indent(jsontext.WithIndent("  "), jsontext.PreserveRawStrings(true)); err != nil {
				t.Fatalf("%v\n%s", err, body)
			}
			file := filepath.Join("testdata", "golden", strings.NewReplacer(" ", "_", ",", "").Replace(tt.name)+".json")
			if *update {
				if err := os.WriteFile(file, append(shown, '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if string(shown)+"\n" != string(want) {
				t.Errorf("got\n%s\nwant\n%s", shown, want)
			}
		})
	}
}
