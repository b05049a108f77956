package responses

import (
	"bytes"
	"strings"
	"testing"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/config"
	"modelgateway/llm"
	"modelgateway/llm/roundtrip"
	"modelgateway/providers/openai/openaitest"
	"modelgateway/providers/providertest"
)

// sentNatively is what the upstream is sent for a body.
func sentNatively(t testing.TB, body string, change ...func(*llm.Request)) string {
	t.Helper()
	return string(bytes.Join(nativeOf(t, body, change...).body, nil))
}

func TestOnlyTheModelOfABodyIsReplaced(t *testing.T) {
	for _, body := range []string{
		`{"model":"m","input":"hi"}`,
		"{ \"input\" :[{\"role\":\"user\",\"content\":\"\\u00e9 \\\"model\\\":\\\"m\\\"\"}] ,\n\"model\" : \"m\" , \"new\":{\"model\":\"m\"},\"n\":1.50e3}\n",
		`{"model":"m","previous_response_id":null,"tools":[{"type":"new_tool","model":"m"}],"input":[]}`,
		`{"mod\u0065l":"m","input":"mgw1. __mgw1_"}`,
	} {
		at := strings.Index(body, `"m"`)
		if want := body[:at] + `"gpt-up"` + body[at+3:]; sentNatively(t, body) != want {
			t.Errorf("%s\nwant %s", sentNatively(t, body), want)
		}
	}
	if body := `{"model":"gpt-up","input":"hi"}`; len(nativeOf(t, body).body) != 1 || sentNatively(t, body) != body {
		t.Error("a body with the upstream's model is not sent as it is")
	}
}

func TestARequestGoesOnFromTheUpstreamsOwnResponse(t *testing.T) {
	kept := func(r *llm.Request) { r.Kept = &llm.Kept{Provider: catalog.OpenAI, ID: "resp_up"} }
	const body = `{"previous_response_id" : "resp_up_mgw_x","input":"hi","model":"m"}`
	if got := sentNatively(t, body, kept); got != `{"previous_response_id" : "resp_up","input":"hi","model":"gpt-up"}` {
		t.Error(got)
	}
	for _, id := range []string{`"resp_up"`, `""`, `7`, `{"id":"resp_up"}`} {
		for _, name := range []string{`previous_response_id`, `previous\u005fresponse_id`} {
			_, err := apiAt("http://127.0.0.1:1").native(responsesCall(`{"model":"m","`+name+`":`+id+`}`), createPath)
			if e := api.AsError(err); err == nil || e.Status != 400 || e.Code != "previous_response_not_found" || e.Param != "previous_response_id" {
				t.Errorf("%s: %v", id, err)
			}
		}
	}
}

func TestCallIDsOfResponsesThatCarrySomethingAreUnpacked(t *testing.T) {
	packed := roundtrip.Pack("call_7", &llm.Thought{Kind: llm.ThoughtEncrypted, Data: "c2VjcmV0", Format: llm.FormatGemini})
	talk := func(id string) string {
		return `{"model":"gpt-up","input":[{"type":"function_call","call_id":"` + id + `","name":"f","arguments":"{}"},` +
			`{"type":"function_call_output", "call_id" : "` + id + `","output":"` + packed + `"},{"type":"custom_tool_call","call_id":"` + id +
			`","id":"` + packed + `"},{"call_id":7},"x",{"type":"custom_tool_call_output","call_id":"plain"}]}`
	}
	if got := sentNatively(t, talk(packed)); packed == "call_7" || got != talk("call_7") {
		t.Errorf("%s\nwant\n%s", got, talk("call_7"))
	}
}

