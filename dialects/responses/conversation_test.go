package responses

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"modelgateway/api"
	"modelgateway/dialects/dialecttest"
	"modelgateway/llm"
	"modelgateway/llm/roundtrip"
)

// said is a conversation in short: who says what.
func said(t *testing.T, members string) (string, *llm.Request) {
	t.Helper()
	req := decoded(t, `{"model":"m",`+members+`}`)
	c, err := req.Source.Conversation()
	if err != nil {
		t.Fatalf("%s: %v", members, err)
	}
	var all []string
	for i := range c.Messages {
		m := &c.Messages[i]
		all = append(all, [...]string{"U", "A", "S"}[m.Role]+shown(m.Blocks))
	}
	return strings.Join(all, " "), req
}

func shown(blocks []llm.Block) string {
	var b strings.Builder
	for i := range blocks {
		switch block := &blocks[i]; block.Kind {
		case llm.BlockText:
			fmt.Fprintf(&b, "(%s)", block.Text+block.Phase)
		case llm.BlockRefusal:
			fmt.Fprintf(&b, "(no: %s)", block.Text)
		case llm.BlockCall:
			fmt.Fprintf(&b, "{%s %s %s}", block.Call.ID, block.Call.Name, block.Call.Arguments)
		case llm.BlockThought:
			t := block.Thought
			fmt.Fprintf(&b, "~%s %s%s%s~", t.Format, t.Text, t.Signature, t.Data)
		case llm.BlockMedia:
			m := block.Media
			fmt.Fprintf(&b, "[%d %s%s %s%s%s]", m.Kind, m.URL, m.Data, m.Name, m.Format, m.Detail)
		case llm.BlockResult:
			r := block.Result
			fmt.Fprintf(&b, "<%s %s%s>", r.ID, map[bool]string{true: "failed "}[r.IsError], shown(r.Content))
		default:
			b.WriteString("?")
		}
	}
	return b.String()
}

const (
	called   = `{"type":"function_call","call_id":"1","name":"f","arguments":"{\"a\":1}"}`
	answered = `{"type":"function_call_output","call_id":"1","output":"r"}`
	hello    = `{"role":"user","content":"q"}`
)

