package messages

import (
	"slices"
	"strings"
	"testing"

	"modelgateway/api"
	"modelgateway/dialects/dialecttest"
	"modelgateway/llm"
)

func decoded(t testing.TB, body string) *llm.Request {
	t.Helper()
	return dialecttest.Decoded(t, Decode, body)
}

func dump(req *llm.Request) string {
	return dialecttest.Dump(req, func(string) string { return "" })
}

func TestRequestsOfRealClients(t *testing.T) {
	dialecttest.Golden(t, 10, func(file string, body []byte) string {
		decode := Decode
		if strings.Contains(file, "count") {
			decode = DecodeCount
		}
		req, err := decode(nil, body)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		return dump(req)
	})
}

func TestTheBodyIsReadStrictly(t *testing.T) {
	const open, started = `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"a"}]`, `{"model":"m","max_tokens":1,`
	many := dialecttest.Repeated
	dialecttest.Strict(t, Decode, open, map[string]string{
		`{"max_tokens":1}`:                                                                    api.CodeMissingField,
		`{"model":"m"}`:                                                                       api.CodeMissingField,
		`{"model":"m","max_tokens":null}`:                                                     api.CodeMissingField,
		`{"model":7,"max_tokens":1}`:                                                          api.CodeInvalidValue,
		`{"model":"","max_tokens":1}`:                                                         api.CodeInvalidValue,
		`{"model":"m","max_tokens":"1"}`:                                                      api.CodeInvalidValue,
		`{"model":"m","max_tokens":1.5}`:                                                      api.CodeInvalidValue,
		`{"model":"m","max_tokens":-1}`:                                                       api.CodeInvalidValue,
		`{"model":"m","max_tokens":99999999999}`:                                              api.CodeInvalidValue,
		started + `"stream":"true"}`:                                                          api.CodeInvalidValue,
		started + `"messages":[` + many(maxMessages+1, `{}`) + `]}`:                           api.CodeInvalidValue,
		started + `"messages":[{"content":[` + many(maxBlocks+1, `{}`) + `]}]}`:               api.CodeInvalidValue,
		started + `"tools":[` + many(maxTools+1, `{}`) + `]}`:                                 api.CodeInvalidValue,
		started + `"system":[` + many(maxBlocks+1, `1`) + `]}`:                                api.CodeInvalidValue,
		started + `"messages":[{"content":[{"content":[` + many(maxBlocks+1, `{}`) + `]}]}]}`: api.CodeInvalidValue,
	})
}

// What only Anthropic sees is judged by Anthropic.
func TestAnthropicJudgesWhatItAloneReads(t *testing.T) {
	dialecttest.Unjudged(t, Decode, `{"model":"m","max_tokens":1,`,
		`"messages":7`, `"messages":[1,"a",null,[]]`, `"messages":[{"role":"narrator","content":{"a":1}}]`,
		`"system":{}`, `"tools":"all"`, `"tools":[1]`,
		`"messages":[{"role":"user","content":[7,{"type":7},{"type":"image","source":"s"},{"type":"image","source":{"type":{},"data":[]}}]}]`,
		`"temperature":"warm"`, `"top_k":1e99`, `"stop_sequences":[1,{}]`, `"thinking":"hard"`, `"output_config":[]`, `"metadata":"m"`,
		`"tool_choice":"auto"`, `"x":1e5`, `"x\n":{"y\u0041":[[[]]]}`, `"service_tier":"gold"`, `"container":{"skills":[{}]}`)
}

func TestOptionsOfARequest(t *testing.T) {
	req := decoded(t, `{"mod\u0065l":"claude-x","max_tokens":1e3,"stream":true,"temperature":0.5,"top_p":1,"top_k":7,`+
		`"stop_sequences":["a","\u00e9"],`+
		`"thinking":{"type":"enabled","budget_tokens":2048,"display":"omitted"},"output_config":{"effort":"high"},`+
		`"tool_choice":{"type":"auto","disable_parallel_tool_use":true},"cache_control":{"type":"ephemeral"},"speed":"fast",`+
		`"inference_geo":"us",`+
		`"metadata":{"user_id":"{\"device_id\":\"d\",\"session_id\":\"s-1\"}"},`+
		`"messages":[{"role":"system","content":"a","output_config":{"effort":"low"}}]}`)
	if req.Model != "claude-x" || !req.Stream || *req.MaxOutput != 1000 || req.OutputLimit != 1000 || *req.Temperature != 0.5 || *req.TopP != 1 ||
		*req.TopK != 7 || !slices.Equal(req.Stop, []string{"a", "é"}) {
		t.Errorf("%+v", req)
	}
	if *req.Thinking != (llm.Thinking{Type: "enabled", BudgetTokens: 2048, Display: "omitted"}) || req.NoThoughts || req.Effort != "low" {
		t.Errorf("%+v, effort %q, no thoughts %v", req.Thinking, req.Effort, req.NoThoughts)
	}
	if *req.ParallelCalls || !req.SingleCall || string(req.Cache) != `{"type":"ephemeral"}` || req.Session != "s-1" || req.Speed != "fast" || req.Geo != "us" {
		t.Errorf("%+v", req)
	}
	if !req.OutputWish || !req.Usage || req.Choices != 1 || req.Kind != llm.KindChat || req.Source.Dialect() != llm.Messages || req.ServiceTier != "" {
		t.Errorf("%+v", req)
	}
	if path := req.Path(llm.FieldEffort); path != "messages[].output_config.effort" {
		t.Error(path)
	}
}

