package responses

import (
	"fmt"
	"net/http"
	"net/url"
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
	return dialecttest.Dump(req, func(tool string) string { return fmt.Sprintf(", called as %+v,", req.Source.(*Request).as(tool)) })
}

func TestRequestsOfRealClients(t *testing.T) {
	dialecttest.Golden(t, 7, func(_ string, body []byte) string { return dump(decoded(t, string(body))) })
}

func TestTheBodyIsReadStrictly(t *testing.T) {
	const user = `{"model":"m","input":[{"role":"user","content":"a"}]`
	many := dialecttest.Repeated
	dialecttest.Strict(t, Decode, user, map[string]string{
		`{"input":"a"}`:                                      api.CodeMissingField,
		`{"model":null}`:                                     api.CodeMissingField,
		`{"model":7}`:                                        api.CodeInvalidValue,
		`{"model":""}`:                                       api.CodeInvalidValue,
		`{"model":"m","stream":"true"}`:                      api.CodeInvalidValue,
		`{"model":"m","store":1}`:                            api.CodeInvalidValue,
		`{"model":"m","background":"no"}`:                    api.CodeInvalidValue,
		`{"model":"m","background":true}`:                    api.CodeUnsupportedValue,
		`{"model":"m","previous_response_id":7}`:             api.CodeInvalidValue,
		`{"model":"m","max_output_tokens":"1"}`:              api.CodeInvalidValue,
		`{"model":"m","max_output_tokens":1.5}`:              api.CodeInvalidValue,
		`{"model":"m","max_output_tokens":0}`:                api.CodeInvalidValue,
		`{"model":"m","max_output_tokens":99999999999}`:      api.CodeInvalidValue,
		`{"model":"m","input":[` + many(10_001, `{}`) + `]}`: api.CodeInvalidValue,
		`{"model":"m","tools":[` + many(1025, `{}`) + `]}`:   api.CodeInvalidValue,
		`{"model":"m","tools":[{"type":"namespace","tools":[` + many(1025, `{}`) + `]}]}`: api.CodeInvalidValue,
		`{"model":"m","input":[{"tools":[` + many(1025, `{}`) + `]}]}`:                    api.CodeInvalidValue,
		`{"model":"m","input":[{"content":[` + many(1001, `{}`) + `]}]}`:                  api.CodeInvalidValue,
		`{"model":"m","input":[{"output":[` + many(1001, `1`) + `]}]}`:                    api.CodeInvalidValue,
		`{"model":"m","input":[{"summary":[` + many(1001, `{}`) + `]}]}`:                  api.CodeInvalidValue,
	})
}

// What only OpenAI sees is judged by OpenAI.
func TestOpenAIJudgesWhatItAloneReads(t *testing.T) {
	dialecttest.Unjudged(t, Decode, `{"model":"m",`,
		`"input":7`, `"input":[1,"a",null,[]]`, `"input":[{"role":"narrator","content":{"a":1}}]`, `"instructions":{}`,
		`"tools":"all"`, `"tools":[1,{"type":7},{"type":"new_tool","a":{}}]`, `"max_output_tokens":1`, `"temperature":"warm"`,
		`"input":[{"type":7,"content":[7,{"type":7},{"type":"input_image","image_url":{}},{"type":"input_file","file_data":[]}]}]`,
		`"reasoning":"hard"`, `"text":[]`, `"metadata":"m"`, `"tool_choice":7`, `"x":1e5`, `"x\n":{"y\u0041":[[[]]]}`, `"include":{}`,
		`"service_tier":"gold"`, `"conversation":"conv_1"`, `"prompt":{"id":"p"}`, `"input":[{"type":"item_reference","id":"a"}]`,
		`"input":[{"type":"compaction_trigger"},{"type":"compaction_trigger"}]`, `"store":null`, `"previous_response_id":null`,
		`"input":[{"type":"configuration_update","reasoning":[],"text":7}]`)
}