// Case 12, to OpenAI.
func TestThoughtsThatOpenAICannotReadAreLeftOut(t *testing.T) {
	seal := func(t llm.Thought) string { return roundtrip.SealWhole(&t) }
	claude := seal(llm.Thought{Format: llm.FormatAnthropic, Text: "hm", Signature: "EqQB=="})
	gemini := seal(llm.Thought{Format: llm.FormatGemini, Kind: llm.ThoughtEncrypted, Data: "abc"})
	own := seal(llm.Thought{Format: llm.FormatOpenAI, Kind: llm.ThoughtEncrypted, Data: "gAAAAB==", ItemID: "rs_up"})
	think := func(encrypted string) string {
		return `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"so"}],"encrypted_content":"` + encrypted + `"}`
	}
	const text, call = `{"role":"assistant","content":"mgw1. is no seal"}`, `{"type":"function_call","call_id":"c","name":"f","arguments":"mgw1.x"}`
	for _, tt := range []struct{ name, input, want string }{
		{"the first", think(claude) + " , " + text, text},
		{"the last", text + " ,\n" + think(gemini), text},
		{"between", text + "," + think(gemini) + " , " + call, text + " , " + call},
		{"several", think(claude) + "," + think(gemini) + "," + text + "," + think(claude) + "," + call, text + "," + call},
		{"one that cannot be read", think("mgw1.???") + "," + text, text},
		{"escaped", think(`\u006d`+claude[1:]) + "," + text, text},
		{"OpenAI's own", think("gAAAAB==") + "," + text, think("gAAAAB==") + "," + text},
		{"OpenAI's through another dialect", think(own) + "," + text, strings.Replace(think("gAAAAB=="), "rs_1", "rs_up", 1) + "," + text},
		{"the id behind it", `{"encrypted_content":"` + own + `","type":"reasoning", "id":"rs_1"}`, `{"encrypted_content":"gAAAAB==","type":"reasoning", "id":"rs_up"}`},
		{"without an id", `{"type":"reasoning","encrypted_content":"` + own + `"}`, `{"type":"reasoning","encrypted_content":"gAAAAB=="}`},
		{"only in texts", text + "," + call, text + "," + call},
		{"a summary of ours", `{"type":"compaction","id":"cmp_1","encrypted_content":"` + seal(llm.Thought{Format: llm.FormatAnthropic, Text: "all \"that\""}) + `"},` + text,
			`{"type":"message","role":"user","content":[{"type":"input_text","text":"all \"that\""}]},` + text},
		{"a summary of OpenAI's", `{"type":"compaction","encrypted_content":"gAAAAB=="},` + text, `{"type":"compaction","encrypted_content":"gAAAAB=="},` + text},
		{"a summary after a thought", think(claude) + `,{"type":"compaction","encrypted_content":"` + seal(llm.Thought{Text: "x"}) + `"}`,
			`{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}`},
	} {
		talk := func(input string) string {
			return `{"instructions":"mgw1.","input": [ ` + input + ` ] ,"model":"gpt-up", "x":"mgw1." }`
		}
		if got := sentNatively(t, talk(tt.input)); got != talk(tt.want) {
			t.Errorf("%s: %s\nwant %s", tt.name, got, talk(tt.want))
		}
	}
}

