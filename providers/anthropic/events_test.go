package anthropic

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/providertest"
)

// serve answers every request with one body, and keeps the last request.
func serve(t testing.TB, status int, body string) (*Provider, *http.Request) {
	t.Helper()
	seen := new(http.Request)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		*seen = *r
		seen.Body = io.NopCloser(strings.NewReader(string(text)))
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return provider(server.URL), seen
}

// answering is a request with these fields, and an exchange for it whose
// upstream answers with a body.
func answering(t testing.TB, body, fields string) (providers.Exchange, *llm.Request) {
	t.Helper()
	p, _ := serve(t, http.StatusOK, body)
	req := chatRequest(t, `{"model":"m",`+fields+talk(user("q"))+`}`)
	x, err := p.Prepare(providers.Call{Request: req, Model: model(t, budgetOld)})
	if err != nil {
		t.Fatal(err)
	}
	return x, req
}

// streaming are the fields that ask for a stream and its usage.
const streaming = `"stream":true,"stream_options":{"include_usage":true},`

// streamRequest is a request for a stream.
func streamRequest(t testing.TB, fields string) *llm.Request {
	t.Helper()
	return chatRequest(t, `{"model":"m",`+streaming+fields+talk(user("q"))+`}`)
}

// events makes a stream of events.
func events(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		name, _, _ := strings.Cut(strings.TrimPrefix(d, `{"type":"`), `"`)
		fmt.Fprintf(&b, "event: %s\ndata: %s   \n\n", name, d)
	}
	return b.String()
}

func started(usage string) string {
	return `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[],` +
		`"stop_reason":null,"usage":` + usage + `}}`
}

func began(index int, b string) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, index, b)
}

func piece(index int, d string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, index, d)
}

func over(index int) string { return fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index) }

func stopped(reason string) string {
	return `{"type":"message_delta","delta":{"stop_reason":"` + reason + `","stop_sequence":null},"usage":{"output_tokens":62}}`
}

const (
	start = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-x",` +
		`"content":[],"usage":{"input_tokens":43,"output_tokens":1}}}`
	text0     = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	ping      = `{"type": "ping"}`
	end       = `{"type":"message_stop"}`
	toolBlock = `{"type":"tool_use","id":"toolu_1","name":"f","input":{}}`
)

func words(s string) string { return `{"type":"text_delta","text":` + string(quote(s)) + `}` }
func arguments(s string) string {
	return `{"type":"input_json_delta","partial_json":` + string(quote(s)) + `}`
}
func thought(s string) string { return `{"type":"thinking_delta","thinking":` + string(quote(s)) + `}` }

// short writes a chunk in short.
func short(c *chat.Chunk) string {
	if len(c.Choices) == 0 {
		u := fmt.Sprintf("usage %d+%d=%d", c.Usage.PromptTokens, c.Usage.CompletionTokens, c.Usage.TotalTokens)
		if d := c.Usage.PromptTokensDetails; d != nil {
			u += fmt.Sprintf(" cached %d written %d", d.CachedTokens, d.CacheWriteTokens)
		}
		if d := c.Usage.CompletionTokensDetails; d != nil {
			u += fmt.Sprintf(" reasoning %d", d.ReasoningTokens)
		}
		return u
	}
	d, out := c.Choices[0].Delta, []string{}
	if d.Role != "" {
		out = append(out, d.Role)
	}
	if d.Content != nil && *d.Content != "" {
		out = append(out, "text "+*d.Content)
	}
	if d.Refusal != nil {
		out = append(out, "refusal "+*d.Refusal)
	}
	if d.ReasoningContent != "" {
		out = append(out, "thinks "+d.ReasoningContent)
	}
	for _, r := range d.ReasoningDetails {
		out = append(out, fmt.Sprintf("detail%d %s%s%s", r.Index, r.Text, r.Signature, r.Data))
	}
	for _, call := range d.ToolCalls {
		id, _ := chat.UnpackID(call.ID)
		out = append(out, strings.Join(strings.Fields(fmt.Sprintf("call%d %s %s %s", call.Index, id, call.Function.Name,
			call.Function.Arguments)), " "))
	}
	if len(d.Extra) > 0 {
		out = append(out, string(d.Extra))
	}
	if f := d.FunctionCall; f != nil {
		out = append(out, "function "+f.Name+f.Arguments)
	}
	if r := c.Choices[0].FinishReason; r != nil {
		out = append(out, "finish "+*r)
	}
	return strings.Join(out, " & ")
}

// play asks for a stream from an upstream that answers with a body, and returns
// its chunks in short.
func play(t testing.TB, body, fields string) ([]string, error) {
	t.Helper()
	x, req := answering(t, body, streaming+fields)
	return show(t, x, req)
}