func TestThoughtsAreForClientsThatAskForThem(t *testing.T) {
	for thinking, want := range map[string]bool{
		``: true, `,"thinking":null`: true, `,"thinking":{"type":"disabled"}`: true, `,"thinking":{"type":"adaptive"}`: false,
		`,"thinking":{"type":"between_tools"}`: false, `,"thinking":{"type":"enabled","budget_tokens":1024}`: false,
		`,"output_config":{"effort":"low"}`: true,
	} {
		if req := decoded(t, `{"model":"m","max_tokens":1`+thinking+`}`); req.NoThoughts != want {
			t.Errorf("%s: %v", thinking, req.NoThoughts)
		}
	}
}

func TestTheSessionOfARequest(t *testing.T) {
	for user, want := range map[string]string{
		`"u-1"`: "", `"{\"session_id\":\"s\"}"`: "s", `"{\"a\":1}"`: "", `"{broken"`: "", `7`: "", `null`: "", `"{\"session_id\":7}"`: "",
	} {
		req := decoded(t, `{"model":"m","max_tokens":1,"metadata":{"user_id":`+user+`}}`)
		if req.Session != want || req.Affinity != req.SafetyIdentifier {
			t.Errorf("%s: %q, else %q", user, req.Session, req.Affinity)
		}
	}
}

func TestMembersThatChoose(t *testing.T) {
	const user = `{"model":"m","max_tokens":1,"stream":true,"messages":[{"role":"user","content":[{"type":"tool_use",` +
		`"input":{"model":"x"}}]}]`
	for member, want := range map[string][2]string{ // Foreign and Chooses
		``: {}, `,"metadata":{"user_id":"u","model":"x"}`: {}, `,"thinking":{"type":"adaptive"}`: {},
		`,"speed":"fast"`: {}, `,"fallbacks":[]`: {},
		`,"tools":[{"name":"f","input_schema":{"properties":{"model":{}}}}]`: {},
		`,"context_management":{"edits":[]}`:                                 {},
		`,"novel":1`:                                                         {"novel", ""},
		`,"Model":"n"`:                                                       {"Model", ""},
		`,"fallbacks":[{"model":"n"}]`:                                       {"fallbacks", "fallbacks"},
		`,"tools":[{"name":"f"},{"type":"advisor_20260301","model":"n"}]`:    {"tools[1].model", "tools[1].model"},
		`,"context_management":{"edits":[{"type":"compact","Model":"n"}]}`:   {"context_management.edits[].Model", ""},
	} {
		source, ok := decoded(t, user+member+"}").Source.(*Request)
		if !ok || source.Foreign() != want[0] || source.Chooses() != want[1] {
			t.Errorf("%s: %q, %q", member, source.Foreign(), source.Chooses())
		}
	}
}

func TestWhatToolsOfAnthropicCost(t *testing.T) {
	for tools, want := range map[string]llm.Request{
		`{"type":"web_search_20250305","name":"web_search","max_uses":8},{"type":"web_search_20260209","max_uses":2}`: {Searches: 10},
		`{"type":"web_search_20250305","name":"web_search"}`:                                                          {Unpriced: "tools[0].max_uses"},
		`{"name":"f"},{"type":"web_search_20250305","max_uses":1000000}`:                                              {Unpriced: "tools[1].max_uses"},
		`{"type":"web_fetch_20250910"},{"type":"tool_search_tool_regex_20251119"},{"type":"mcp_toolset"}`:             {},
		`{"type":"mcp_toolset","mcp_server_name":"s","tools":[{"name":"f","input_schema":{}}]}`:                       {},
		`{"name":"f"},{"type":"mcp_toolset","tools":[{"name":"f"},{"type":"code_execution_20250825"}]}`:               {Unpriced: "tools[1].tools[1].type"},
		`{"type":"mcp_toolset","tools":[{"type":"web_search_20250305","max_uses":3}]}`:                                {Searches: 3},
		`{"type":"code_execution_20250825"}`:                                                                          {Unpriced: "tools[0].type"},
		`{"type":"bash_20250124"},{"type":"custom"}`:                                                                  {},
	} {
		req := decoded(t, `{"model":"m","max_tokens":1,"tools":[`+tools+`]}`)
		if req.Searches != want.Searches || req.Unpriced != want.Unpriced {
			t.Errorf("%s: %d, %q", tools, req.Searches, req.Unpriced)
		}
	}
}

func FuzzDecode(f *testing.F) {
	dialecttest.FuzzDecode(f, DecodeCount, dump,
		`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"document","source":{"type":"content",`+
			`"content":[{"type":"image","source":{"type":"url","url":"https://a"}}]}}]}]}`,
		`{"model":"m","max_tokens":1,"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"a",`+
			`"signature":"mgw1.e30"},{"type":"tool_use","id":"a__mgw1_W3t9XQ","name":"f"}]}]}`)
}