func TestItemsInTheCommonForm(t *testing.T) {
	for input, want := range map[string]string{
		`"q"`: "U(q)",
		hello: "U(q)",
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_text","text":""},` +
			`{"type":"input_text","text":"b"}]}`: "U(a)(b)",
		`{"role":"developer","content":"d"},` + hello + `,{"role":"system","content":[{"type":"input_text","text":"s"}]}`: "S(d) U(q) S(s)",
		hello + `,{"role":"assistant","content":"a","phase":"commentary"},{"type":"message","role":"assistant","status":"completed",` +
			`"id":"msg_1","phase":"final_answer","content":[{"type":"output_text","text":"b","annotations":[{}],"logprobs":[]},` +
			`{"type":"refusal","refusal":"c"}]}`: "U(q) A(acommentary)(bfinal_answer)(no: c)",
		`{"role":"user","content":[{"type":"input_image","image_url":"https://a","detail":"low"},{"type":"input_file","file_data":"data:a",` +
			`"filename":"n"},{"type":"input_file","file_url":"https://b"},{"type":"input_audio","input_audio":{"data":"AA","format":"wav"}}]}`: "U" +
			"[0 https://a low][2 data:a n][2 https://b application/pdf][1 AA wav]",
		hello + `,` + called + `,` + answered: `U(q) A{1 f {"a":1}} U<1 (r)>`,
		called + `,{"type":"function_call","call_id":"2","name":"g","arguments":""},{"type":"function_call_output","call_id":"2",` +
			`"output":[{"type":"input_text","text":"x"},{"type":"input_image","image_url":"data:i"}]},` + answered: `A{1 f {"a":1}}{2 g {}} U<2 (x)[0 data:i ]><1 (r)>`,
		// Turns in which other items stand between a call and its result.
		called + `,{"role":"developer","content":"d"},{"role":"user","content":"w"},` + answered:               `A{1 f {"a":1}} S(d) U(w)<1 (r)>`,
		called + `,{"role":"user","content":"w"},{"role":"assistant","content":"a"},` + answered + `,` + hello: `A{1 f {"a":1}} U(w)<1 (r)> A(a) U(q)`,
		called + `,{"role":"developer","content":"d"},{"type":"function_call","call_id":"2","name":"g","arguments":"{}"},` + answered +
			`,{"type":"function_call_output","call_id":"2","output":""}`: `A{1 f {"a":1}}{2 g {}} S(d) U<1 (r)><2 >`,
		hello + `,{"role":"system","content":"s"},{"role":"user","content":"r"}`: "U(q) S(s) U(r)",
		// Ids.
		called + `,` + answered + `,` + called + `,` + answered: `A{1 f {"a":1}} U<1 (r)> A{1_2 f {"a":1}} U<1_2 (r)>`,
		`{"type":"function_call","call_id":"a.b:c","name":"f","arguments":"no JSON"},{"type":"function_call_output","call_id":"a.b:c"}`: "" +
			`A{a_b_c_b2a25f70 f {"_raw":"no JSON"}} U<a_b_c_b2a25f70 >`,
		called + `,{"type":"function_call","call_id":"2","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":null,"name":"f",` +
			`"output":"last"},` + answered: `A{1 f {"a":1}}{2 f {}} U<2 (last)><1 (r)>`,
		// Tools other than functions; more of them, and what ran at OpenAI, are in tests/responses.
		`{"type":"shell_call","call_id":"1","action":{"commands":["ls","false"]}},{"type":"shell_call_output","call_id":"1","output":[` +
			`{"stdout":"a\n","stderr":"","outcome":{"type":"exit","exit_code":0}},{"stdout":"","stderr":"e","outcome":{"type":"exit",` +
			`"exit_code":2}},{"outcome":{"type":"timeout"}}]}`: `A{1 shell {"commands":["ls","false"]}} ` +
			"U<1 (a\ne\n(Exit code 2.)\n(The command was ended: it took too long.)\n)>",
		hello + `,{"type":"tool_search_call","call_id":null,"execution":"server","arguments":{}},{"type":"tool_search_output","call_id":null,` +
			`"execution":"server","tools":[]}`: "U(q)",
		hello + `,{"type":"configuration_update","reasoning":{"effort":"low"}}`: "U(q)",
	} {
		if input[0] == '{' {
			input = "[" + input + "]"
		}
		if got, _ := said(t, `"input":`+input); got != want {
			t.Errorf("%s:\n got %s\nwant %s", input, got, want)
		}
	}
	if got, _ := said(t, `"instructions":"i","input":[{"role":"developer","content":"d"},`+hello+`]`); got != "S(i) S(d) U(q)" {
		t.Error(got)
	}
}

func TestThoughtsGoBackToTheirProvider(t *testing.T) {
	sealed := func(thought llm.Thought) string {
		return `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"edited"}],"encrypted_content":"` +
			roundtrip.SealWhole(&thought) + `"}`
	}
	claude := sealed(llm.Thought{Format: llm.FormatAnthropic, Text: "why\n", Signature: "sig"})
	redacted := sealed(llm.Thought{Format: llm.FormatAnthropic, Kind: llm.ThoughtEncrypted, Data: "red"})
	of := sealed(llm.Thought{Format: llm.FormatGemini, Kind: llm.ThoughtEncrypted, Data: "m|sig", CallID: "1"})
	for input, want := range map[string]string{
		claude + `,` + redacted + `,{"role":"assistant","content":"a"},` + claude + `,` + called + `,` + answered: "" +
			"A~anthropic-claude-v1 why\nsig~~anthropic-claude-v1 red~(a)~anthropic-claude-v1 why\nsig~{1 f {\"a\":1}} U<1 (r)>",
		of + `,` + called + `,` + answered: `A~google-gemini-v1 m|sig~{1 f {"a":1}} U<1 (r)>`,
		`{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"s"},{"type":"summary_text","text":"t"}],"content":null,` +
			`"encrypted_content":"gAAAA"},` + called + `,` + answered: "A~openai-responses-v1 s\n\ntgAAAA~{1 f {\"a\":1}} U<1 (r)>",
		hello + `,{"type":"reasoning","summary":[{"type":"summary_text","text":"s"}]},{"type":"reasoning","encrypted_content":"mgw1.x"},` +
			`{"type":"reasoning","encrypted_content":""}`: "U(q)",
	} {
		if got, _ := said(t, `"input":[`+input+`]`); got != want {
			t.Errorf("%s:\n got %s\nwant %s", input, got, want)
		}
	}
}

