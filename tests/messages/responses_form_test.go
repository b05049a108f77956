package messages

import (
	"strings"
	"testing"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

// byResponses is what OpenAI is sent of the rows by its Responses API: members of the body,
// JSON by its place. "" as the only place is a row that is refused.
func byResponses() map[string]wanted {
	sent := func(ignored string, pairs ...string) wanted {
		w := wanted{gpt5, map[string]string{"store": "false", "include": `["reasoning.encrypted_content"]`}, ignored}
		for i := 0; i < len(pairs); i += 2 {
			w.body[pairs[i]] = pairs[i+1]
		}
		return w
	}
	const image = `{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,` + pngData + `"}`
	const file = `{"type":"input_file","filename":"paper.pdf","file_data":"data:application/pdf;base64,` + pdfData + `"}`
	const turnA = `{"role":"assistant","content":[{"type":"output_text","text":"a"}]}`
	const schema = `{"type":"object","properties":{"title":{"type":"string"}},"required":["title"],"additionalProperties":false}`
	return map[string]wanted{
		"smallest":                      sent("", "model", `"gpt-5.1"`, "input", `[{"role":"user","content":"hi"}]`, "max_output_tokens", "100", "stop", "", "reasoning", ""),
		"max_tokens beyond the model's": sent("max_tokens", "max_output_tokens", "128000"),
		"limit of a reasoning model":    sent("", "max_output_tokens", "100", "max_tokens", ""),
		"system as a text":              sent("", "instructions", `"be brief"`, "input", `[{"role":"user","content":"hi"}]`),
		"system as blocks with marks": sent("", "instructions", "", "input.0", `{"role":"developer","content":[{"type":"input_text","text":"a"},`+
			`{"type":"input_text","text":"b"}]}`),
		"sampling":                sent("top_k", "temperature", "0.5", "top_p", "0.25", "top_k", ""),
		"stop sequences":          sent("", "stop", ""),
		"too many stop sequences": sent("", "stop", ""),
		"tools": sent("", "tools.0", `{"type":"function","name":"look","description":"d","parameters":`+parameters+`,"strict":false}`,
			"tools.1", `{"type":"function","name":"none","parameters":{"type":"object"},"strict":false}`, "tool_choice", ""),
		"a long name of a tool": sent("", "tool_choice", `"auto"`),
		"any tool":              sent("", "tool_choice", `"required"`, "parallel_tool_calls", ""),
		"one tool, once":        sent("", "tool_choice", `{"type":"function","name":"look"}`, "parallel_tool_calls", "false"),
		"no tool":               sent("", "tool_choice", `"none"`),
		"thinking by budget":    sent("", "reasoning", `{"effort":"medium","summary":"auto"}`),
		"thinking by budget of a model with levels": sent("", "reasoning", `{"effort":"high","summary":"auto"}`),
		"adaptive thinking with an effort":          sent("", "reasoning", `{"effort":"medium","summary":"auto"}`),
		"adaptive thinking that is not shown":       sent("", "reasoning", `{"effort":"low"}`),
		"adaptive thinking alone":                   sent("", "reasoning", `{"summary":"auto"}`),
		"thinking disabled":                         sent("", "reasoning", `{"effort":"none"}`),
		"effort without thinking":                   sent("", "reasoning", `{"effort":"high"}`),
		"format":                                    sent("", "text.format", `{"type":"json_schema","name":"output","strict":true,"schema":`+schema+`}`),
		"format of the beta":                        sent("", "text.format.name", `"output"`),
		"the end user":                              sent("", "safety_identifier", hashed, "prompt_cache_key", hashed, "metadata", "", "user", ""),

		"texts and empty ones":   sent("", "input", `[{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]}]`),
		"turn without blocks":    sent("", "input", `[{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]}]`),
		"picture":                sent("", "input.0.content", `[`+image+`]`),
		"picture by its address": sent("", "input.0.content.0", `{"type":"input_image","detail":"auto","image_url":"https://example.com/a.png"}`),
		"PDF":                    sent("", "input.0.content.0", file),
		"document as a text":     sent("", "input.0.content.0.text", `"<document title=\"T\" context=\"c\">\nplain\n</document>"`),
		"document that shall be cited": sent("messages[].content[].citations", "input.0.content.0.text",
			`"<document>\nplain\n</document>"`),
		"search result": sent("", "input.0.content.0.text", found),
		"calls and results": sent("", "input.1", `{"role":"assistant","content":[{"type":"output_text","text":"I look."}]}`,
			"input.2", `{"type":"function_call","call_id":"toolu_1","name":"look","arguments":"{\"z\":\"toolu_1\"}"}`,
			"input.4", `{"type":"function_call_output","call_id":"toolu_1","output":"one"}`,
			"input.5", `{"type":"function_call_output","call_id":"toolu_2","output":"Error: two"}`,
			"input.6", `{"role":"user","content":"go on"}`),
		"call without arguments and result without content": sent("", "input.1.arguments", `"{}"`, "input.2.output", `""`),
		"reference to a tool":                               sent("", "input.2.type", `"function_call_output"`),
		"instructions in the middle":                        sent("", "input.2", `{"role":"developer","content":"now"}`, "input.3", `{"role":"user","content":"r"}`),
		"instructions between a call and its result": sent("", "input.2.type", `"function_call_output"`, "input.3",
			`{"role":"developer","content":"now"}`),
		"document of texts and pictures": sent("", "input.0.content", `[{"type":"input_text","text":"<document title=\"T\">"},`+
			`{"type":"input_text","text":"one"},`+image+`,{"type":"input_text","text":"</document>"},{"type":"input_text","text":"q"}]`),
		"PDF by its address": sent("", "input.0.content.0", `{"type":"input_file","file_url":"https://example.com/paper"}`),
		"what a search at Anthropic found": sent("messages[].content[].type", "input.1.content",
			`[{"type":"output_text","text":"Title\nhttps://example.com"},{"type":"output_text","text":"a"}]`),
		"summary of what came before": sent("", "input.0.content.1.text", `"so far"`, "input.1", ""),
		"unknown block beside others": sent("messages[].content[].type", "input", `[{"role":"user","content":"q"}]`),
		"tools that Claude knows": sent("", "tools.0.name", `"bash"`, "tools.1.parameters.required", `["command","path"]`,
			"tools.2.strict", "false"),
		"thoughts of Claude's":        sent("", "input.1", turnA),
		"thought without a signature": sent("", "input.1", turnA),
	}
}

// TestEachFieldAndBlockReachesOpenAIByItsResponsesAPI sends the rows that chat completions
// are sent as well.
func TestEachFieldAndBlockReachesOpenAIByItsResponsesAPI(t *testing.T) {
	t.Parallel()
	p, r := startRecorded(t)
	want := byResponses()
	for _, tt := range append(requestRows(), blockRows()...) {
		t.Run(tt.name, func(t *testing.T) {
			w, ok := want[tt.name]
			if delete(want, tt.name); !ok {
				t.Fatal("nothing is wanted of the Responses API")
			}
			sentWanted(t, p, r, tt.members, w)
		})
	}
	if len(want) > 0 {
		t.Errorf("no such rows: %v", want)
	}
}

// Pictures and files stay inside the result of a tool, in the order of the results.
func TestPictureInTheResultOfAToolStaysThereByTheResponsesAPI(t *testing.T) {
	t.Parallel()
	p, r := startRecorded(t)
	members := said(user(text("q")), assistant(use("t1"), use("t2")), user(result("t1", `,"content":[`+text("a picture")+`,`+picture+`]`),
		result("t2", `,"content":[`+pdf+`]`), text("and now?"))) + tools
	sentWanted(t, p, r, members, wanted{gpt5, map[string]string{
		"input.3.output": `[{"type":"input_text","text":"a picture"},{"type":"input_image","detail":"auto",` +
			`"image_url":"data:image/png;base64,` + pngData + `"}]`,
		"input.4.output": `[{"type":"input_file","filename":"paper.pdf","file_data":"data:application/pdf;base64,` + pdfData + `"}]`,
		"input.5":        `{"role":"user","content":"and now?"}`,
	}, ""})
}

// responsesEnding is an answer of the Responses API: its items, and how it ends.
type responsesEnding struct{ name, items, ended, blocks, reason string }

func responsesAnswer(e responsesEnding, streamed bool) providertest.Script {
	status := `"completed"`
	if e.ended != "" {
		status = `"incomplete","incomplete_details":{"reason":"` + e.ended + `"}`
	}
	whole := `{"id":"resp_1","object":"response","created_at":5,"model":"gpt-5.1","status":` + status + `,"output":[` + strings.ReplaceAll(e.items, "\n,", ",") +
		`],"usage":{"input_tokens":30,"input_tokens_details":{"cached_tokens":20},"output_tokens":9,"output_tokens_details":` +
		`{"reasoning_tokens":4},"total_tokens":39}}`
	if !streamed {
		return gatewaytest.JSON(200, whole)
	}
	kind := map[bool]string{true: "completed", false: "incomplete"}[e.ended == ""]
	events := []string{"event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"resp_1\",\"model\":\"gpt-5.1\",\"created_at\":5}}\n\n"}
	for i, item := range strings.Split(strings.Trim(e.items, "\n"), "\n,") {
		if item != "" {
			events = append(events, "data: {\"type\":\"response.output_item.done\",\"output_index\":"+string(rune('0'+2*i))+",\"item\":"+item+"}\n\n")
		}
	}
	return gatewaytest.Events(providertest.Proper, append(events, "data: {\"type\":\"response."+kind+"\",\"response\":"+whole+"}\n\n")...)
}

// TestAnswersOfTheResponsesAPIEndAsClaudesDo has a case for each way an answer ends.
func TestAnswersOfTheResponsesAPIEndAsClaudesDo(t *testing.T) {
	t.Parallel()
	u := providertest.Serve(t)
	p := gatewaytest.Start(t, "OPENAI_API_KEY=sk-o", "OPENAI_BASE_URL="+u.URL, "MAX_RETRIES=0")
	const message = `{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"hello ENDED","annotations":[]}]}`
	const calling = `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"look","arguments":"{\"z\":\"1\"}"}`
	for _, tt := range []responsesEnding{
		{"text", message, "", "text", "end_turn"},
		{"call", calling, "", "tool_use", "tool_use"},
		{"text and call", message + "\n," + calling, "", "text tool_use", "tool_use"},
		{"length", message, "max_output_tokens", "text", "max_tokens"},
		{"filter", message, "content_filter", "text", "refusal"},
		{"nothing", "", "", "", "end_turn"},
	} {
		each(t, func(t *testing.T, streamed bool) {
			u.Play(responsesAnswer(tt, streamed))
			x := call(t, p, `{"model":"`+gpt5+`",`+hi+tools+`}`, streamed)
			if x.err != nil {
				t.Fatalf("%s: %v", tt.name, x.err)
			}
			var types []string
			for _, b := range x.message.Content {
				types = append(types, b.Type)
			}
			if got := strings.Join(types, " "); got != tt.blocks || string(x.message.StopReason) != tt.reason {
				t.Errorf("%s: %q, stopped by %s, want %q, %s", tt.name, got, x.message.StopReason, tt.blocks, tt.reason)
			}
			if s := x.message.Usage; s.InputTokens != 10 || s.CacheReadInputTokens != 20 || s.OutputTokens != 9 {
				t.Errorf("%s: usage %s", tt.name, s.RawJSON())
			}
		})
	}
	each(t, func(t *testing.T, streamed bool) {
		u.Play(responsesAnswer(responsesEnding{items: message}, streamed))
		x := call(t, p, `{"model":"`+gpt5+`",`+hi+`,"stop_sequences":["END","never"]}`, streamed)
		if x.err != nil || x.message.StopReason != "stop_sequence" || x.message.StopSequence != "END" || x.message.Content[0].Text != "hello " {
			t.Errorf("cut: %v, %+v", x.err, x.message)
		}
	})
}

// What OpenAI counts is exact, also before an answer.
func TestTokensOfOpenAIAreCountedByTheResponsesAPI(t *testing.T) {
	t.Parallel()
	p, r := startRecorded(t)
	for model, want := range map[string]string{gpt5: "exact", gpt4: "estimate"} {
		a := p.Call(t, "POST", countPath, `{"model":"`+model+`","system":"Be brief.","thinking":{"type":"adaptive"},`+question+tools+`}`)
		if n, how := counted(t, a); how != want || n < 10 || n > 200 {
			t.Errorf("%s: %d %s", model, n, how)
		}
		if sent := r.take(); want == "exact" && (len(sent) != 1 || sent[0].path != "/v1/responses/input_tokens" ||
			at(t, sent[0].body, "store")+at(t, sent[0].body, "include")+at(t, sent[0].body, "max_output_tokens") != "") {
			t.Errorf("%s: %v", model, sent)
		}
	}
}