func TestOptionsOfARequest(t *testing.T) {
	req := decoded(t, `{"mod\u0065l":"gpt-x","max_output_tokens":1e3,"stream":true,"temperature":0.5,"top_p":1,"top_logprobs":3,`+
		`"reasoning":{"effort":"high","summary":"auto"},"parallel_tool_calls":false,"prompt_cache_key":"k","prompt_cache_retention":"24h",`+
		`"safety_identifier":"s","user":"u","service_tier":"flex","input":"a","previous_response_id":"resp_1"}`)
	if req.Model != "gpt-x" || !req.Stream || *req.MaxOutput != 1000 || req.OutputLimit != 1000 || *req.Temperature != 0.5 || *req.TopP != 1 ||
		*req.TopLogprobs != 3 || !req.Logprobs || req.ServiceTier != "flex" {
		t.Errorf("%+v", req)
	}
	if *req.Thinking != (llm.Thinking{Type: "adaptive", Display: "summarized"}) || req.NoThoughts || req.Effort != "high" {
		t.Errorf("%+v, effort %q, no thoughts %v", req.Thinking, req.Effort, req.NoThoughts)
	}
	if *req.ParallelCalls || !req.SingleCall || req.CacheKey != "k" || string(req.Cache) != `{"type":"ephemeral","ttl":"1h"}` ||
		req.SafetyIdentifier != "s" || req.User != "u" {
		t.Errorf("%+v", req)
	}
	if !req.OutputWish || !req.Usage || req.Choices != 1 || req.Kind != llm.KindChat || req.Source.Dialect() != llm.Responses {
		t.Errorf("%+v", req)
	}
	if req.Earlier.Previous != "resp_1" {
		t.Error(req.Earlier.Previous)
	}
}

func TestHowAModelShallReason(t *testing.T) {
	const omitted, summarized = "omitted", "summarized"
	for reasoning, want := range map[string]struct {
		effort string
		asked  *llm.Thinking
	}{
		``: {}, `"reasoning":null`: {}, `"reasoning":{"context":"all_turns"}`: {},
		`"reasoning":{"effort":"none"}`:                             {"none", nil},
		`"reasoning":{"effort":"low"}`:                              {"low", &llm.Thinking{Display: omitted}},
		`"reasoning":{"effort":"low","summary":null}`:               {"low", &llm.Thinking{Display: omitted}},
		`"reasoning":{"summary":"auto"}`:                            {"", &llm.Thinking{Type: "adaptive", Display: summarized}},
		`"reasoning":{"effort":"max","generate_summary":"concise"}`: {"max", &llm.Thinking{Type: "adaptive", Display: summarized}},
		`"reasoning":{"effort":"low"},"input":[{"type":"configuration_update","reasoning":{"effort":"high"}},` +
			`{"type":"configuration_update","reasoning":{"effort":"xhigh"}}]`: {"xhigh", &llm.Thinking{Display: omitted}},
		`"reasoning":{"effort":"low","summary":"auto"},"input":[{"reasoning":{"effort":"none"},"type":"configuration_update"}]`: {"none", nil},
	} {
		req := decoded(t, strings.Replace(`{"model":"m",`+reasoning+`}`, `",}`, `"}`, 1))
		same := (req.Thinking == nil) == (want.asked == nil) && (req.Thinking == nil || *req.Thinking == *want.asked)
		if req.Effort != want.effort || !same {
			t.Errorf("%s: %q, %+v", reasoning, req.Effort, req.Thinking)
		}
	}
}

func TestOtherProvidersCacheWhatOpenAIWould(t *testing.T) {
	const input = `"input":[{"role":"user","content":[{"type":"input_text","text":"a"`
	for members, want := range map[string]string{
		input + `}]}]`: "",
		input + `,"prompt_cache_breakpoint":{"mode":"explicit"}}]}],"prompt_cache_key":"k"`: "",
		input + `}]}],"prompt_cache_key":"k","prompt_cache_options":{"mode":"explicit"}`:    "",
		input + `}]}],"prompt_cache_key":"k","prompt_cache_retention":"in_memory"`:          `{"type":"ephemeral"}`,
	} {
		if got := string(decoded(t, `{"model":"m",`+members+`}`).Cache); got != want {
			t.Errorf("%s: %s", members, got)
		}
	}
	c, err := decoded(t, `{"model":"m",`+input+`,"prompt_cache_breakpoint":{"mode":"explicit"}}]}]}`).Source.Conversation()
	if err != nil || string(c.Messages[0].Blocks[0].Cache) != `{"type":"ephemeral"}` {
		t.Errorf("%v: %+v", err, c)
	}
}