// show asks for a stream and returns its chunks in short.
func show(t testing.TB, x providers.Exchange, req *llm.Request) ([]string, error) {
	t.Helper()
	stream, err := x.Open(t.Context(), testKey)
	if err != nil {
		return nil, err
	}
	var shown []string
	for c, err := range providertest.Chunks(req, stream) {
		if err != nil {
			return shown, err
		}
		if c == nil {
			continue // a pause
		}
		if c.ID != "msg_1" || c.Model != "claude-x" || c.Created != 1760000000 {
			t.Errorf("the head is %s %s %d", c.ID, c.Model, c.Created)
		}
		shown = append(shown, short(c))
	}
	return shown, nil
}

// done is the usage chunk of most streams below.
const done = "usage 43+62=105"

// eventTable holds streams and the chunks they become.
var eventTable = []struct {
	name, fields string
	in           []string
	want         []string
}{
	{"text", "", []string{start, ping, text0, piece(0, words("Hel")), piece(0, words("")), piece(0, words("lo")), over(0),
		stopped("end_turn"), end},
		[]string{"assistant", "text Hel", "text lo", "finish stop", done}},
	{"text in the start", "", []string{start, began(0, `{"type":"text","text":"Hi","citations":null}`), over(0),
		stopped("stop_sequence"), end},
		[]string{"assistant", "text Hi", "finish stop", done}},
	{"text and a tool", "", []string{start, text0, piece(0, words("Hello")), over(0), began(1, toolBlock), piece(1, arguments("")),
		piece(1, arguments(`{"city": "Par`)), piece(1, arguments(`is"}`)), over(1), stopped("tool_use"), end},
		[]string{"assistant", "text Hello", "call0 toolu_1 f", `call0 {"city": "Par`, `call0 is"}`, "finish tool_calls", done}},
	{"a tool without arguments", "", []string{start, began(0, toolBlock), piece(0, arguments("")), over(0), stopped("tool_use"), end},
		[]string{"assistant", "call0 toolu_1 f", "call0 {}", "finish tool_calls", done}},
	{"a tool without deltas", "", []string{start, began(0, toolBlock), over(0), stopped("tool_use"), end},
		[]string{"assistant", "call0 toolu_1 f", "call0 {}", "finish tool_calls", done}},
	{"arguments in the start", "", []string{start, began(0, `{"type":"tool_use","id":"toolu_1","name":"f",`+
		`"input":{ "n": 12345678901234567890 }}`), over(0), stopped("tool_use"), end},
		[]string{"assistant", "call0 toolu_1 f", `call0 {"n":12345678901234567890}`, "finish tool_calls", done}},
	{"arguments in the start and in deltas", "", []string{start, began(0, `{"type":"tool_use","id":"toolu_1","name":"f",`+
		`"input":{"n":1}}`), piece(0, arguments(`{"n":2}`)), over(0), stopped("tool_use"), end},
		[]string{"assistant", "call0 toolu_1 f", `call0 {"n":2}`, "finish tool_calls", done}},
	{"parallel tools", "", []string{start, text0, over(0), began(1, toolBlock), piece(1, arguments(`{"a":1}`)), over(1), began(2,
		`{"type":"tool_use","id":"toolu_2","name":"g","input":{}}`), over(2), stopped("tool_use"), end},
		[]string{"assistant", "call0 toolu_1 f", `call0 {"a":1}`, "call1 toolu_2 g", "call1 {}", "finish tool_calls", done}},
	{"overlapping blocks", "", []string{start, began(3, toolBlock), text0, piece(3, arguments(`{"a"`)), piece(0, words("x")),
		piece(3, arguments(`:1}`)), over(0), over(3), stopped("tool_use"), end},
		[]string{"assistant", "call0 toolu_1 f", `call0 {"a"`, "text x", "call0 :1}", "finish tool_calls", done}},
	{
		"arguments cut by the limit",
		"",
		[]string{start, began(0, toolBlock), piece(0, arguments(`{"a`)), over(0), stopped("max_tokens"), end},
		[]string{"assistant", "call0 toolu_1 f", `call0 {"a`, "finish length", done},
	},
	{"thinking", "", []string{start, began(0, `{"type":"thinking","thinking":"","signature":""}`), piece(0, thought("I ")), piece(0,
		thought("think")), piece(0, `{"type":"signature_delta","signature":"sig"}`), over(0), began(1, `{"type":"text","text":""}`),
		piece(1, words("x")), over(1), stopped("end_turn"), end},
		[]string{"assistant", "thinks I  & detail0 I ", "thinks think & detail0 think", "detail0 sig", "text x", "finish stop", done}},
	{"thinking kept back", "", []string{start, began(0, `{"type":"thinking","thinking":"","signature":""}`), piece(0,
		`{"type":"signature_delta","signature":"sig"}`), over(0), began(1, `{"type":"redacted_thinking","data":"red"}`), over(1),
		began(2, toolBlock), over(2), stopped("tool_use"), end},
		[]string{"assistant", "detail0 sig", "detail1 red", "call0 toolu_1 f", "call0 {}", "finish tool_calls", done}},
	{"blocks without a place", "", []string{start, began(0, `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search",`+
		`"input":{}}`), piece(0, arguments(`{"q":1}`)), over(0),
		began(1, `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","text":5}]}`), over(1),
		began(2, `{"type":"compaction","content":null}`), piece(2, `{"type":"compaction_delta","content":"sum"}`), over(2), began(3,
			`{"type":"fallback"}`), over(3),
		began(4, `{"type":"text","text":""}`), piece(4, `{"type":"citations_delta","citation":{"cited_text":"x"}}`), piece(4,
			words("ok")), over(4), stopped("end_turn"), end},
		[]string{"assistant", "text ok", `{"annotations":[{"index":0,"type":"file_citation","file_citation":{"start_index":0,` +
			`"end_index":2,"title":"","content":"x","location":{"cited_text":"x"}}}]}`, "finish stop", done}},
	{"unknown types", "", []string{`{"type":"future_event","index":"a","delta":7}`, start,
		`{"type":"future_event","delta":{"text":[]}}`, `{"no":"type"}`, text0, piece(0, `{"type":"future_delta","text":{"a":1}}`),
		piece(0, words("a")),
		began(1, `{"type":"future_block","text":["a"],"input":3}`), piece(1, words("not said")), over(1), piece(9, words("of nothing")),
		over(9), over(0), stopped("future_reason"), end},
		[]string{"assistant", "text a", "finish stop", done}},
	{"a start twice", "", []string{start, start, text0, piece(0, words("a")), over(0), stopped("end_turn"), end},
		[]string{"assistant", "text a", "finish stop", done}},
	{"an answer begun anew", "", []string{start, text0, piece(0, words("a")), began(1, toolBlock), start, text0, piece(0,
		words("b")), began(1, `{"type":"tool_use","id":"toolu_2","name":"g","input":{}}`), piece(1, arguments("{ }")), over(1),
		stopped("tool_use"), end},
		[]string{
			"assistant",
			"text a",
			"call0 toolu_1 f",
			"text b",
			"call0 {}",
			"call1 toolu_2 g",
			"call1 { }",
			"finish tool_calls",
			done,
		}},
	{"blocks that never stop", "", []string{start, began(0, `{"type":"thinking","thinking":"t","signature":"s"}`), began(1,
		toolBlock), stopped("tool_use"), end},
		[]string{"assistant", "thinks t & detail0 t", "call0 toolu_1 f", "detail0 s", "call0 {}", "finish tool_calls", done}},
	{"nothing", "", []string{start, stopped("end_turn"), end}, []string{"assistant", "finish stop", done}},
	{"the context is full", "", []string{start, text0, piece(0, words("a")), over(0), stopped("model_context_window_exceeded"), end},
		[]string{"assistant", "text a", "finish length", done}},
	{"paused", "", []string{start, stopped("pause_turn"), end}, []string{"assistant", "finish stop", done}},
	{"refused", "", []string{start, `{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"type":"refusal",` +
		`"category":"bio","explanation":"No."}},"usage":{"output_tokens":62}}`, end},
		[]string{"assistant", "refusal No.", "finish content_filter", done}},
	{"refused without a word", "", []string{start, `{"type":"message_delta","delta":{"stop_reason":"refusal",` +
		`"stop_details":null},"usage":{"output_tokens":62}}`, end},
		[]string{"assistant", "finish content_filter", done}},
	{"several message_delta", "", []string{start, stopped("end_turn"), `{"type":"message_delta","delta":{},` +
		`"usage":{"output_tokens":70}}`, end}, []string{"assistant", "finish stop", "usage 43+70=113"}},
	{"no message_stop", "", []string{start, text0, piece(0, words("a")), over(0), stopped("end_turn")}, []string{"assistant",
		"text a", "finish stop", done}},
	{"no message_delta", "", []string{start, text0, piece(0, words("a")), over(0), end}, []string{"assistant", "text a",
		"finish stop", "usage 43+1=44"}},
	{"more after the end", "", []string{start, stopped("end_turn"), end, text0, piece(0, words("late"))}, []string{"assistant",
		"finish stop", done}},

	// Usage: of each count the last value.
	{"all counts", "", []string{started(`{"input_tokens":10,"cache_creation_input_tokens":20,"cache_read_input_tokens":30,` +
		`"output_tokens":1}`), `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5,` +
		`"output_tokens_details":{"thinking_tokens":3}}}`, end},
		[]string{"assistant", "finish stop", "usage 60+5=65 cached 30 written 20 reasoning 3"}},
	{"counts that grow", "", []string{started(`{"input_tokens":10,"cache_read_input_tokens":1}`),
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":100,"cache_read_input_tokens":null,` +
			`"output_tokens":5}}`, end},
		[]string{"assistant", "finish stop", "usage 101+5=106 cached 1 written 0"}},
	{"absurd counts", "", []string{started(`{"input_tokens":-5,"output_tokens":1}`), `{"type":"message_delta",` +
		`"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9e30,"cache_read_input_tokens":"x"}}`, end},
		[]string{"assistant", "finish stop", "usage 0+0=0"}},
	{"no counts", "", []string{started(`null`), `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, end},
		[]string{"assistant", "finish stop"}},

	// The forms that only some clients want.
	{"functions", `"functions":[{"name":"f"}],`, []string{start, text0, piece(0, words("a")), over(0), began(1, toolBlock), piece(1,
		arguments(`{"a":1}`)), over(1), began(2, toolBlock), piece(2, arguments(`{}`)), over(2), stopped("tool_use"), end},
		[]string{"assistant", "text a", "function f", `function {"a":1}`, "finish function_call", done}},
	{"a function without arguments", `"functions":[{"name":"f"}],`, []string{start, began(1, toolBlock), over(1), stopped("tool_use"), end},
		[]string{"assistant", "function f", `function {}`, "finish function_call", done}},
	{"an answer by tool", `"response_format":{"type":"json_schema","json_schema":{"name":"f","schema":{"type":"object"}}},`,
		[]string{start, began(0, toolBlock), piece(0, arguments("")), piece(0, arguments(`{"a"`)), piece(0, arguments(`:1}`)), over(0),
			began(1, toolBlock), piece(1, arguments(`{"b":2}`)), over(1), stopped("tool_use"), end},
		[]string{"assistant", `text {"a"`, `text :1}`, "finish stop", done}},
	{"words around the answer by tool", `"response_format":{"type":"json_schema","json_schema":{"name":"f","schema":{"type":"object"}}},`,
		[]string{start, text0, piece(0, words("Sure: ")), over(0), began(1, toolBlock), piece(1, arguments(`{"a"`)),
			piece(1, arguments(`:1}`)), over(1), began(2, `{"type":"text","text":" Done."}`), over(2), stopped("tool_use"), end},
		[]string{"assistant", `text {"a"`, `text :1}`, "finish stop", done}},
	{"words in place of the answer by tool", `"response_format":{"type":"json_schema","json_schema":{"name":"f",` +
		`"schema":{"type":"object"}}},`,
		[]string{start, text0, piece(0, words("I ")), piece(0, words("refuse.")), over(0), stopped("end_turn"), end},
		[]string{"assistant", "text I refuse.", "finish stop", done}},
	{"an empty answer by tool", `"response_format":{"type":"json_schema","json_schema":{"name":"f","schema":{"type":"object"}}},`,
		[]string{start, began(0, toolBlock), over(0), stopped("tool_use"), end},
		[]string{"assistant", `text {}`, "finish stop", done}},
	{"an answer by tool, cut by the limit", `"response_format":{"type":"json_schema","json_schema":{"name":"f",` +
		`"schema":{"type":"object"}}},`, []string{start, began(0, toolBlock), piece(0, arguments(`{"a`)), stopped("max_tokens"), end},
		[]string{"assistant", `text {"a`, "finish length", done}},
	{"a tool instead of the answer", `"tools":[` + weather + `],"response_format":{"type":"json_schema",` +
		`"json_schema":{"name":"f","schema":{"type":"object"}}},`, []string{start, began(0, `{"type":"tool_use","id":"toolu_1",`+
		`"name":"get_weather","input":{}}`), over(0), stopped("tool_use"), end},
		[]string{"assistant", "call0 toolu_1 get_weather", "call0 {}", "finish tool_calls", done}},
}

func TestEventsBecomeChunks(t *testing.T) {
	for _, tt := range eventTable {
		t.Run(tt.name, func(t *testing.T) {
			got, err := play(t, events(tt.in...), tt.fields)
			if err != nil || strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s\n%v", strings.Join(got, "\n"), strings.Join(tt.want, "\n"), err)
			}
		})
	}
}