// A conversation may have begun in chat completions, whose ids carry signatures.
func TestSignaturesInsideIDsAreUnpacked(t *testing.T) {
	id := roundtrip.Pack("c1", &llm.Thought{Format: llm.FormatGemini, Kind: llm.ThoughtEncrypted, Data: "m|sig"},
		&llm.Thought{Format: llm.FormatAnthropic, Text: "why", Signature: "s"})
	got, req := said(t, `"input":[{"type":"function_call","call_id":"`+id+`","name":"f","arguments":"{}"},`+
		`{"type":"function_call_output","call_id":"`+id+`","output":"r"}]`)
	if want := "A~anthropic-claude-v1 whys~{c1 f {}} U<c1 (r)>"; got != want {
		t.Errorf("%s, not %s", got, want)
	}
	c, _ := req.Source.Conversation()
	if signature := c.Messages[0].Blocks[1].Call.Signature; signature != "m|sig" {
		t.Error(signature)
	}
}

func TestWhatIsLeftOutIsNamed(t *testing.T) {
	const function = `{"type":"function","name":"f","strict":false}`
	for members, want := range map[string]string{
		`"input":[` + hello + `]`: "",
		`"input":[` + hello + `,{"type":"web_search_call"},{"type":"mcp_list_tools"},{"type":"new"},` + hello + `]`: "input[1].type input[2].type input[3].type",
		`"input":[{"role":"user","content":[{"type":"input_text","text":"a","novel":1},{"type":"new"}],"mood":"x","id":"m","status":"completed"}]`: "" +
			"input[].content[].novel input[].content[].type input[].mood",
		`"input":[` + strings.Replace(called, `"type"`, `"parsed_arguments":{},"caller":{"type":"direct"},"novel":1,"type"`, 1) + `,` + answered + `]`: "input[].novel",
		`"input":"a","tools":[` + function + `,{"type":"web_search","external_web_access":true},{"type":"tool_search"}]`:                               "tools[].type",
		`"input":[{"type":"additional_tools","tools":[` + function + `,{"type":"web_search"}]},` + hello + `]`:                                         "input[0].tools[].type",
		`"input":"a","tools":[{"type":"namespace","name":"n","tools":[{"type":"function","name":"f","novel":1},{"type":"web_search"}]}]`: "" +
			"tools[].tools[].novel tools[].tools[].type",
		`"input":"a","tools":[{"type":"function","name":"f","defer_loading":true,"output_schema":{},"allowed_callers":["direct"],"async":true}]`: "",
		`"input":"a","truncation":"auto","max_tool_calls":3,"context_management":[{"type":"compaction"}],"access_programs":{"a":1},"novel":1`: "" +
			"truncation max_tool_calls context_management access_programs novel",
		`"input":"a","truncation":"disabled","store":true,"stream_options":{"include_obfuscation":true},"client_metadata":{"a":"b"},` +
			`"metadata":{"a":"b"},"include":["reasoning.encrypted_content"],"prompt_cache_key":"k","background":false,"novel":null`: "",
		`"input":"a","prompt_cache_options":{"mode":"explicit"}`:                                                    "prompt_cache_options",
		`"input":"a","prompt_cache_key":"k","prompt_cache_options":{"mode":"explicit"}`:                             "",
		`"input":"a","include":["web_search_call.action.sources"]`:                                                  "include",
		`"input":"a","text":{"verbosity":"low","format":{"type":"text"}},"reasoning":{"mode":"pro","effort":"low"}`: "text.verbosity reasoning.mode",
		`"input":"a","moderation":{"model":"omni","policy":{"input":{"mode":"score"}}}`:                             "moderation",
	} {
		_, req := said(t, members)
		if got := strings.Join(req.Source.Ignored(nil), " "); got != want {
			t.Errorf("%s:\n got %s\nwant %s", members, got, want)
		}
	}
}