func TestObjectsOfTheAccountAreRefusedOfResponses(t *testing.T) {
	item := func(i string) string { return `{"model":"m","input":[{"role":"user","content":"hi"},` + i + `]}` }
	tool := func(t string) string { return `{"model":"m","tools":[{"type":"function","name":"f"},` + t + `]}` }
	file := `{"type":"input_image","file_id":"file_1"}`
	for _, tt := range []struct{ name, body, path string }{
		{"an image", item(`{"role":"user","content":[{"type":"input_text","text":"hi"},` + file + `]}`), "input[1].content[1].file_id"},
		{"an escaped name", item(`{"role":"user","content":[` + strings.Replace(file, "file_id", `file\u005fid`, 1) + `]}`), "input[1].content[0].file_id"},
		{"of a result", item(`{"type":"function_call_output","call_id":"c","output":[` + file + `]}`), "input[1].output[0].file_id"},
		{"of a screenshot", item(`{"type":"computer_call_output","output":` + file + `}`), "input[1].output.file_id"},
		{"of a tool that comes later", item(`{"type":"additional_tools","tools":[{"type":"file_search","vector_store_ids":["v"]}]}`),
			"input[1].tools[0].vector_store_ids"},
		{"a vector store", tool(`{"type":"file_search","vector_store_ids":["vs_1"]}`), "tools[1].vector_store_ids"},
		{"a mask", tool(`{"type":"image_generation","input_image_mask":{"file_id":"f"}}`), "tools[1].input_image_mask.file_id"},
		{"files of a container", tool(`{"type":"code_interpreter","container":{"type":"auto","file_ids":["f"]}}`), "tools[1].container.file_ids[0]"},
		{"a skill", tool(`{"type":"shell","environment":{"type":"container_auto","skills":[{"type":"skill_reference","skill_id":"skill_1"}]}}`),
			"tools[1].environment.skills[0].skill_id"},
		{"a conversation", `{"conversation":"conv_1"}`, "conversation"},
		{"a prompt", `{"prompt":{"id":"pmpt_1"}}`, "prompt"},

		{"no conversation", `{"conversation":null,"prompt":null,"background":false}`, ""},
		{"a skill of OpenAI", tool(`{"type":"shell","environment":{"skills":[{"skill_id":"openai-spreadsheets"},{"type":"inline"}]}}`), ""},
		{"a container of its own", tool(`{"type":"code_interpreter","container":{"type":"auto","file_ids":[]}}`), ""},
		{"what a function takes", tool(`{"type":"function","parameters":{"properties":{"file_id":{},"container":{"file_ids":["a"]}}}}`), ""},
		{"a citation", item(`{"type":"message","content":[{"type":"output_text","annotations":[{"type":"file_citation","file_id":"f"}]}]}`), ""},
		{"what a hosted tool has found", item(`{"type":"file_search_call","results":[{"file_id":"f"}]}`), ""},
		{"a text", item(`{"role":"user","content":"{\"file_id\":1}"}`), ""},
	} {
		path := func(policy string) string {
			p := apiAt("http://127.0.0.1:1")
			p.objects = policy
			if _, err := p.native(responsesCall(tt.body), createPath); err != nil {
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
	}
}

func TestObjectsOfAnswersAreRefusedOnlyWhereNoneAreAllowed(t *testing.T) {
	for body, path := range map[string]string{
		`{"tools":[{"type":"code_interpreter","container":"cntr_1"}]}`:                                         "tools[0].container",
		`{"tools":[{"type":"shell","environment":{"type":"container_reference","container_id":"cntr_1"}}]}`:    "tools[0].environment.container_id",
		`{"input":[{"type":"item_reference","id":"msg_1"}]}`:                                                   "input[0]",
		`{"input":[{"type":"shell_call","environment":{"type":"container_reference","container_id":"cntr"}}]}`: "input[0].environment.container_id",
	} {
		for policy, want := range map[string]string{
			config.ObjectsOwn: "", config.ObjectsAllow: "", config.ObjectsNone: path,
		} {
			p := apiAt("http://127.0.0.1:1")
			p.objects = policy
			got := ""
			if _, err := p.native(responsesCall(body), createPath); err != nil {
				e := api.AsError(err)
				if got = e.Param; e.Status != 400 || e.Code != api.CodeUnsupportedValue || !strings.Contains(e.Message, "PROVIDER_OBJECTS") {
					t.Errorf("%v", err)
				}
			}
			if got != want {
				t.Errorf("%s: %q with %s, not %q", body, got, policy, want)
			}
		}
	}
}

// Each endpoint is called by its own path, with what travels beside the body.
func TestARequestOfResponsesIsSentToItsPath(t *testing.T) {
	for _, endpoint := range []string{createPath, createPath + "/compact"} {
		up := providertest.Serve(t, jsonScript(200, wholeResponse))
		call := responsesCall(`{"model":"m","input":"hi"}`, func(r *llm.Request) {
			r.Source = source{endpoint}
			r.Beside = llm.Beside{Query: "beta=true", Headers: []llm.Header{{Name: "Session_id", Value: "s"}, {Name: "Openai-Beta", Value: "x"}}}
		})
		x, err := apiAt(up.URL).Prepare(call)
		if err != nil {
			t.Fatal(err)
		}
		stream, err := x.Open(t.Context(), openaitest.Key)
		if err != nil {
			t.Fatal(err)
		}
		if answer, err := llm.Collect(stream); err != nil || answer.RawDialect != llm.Responses {
			t.Errorf("%+v, %v", answer, err)
		}
		sent := up.Requests()[0]
		if sent.Path != endpoint+"?beta=true" || sent.Header.Get("Session_id") != "s" || sent.Header.Get("Openai-Beta") != "x" ||
			string(sent.Body) != `{"model":"gpt-up","input":"hi"}` || sent.Header.Get("Authorization") != "Bearer "+openaitest.Key {
			t.Errorf("%s %v %s", sent.Path, sent.Header, sent.Body)
		}
		if len(x.Properties().Ignored) > 0 {
			t.Errorf("%v", x.Properties().Ignored)
		}
	}
}

// jsonScript is a whole answer.
func jsonScript(status int, body string) providertest.Script {
	return providertest.Script{Status: status, Header: map[string][]string{"Content-Type": {"application/json"}}, Pieces: [][]byte{[]byte(body)}}
}