func TestTheSizeOfAPrompt(t *testing.T) {
	for members, want := range map[string]llm.Size{
		`"input":"a","instructions":"b"`:                               {Messages: 2},
		`"input":[{"role":"user","content":"a"},{"type":"reasoning"}]`: {Messages: 2},
		`"input":"a","tools":[{"type":"function"},{"type":"namespace","tools":[{"type":"custom"},{"type":"function"}]}]`: {Messages: 1, Tools: 3},
		`"input":[{"type":"additional_tools","tools":[{"type":"shell"}]}]`:                                               {Messages: 1, Tools: 1},
		`"input":"a","tools":[{"type":"web_search"}]`:                                                                    {Messages: 1, Tools: 1, Hosted: true},
		`"input":"a","text":{"format":{"type":"json_object"}}`:                                                           {Messages: 1, Shaped: true},
		`"input":"a","text":{"format":{"type":"text"}}`:                                                                  {Messages: 1},
		`"input":[{"role":"user","content":[{"type":"input_image","image_url":"https://a"}]}]`:                           {Messages: 1, Media: 1, Images: []string{"https://a"}},
		`"input":[{"type":"function_call_output","output":[{"type":"input_file","file_data":"data:"}]}]`:                 {Messages: 1, Media: 1, Opaque: true},
		`"input":[{"role":"user","content":[{"type":"input_file","file_id":"file_1"}]}]`:                                 {Messages: 1, Media: 1, Opaque: true},
		`"input":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"AA"}}]}]`:                       {Messages: 1, Media: 1, Sounds: 1, Opaque: true},
		`"input":[{"role":"user","content":[{"type":"new_part"}]}]`:                                                      {Messages: 1, Opaque: true},
		`"input":[{"type":"new_item"}]`:                                                                                  {Messages: 1, Hosted: true},
		`"input":[{"type":"item_reference","id":"a"}]`:                                                                   {Messages: 1, Hosted: true},
		`"input":[{"type":"image_generation_call","result":"AA"}]`:                                                       {Messages: 1, Media: 1, Opaque: true},
		`"input":"a","previous_response_id":"resp_1"`:                                                                    {Messages: 1, Hosted: true},
	} {
		got := decoded(t, `{"model":"m",`+members+`}`).Source.Size()
		if got.Messages != want.Messages || got.Tools != want.Tools || got.Shaped != want.Shaped || got.Media != want.Media ||
			got.Sounds != want.Sounds || got.Opaque != want.Opaque || got.Hosted != want.Hosted ||
			strings.Join(got.Images, " ") != strings.Join(want.Images, " ") {
			t.Errorf("%s: %+v", members, got)
		}
	}
	url := "data:image/png;base64," + strings.Repeat("A", 1000)
	got := decoded(t, `{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":"`+url+`"}]}]}`).Source.Size()
	if got.Bytes > 100 || !strings.HasPrefix(got.Images[0], "data:image/png;base64,") {
		t.Errorf("%+v", got)
	}
}

func TestMembersThatChoose(t *testing.T) {
	const user = `{"model":"m","max_output_tokens":20,"stream":true,"input":[{"type":"function_call","arguments":"{\"model\":1}"}]`
	for member, want := range map[string][2]string{ // Foreign and Chooses
		``: {}, `,"metadata":{"model":"x"}`: {}, `,"client_metadata":{"model":"x"}`: {}, `,"reasoning":{"effort":"low"}`: {},
		`,"tools":[{"type":"function","name":"f","parameters":{"properties":{"model":{}}}}]`: {},
		`,"novel":1`:           {"novel", ""},
		`,"Model":"n"`:         {"Model", ""},
		`,"prompt":{"id":"p"}`: {"prompt", "prompt"},
		`,"tools":[{"type":"image_generation","model":"n"}]`:              {"tools[].model", "tools[].model"},
		`,"moderation":{"model":"n"}`:                                     {"moderation.model", "moderation.model"},
		`,"context_management":[{"type":"compaction","Fallbacks":["n"]}]`: {"context_management[].Fallbacks", ""},
		`,"text":{"base_url":"https://a"}`:                                {"text.base_url", ""},
	} {
		source := decoded(t, user+member+"}").Source.(*Request)
		if source.Foreign() != want[0] || source.Chooses() != want[1] {
			t.Errorf("%s: %q, %q", member, source.Foreign(), source.Chooses())
		}
	}
	inInput := decoded(t, `{"model":"m","input":[{"type":"additional_tools","tools":[{"type":"image_generation","model":"n"}]}]}`)
	if got := inInput.Source.(*Request).Chooses(); got != "input[].tools[].model" {
		t.Error(got)
	}
}