func TestFieldsHaveTheClientsNames(t *testing.T) {
	_, req := said(t, `"input":[`+hello+`,{"role":"user","content":[{"type":"input_text","text":"a"}]},`+called+`,{"type":"function_call_output",`+
		`"call_id":"1","output":[{"type":"input_text","text":"b"}]},{"type":"additional_tools","tools":[{"type":"namespace","name":"n","tools":[`+
		`{"type":"function","name":"f"}]}]},{"type":"configuration_update","reasoning":{"effort":"low"}}],"tools":[{"type":"shell"}],`+
		`"reasoning":{"effort":"high"},"instructions":"i","top_logprobs":1`)
	c, _ := req.Source.Conversation()
	if at := c.Messages[0].Blocks[0].At; req.Source.Path(llm.FieldPart, at) != "instructions" {
		t.Errorf("%+v", at)
	}
	for want, got := range map[string]string{
		"input[0]":                          req.Source.Path(llm.FieldPart, c.Messages[1].Blocks[0].At),
		"input[1].content[0].image_url":     req.Source.Path(llm.FieldImageURL, c.Messages[1].Blocks[1].At),
		"input[2].type":                     req.Source.Path(llm.FieldCallType, c.Messages[2].Blocks[0].At),
		"input[3].call_id":                  req.Source.Path(llm.FieldResultID, c.Messages[3].Blocks[0].At),
		"input[3].output[0].file_data":      req.Source.Path(llm.FieldFileData, c.Messages[3].Blocks[0].Result.Content[0].At),
		"input[1]":                          req.Source.Path(llm.FieldMessage, llm.Item(1)),
		"tools[0].type":                     req.Source.Path(llm.FieldToolType, c.Tools[0].At),
		"input[4].tools[0].tools[0].strict": req.Source.Path(llm.FieldToolStrict, c.Tools[1].At),
		"tools[].parameters":                req.Path(llm.FieldToolParameters),
		"input[].content[].detail":          req.Path(llm.FieldImageDetail),
		"input[].result":                    req.Path(llm.FieldImageMade),
		"input[].reasoning.effort":          req.Path(llm.FieldThinking),
		"top_logprobs":                      req.Path(llm.FieldLogprobs),
		"text.format.schema":                req.Path(llm.FieldFormatSchema),
		"input":                             req.Path(llm.FieldMessages),
	} {
		if got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
	lost := req.Source.Ignored([]llm.Field{llm.FieldCache, llm.FieldToolStrict, llm.FieldMaxOutput, llm.FieldTopLogprobs})
	if !slices.Equal(lost, []string{"max_output_tokens", "top_logprobs"}) { // no tool was said to be strict
		t.Error(lost)
	}
	_, req = said(t, `"input":"a","tools":[{"type":"function","name":"f","strict":true}]`)
	if lost := req.Source.Ignored([]llm.Field{llm.FieldToolStrict}); !slices.Equal(lost, []string{"tools[].strict"}) {
		t.Error(lost)
	}
	_, req = said(t, `"input":"a","reasoning":{"summary":"auto"}`)
	if got := req.Path(llm.FieldThinking); got != "reasoning.summary" {
		t.Error(got)
	}
}

// The last item may only add to the instructions: the user's turn before it is what the model answers.
func TestInstructionsOfWhichNothingIsLeftMayEndAConversation(t *testing.T) {
	const input = `{"model":"m","input":[{"role":"user","content":"q"},{"role":"developer","content":[{"type":"new"}]}]}`
	c, err := decoded(t, input).Source.Conversation()
	if err != nil || len(c.Messages) != 1 || c.Messages[0].Blocks[0].Text != "q" {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestWhatNoOtherModelCanDoIsRefused(t *testing.T) {
	const ok = `"input":"a"`
	for members, want := range map[string]string{ // the code's first letter, and the path
		`"stream":false`:       "missing input",
		`"input":7`:            "invalid input",
		`"input":["a"]`:        "invalid input[0]",
		`"input":[{"id":"m"}]`: "unsupported input[0].id",
		`"input":[{"role":"critic","content":"a"}]`:                                           "invalid input[0].role",
		`"input":[{"role":"user"}]`:                                                           "missing input[0].content",
		`"input":[{"role":"user","content":7}]`:                                               "invalid input[0].content",
		`"input":[{"role":"user","content":["a"]}]`:                                           "invalid input[0].content[0]",
		`"input":[{"role":"user","content":[{"text":"a"}]}]`:                                  "missing input[0].content[0].type",
		`"input":[{"role":"user","content":[{"type":"input_image","file_id":"f"}]}]`:          "unsupported input[0].content[0].file_id",
		`"input":[{"role":"user","content":[{"type":"input_image"}]}]`:                        "missing input[0].content[0].image_url",
		`"input":[{"role":"user","content":[{"type":"input_file"}]}]`:                         "missing input[0].content[0].file_data",
		`"input":[{"role":"system","content":[{"type":"input_image","image_url":"u"}]}]`:      "invalid input[0].content[0].type",
		`"input":[` + hello + `,{"role":"user","content":[{"type":"new"}]}]`:                  "unsupported input[1].content[0].type",
		`"input":[` + called + `,{"type":"new_output","call_id":"1"},` + hello + `]`:          "unsupported input[1].type",
		`"input":[{"type":"mcp_approval_response"},` + hello + `]`:                            "unsupported input[0].type",
		`"input":[` + hello + `,{"type":"computer_call_output"}]`:                             "unsupported input[1].type",
		`"input":[` + hello + `,{"type":"program_output"},` + hello + `]`:                     "unsupported input[1].type",
		`"input":[{"type":"new_output"},` + hello + `,{"role":"assistant","content":"a"}]`:    "unsupported input[0].type",
		`"input":[{"type":"compaction","encrypted_content":"gAAAA"},` + hello + `]`:           "unsupported input[0].encrypted_content",
		`"input":[{"type":"compaction_trigger"},` + hello + `]`:                               "invalid input[0].type",
		`"input":[` + hello + `,{"type":"compaction_trigger"},{"type":"compaction_trigger"}]`: "invalid input[1].type",
		`"input":[` + called + `,` + answered + `,` + answered + `]`:                          "invalid input[2].call_id",
		`"input":[` + called + `,{"type":"compaction_trigger"}]`:                              "invalid input",
		`"input":[{"type":"function_call","call_id":"1","arguments":"{}"}]`:                   "missing input[0].name",
		`"input":[{"type":"function_call","name":"f","arguments":"{}"}]`:                      "missing input[0].call_id",
		`"input":[{"type":"function_call","name":"f","call_id":"1","arguments":{}}]`:          "invalid input[0].arguments",
		`"input":[{"type":"custom_tool_call","name":"f","call_id":"1","input":{}}]`:           "invalid input[0].input",
		`"input":[{"type":"shell_call","call_id":"1","action":"ls"}]`:                         "invalid input[0].action",
		`"input":[` + called + `,{"type":"function_call_output","call_id":"1","output":{}}]`:  "invalid input[1].output",
		`"input":[` + called + `,{"type":"function_call_output","call_id":"1","output":[{"type":"input_file","file_id":"f"}]}]`: "" +
			"unsupported input[1].output[0].file_id",
		ok + `,"instructions":[]`: "invalid instructions",
		ok + `,"moderation":{"model":"m","policy":{"output":{"mode":"block"}}}`: "unsupported moderation.policy.output",
		ok + `,"prompt_cache_options":{"prewarm":true}`:                         "unsupported prompt_cache_options.prewarm",
		ok + `,"max_output_tokens":15`:                                          "invalid max_output_tokens",
		ok + `,"temperature":2.1`:                                               "invalid temperature",
		ok + `,"top_p":"1"`:                                                     "invalid top_p",
		ok + `,"top_logprobs":21`:                                               "invalid top_logprobs",
		ok + `,"parallel_tool_calls":1`:                                         "invalid parallel_tool_calls",
		ok + `,"include":"a"`:                                                   "invalid include",
		ok + `,"metadata":[]`:                                                   "invalid metadata",
		ok + `,"metadata":{"a":1}`:                                              "invalid metadata",
		ok + `,"reasoning":"low"`:                                               "invalid reasoning",
		ok + `,"reasoning":{"effort":"extreme"}`:                                "invalid reasoning.effort",
		ok + `,"reasoning":{"effort":7}`:                                        "invalid reasoning.effort",
		ok + `,"text":"a"`:                                                      "invalid text",
		ok + `,"text":{"format":{"type":"xml"}}`:                                "invalid text.format.type",
		ok + `,"text":{"format":{"type":"json_schema","name":"a"}}`:             "missing text.format.schema",
		ok + `,"text":{"format":{"type":"json_schema","name":"a","schema":[]}}`: "invalid text.format.schema",
		ok + `,"text":{"format":{"type":"json_schema","schema":{}}}`:            "missing text.format.name",
	} {
		_, err := decoded(t, `{"model":"m",`+members+`}`).Source.Conversation()
		e := api.AsError(err)
		if err == nil || strings.SplitN(e.Code, "_", 2)[0]+" "+e.Param != want || e.Status != 400 || e.Message == "" {
			t.Errorf("%s: %+v, not %s", members, e, want)
		}
	}
}

func TestAFormatInTheCommonForm(t *testing.T) {
	const schema = `{"type":"object","properties":{"z":{},"a":{}}}`
	for text, want := range map[string]string{
		`{"format":{"type":"text"}}`: "<nil>", `{}`: "<nil>", `{"format":{"type":"json_object"}}`: " \"\" <nil> null",
		`{"format":{"type":"json_schema","name":"n","description":"d","schema":` + schema + `}}`:                        `n "d" <nil> ` + schema,
		`{"format":{"type":"json_schema","name":"n","strict":true,"schema":` + schema + `}},"input":"a"`:                `n "" true ` + schema,
		`{"format":{"type":"text"}},"input":[{"type":"configuration_update","text":{"format":{"type":"json_object"}}}]`: " \"\" <nil> null",
	} {
		if !strings.Contains(text, `"input"`) {
			text += `,"input":"a"`
		}
		c, err := decoded(t, `{"model":"m","text":`+text+`}`).Source.Conversation()
		if err != nil {
			t.Fatal(err)
		}
		got := "<nil>"
		if f := c.Format; f != nil {
			got = fmt.Sprintf("%s %q %v %s", f.Name, f.Description, dialecttest.Value(f.Strict), f.Schema)
		}
		if got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func TestASummaryIsAskedForWithoutTools(t *testing.T) {
	const tools = `"tools":[{"type":"function","name":"f"},{"type":"web_search"}],"tool_choice":"required","text":{"format":{"type":"json_object"}}`
	body := `{"model":"m",` + tools + `,"input":[` + hello + `,` + called + `,` + answered
	compact, err := DecodeCompaction(nil, []byte(body+`]}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, req := range map[string]*llm.Request{"trigger": decoded(t, body+`,{"type":"compaction_trigger"}]}`), "compact": compact} {
		c, err := req.Source.Conversation()
		if err != nil {
			t.Fatal(err)
		}
		last := c.Messages[len(c.Messages)-1]
		if len(c.Tools) > 0 || c.Choice != nil || c.Format != nil || last.Role != llm.RoleUser ||
			last.Blocks[len(last.Blocks)-1].Text != handOver || !req.Source.(*Request).summary {
			t.Errorf("%s: %+v", name, c)
		}
	}
	got, req := said(t, `"input":[{"type":"compaction","id":"cmp_1","encrypted_content":"`+sealSummary("the summary")+`"},`+hello+`]`)
	if !strings.HasPrefix(got, "U(The conversation up to here") || !strings.HasSuffix(got, "the summary)(q)") || req.Source.(*Request).summary {
		t.Error(got)
	}
}