func TestWhatToolsOfOpenAICost(t *testing.T) {
	for members, want := range map[string]llm.Request{
		`"tools":[{"type":"web_search"}]`:                                                                                {Searches: 100},
		`"tools":[{"type":"web_search_preview_2025_03_11"}],"max_tool_calls":3`:                                          {Searches: 3},
		`"tools":[{"type":"web_search"}],"max_tool_calls":1000`:                                                          {Searches: 1000},
		`"tools":[{"type":"web_search"}],"max_tool_calls":9007199254740991`:                                              {Searches: 1_000_000},
		`"tools":[{"type":"function"},{"type":"file_search"}]`:                                                           {Unpriced: "tools[1].type"},
		`"tools":[{"type":"code_interpreter"},{"type":"image_generation"}]`:                                              {Unpriced: "tools[0].type"},
		`"tools":[{"type":"namespace","name":"n","tools":[{"type":"function"},{"type":"image_generation"}]}]`:            {Unpriced: "tools[0].tools[1].type"},
		`"tools":[{"type":"namespace","name":"n","tools":[{"type":"namespace","tools":[{"type":"image_generation"}]}]}]`: {Unpriced: "tools[0].tools[0].type"},
		`"tools":[{"type":"namespace","name":"n","tools":[{"type":"function"},{"type":"custom"}]}]`:                      {},
		`"tools":[{"type":"namespace","name":"n","tools":[{"type":"web_search"}]}]`:                                      {Searches: 100},
		`"input":[{"type":"additional_tools","tools":[{"type":"namespace","tools":[{"type":"file_search"}]}]}]`:          {Unpriced: "input[0].tools[0].tools[0].type"},
		`"tools":[{"type":"new_tool"}]`:                                                                                  {Unpriced: "tools[0].type"},
		`"tools":[{"type":"mcp"},{"type":"tool_search"},{"type":"computer"}]`:                                            {},
		`"tools":[{"type":"shell"},{"type":"web_search"}]`:                                                               {Searches: 100},
		`"tools":[{"type":"shell","environment":{"type":"container_auto"}},{"type":"mcp"}]`:                              {Unpriced: "tools[0].type"},
		`"tools":[{"type":"shell","environment":{"type":"container_auto"}}]`:                                             {Unpriced: "tools[0].type"},
		`"tools":[{"type":"shell","environment":{"type":"local"}}]`:                                                      {},
		`"prompt":{"id":"p"}`: {Unpriced: "prompt"},
		`"input":[{"type":"message"},{"type":"additional_tools","tools":[{"type":"code_interpreter"}]}]`: {Unpriced: "input[1].tools[0].type"},
	} {
		req := decoded(t, `{"model":"m",`+members+`}`)
		if req.Searches != want.Searches || req.Unpriced != want.Unpriced {
			t.Errorf("%s: %d, %q", members, req.Searches, req.Unpriced)
		}
	}
}

func TestTheEndpoints(t *testing.T) {
	const trigger = `{"model":"m","stream":true,"input":[{"role":"user","content":"a"},{"type":"compaction_trigger"}]}`
	count, err := DecodeCount(nil, []byte(trigger))
	if err != nil || count.Stream || count.Source.(*Request).endpoint != Count || count.Source.(*Request).summary {
		t.Errorf("%v: %+v", err, count)
	}
	if count, err = DecodeCount(nil, []byte(`{"model":"m"}`)); err != nil {
		t.Error(err)
	} else if _, err := count.Source.Conversation(); err != nil {
		t.Error(err)
	}
	compact, err := DecodeCompaction(nil, []byte(`{"model":"m","stream":true,"input":"a"}`))
	if err != nil || compact.Stream || compact.Source.(*Request).endpoint != Compact || !compact.Source.(*Request).summary {
		t.Errorf("%v: %+v", err, compact)
	}
	if create := decoded(t, `{"model":"m","input":[{"type":"compaction_trigger"},{"role":"user"}]}`).Source.(*Request); create.summary {
		t.Error("the trigger is not the last item")
	}
}

func TestHeadersThatTravel(t *testing.T) {
	h := http.Header{
		"Session-Id": {"s"}, "Thread-Id": {"t"}, "X-Client-Request-Id": {"c"}, "Originator": {"codex_exec"}, "X-Codex-Window-Id": {"w"},
		"X-Codex-Turn-Metadata": {"{}"}, "X-Openai-Internal-Codex-Responses-Lite": {"true"}, "Openai-Beta": {"a", "b"}, "X-Openai-Subagent": {"r"},
		"Authorization": {"Bearer k"}, "Openai-Organization": {"o"}, "Openai-Project": {"p"}, "Idempotency-Key": {"i"}, "Cookie": {"c"},
		"Accept-Encoding": {"gzip"}, "User-Agent": {"u"}, "X-Stainless-Lang": {"js"}, "X-Api-Key": {"k"},
	}
	beside, session := forwards(h, url.Values{"beta": {"true"}, "include": {"a", "b"}, "api-version": {"x"}})
	var names []string
	for _, of := range beside.Headers {
		names = append(names, of.Name+"="+of.Value)
	}
	const want = "Openai-Beta=a Openai-Beta=b Originator=codex_exec Session-Id=s Thread-Id=t X-Client-Request-Id=c X-Codex-Turn-Metadata={} " +
		"X-Codex-Window-Id=w X-Openai-Internal-Codex-Responses-Lite=true X-Openai-Subagent=r"
	if got := strings.Join(names, " "); got != want || session != "s" || beside.Query != "beta=true&include=a&include=b" {
		t.Errorf("%s\nsession %q, query %q", got, session, beside.Query)
	}
	for name, want := range map[string]string{"Session_id": "x", "X-Session-Affinity": "x", "X-Request-Id": ""} {
		if _, session := forwards(http.Header{name: {"x"}}, nil); session != want {
			t.Errorf("%s: %q", name, session)
		}
	}
}

func FuzzDecode(f *testing.F) {
	seeds := []string{
		`"input":[` + hello + `,` + called + `,` + answered + `,{"type":"compaction_trigger"}]`,
		`"input":[{"type":"shell_call","call_id":"a__mgw1_W3t9XQ","action":{}},{"type":"shell_call_output","call_id":"a__mgw1_W3t9XQ",` +
			`"output":[{"stdout":"a","outcome":{"type":"exit","exit_code":1}}]}]`,
		`"input":[{"type":"reasoning","encrypted_content":"mgw1.e30"},{"type":"local_shell_call","id":"1","action":{"type":"exec","type2":1}}]`,
		`"input":[{"type":"tool_search_call","call_id":"1","execution":"client"},{"type":"tool_search_output","call_id":"1","tools":[` +
			aFunction + `]},{"type":"additional_tools","tools":[{"type":"namespace","name":"n","tools":[{"type":"custom","name":"c"}]}]}]`,
		`"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:a"},{"type":"input_file","file_data":"x"}]}],` +
			`"tool_choice":{"type":"allowed_tools","tools":[{"type":"function","name":"f"}]},"tools":[` + aFunction + `]`,
		`"input":[{"type":"configuration_update","reasoning":{"effort":"low"},"text":{"format":{"type":"json_object"}}}],"text":{}`,
	}
	for i := range seeds {
		seeds[i] = `{"model":"m",` + seeds[i] + `}`
	}
	dialecttest.FuzzDecode(f, Decode, func(req *llm.Request) string {
		source := req.Source.(*Request)
		source.Foreign()
		_, err := source.Conversation()
		for name := range source.called {
			if err == nil && !toolName.MatchString(name) {
				panic("the name " + name)
			}
		}
		return dump(req)
	}, seeds...)
}
