package responses_test

import (
	"regexp"
	"strings"
	"testing"

	"modelgateway/llm"
)

var madeAnew = regexp.MustCompile(`(resp|msg|rs|fc)_[A-Z2-7]{26}|"completed_at":\d+`)

func TestStreamIsWrittenInTheOrderOfTheAPI(t *testing.T) {
	stream := answers(func(e *llm.Emitter) {
		e.Thought(0, "The user", nil)
		e.Thought(0, " asks", nil)
		e.Text(0, "Hel")
		e.Text(0, "lo")
		at, _ := e.Call(0, &llm.CallStart{ID: "call_1", Name: "Read"})
		e.Input(0, at, `{"file_path":`)
		e.Input(0, at, `"/a"}`)
		finish(e, llm.FinishToolCalls)
	})
	const head, tail = `"object":"response","created_at":1700000000,`,
		`],"store":false,"previous_response_id":null,"instructions":null,"max_output_tokens":null,"max_tool_calls":null,"parallel_tool_calls":true,` +
			`"prompt_cache_key":null,"prompt_cache_retention":null,"reasoning":{"effort":null,"summary":null},` +
			`"safety_identifier":null,"temperature":1.0,"text":{"format":{"type":"text"},"verbosity":"medium"},"tool_choice":"auto",` +
			`"tools":[],"top_logprobs":0,"top_p":1.0,"truncation":"disabled","user":null,"metadata":{},"service_tier":"default","usage":`
	const begun = `"response":{"id":"resp",` + head + `"status":"in_progress","background":false,"completed_at":null,"error":null,` +
		`"incomplete_details":null,"model":"m","output":[` + tail + `null}`
	const thought = `{"id":"rs_0","type":"reasoning","summary":[{"type":"summary_text","text":"The user asks"}],"encrypted_content":null}`
	const part = `{"type":"output_text","annotations":[],"logprobs":[],"text":"Hello"}`
	const message = `{"id":"msg_1","type":"message","status":"completed","content":[` + part + `],"role":"assistant"}`
	const call = `{"id":"fc_2","type":"function_call","status":"completed","arguments":"{\"file_path\":\"/a\"}","call_id":"call_1","name":"Read"}`
	const response = `{"id":"resp",` + head + `"status":"completed","background":false,"completed_at","error":null,` +
		`"incomplete_details":null,"model":"m","output":[` + thought + `,` + message + `,` + call + tail +
		`{"input_tokens":42,"input_tokens_details":{"cached_tokens":30,"cache_write_tokens":2},"output_tokens":9,` +
		`"output_tokens_details":{"reasoning_tokens":4},"total_tokens":51}}`
	want := strings.Join([]string{
		`response.created ` + begun,
		`response.in_progress ` + begun,
		`response.output_item.added "output_index":0,"item":{"id":"rs_0","type":"reasoning","summary":[],"encrypted_content":null}`,
		`response.reasoning_summary_part.added "item_id":"rs_0","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}`,
		`response.reasoning_summary_text.delta "item_id":"rs_0","output_index":0,"summary_index":0,"delta":"The user"`,
		`response.reasoning_summary_text.delta "item_id":"rs_0","output_index":0,"summary_index":0,"delta":" asks"`,
		`response.reasoning_summary_text.done "item_id":"rs_0","output_index":0,"summary_index":0,"text":"The user asks"`,
		`response.reasoning_summary_part.done "item_id":"rs_0","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":"The user asks"}`,
		`response.output_item.done "output_index":0,"item":` + thought,
		`response.output_item.added "output_index":1,"item":{"id":"msg_1","type":"message","status":"in_progress","content":[],"role":"assistant"}`,
		`response.content_part.added "item_id":"msg_1","output_index":1,"content_index":0,` +
			`"part":{"type":"output_text","annotations":[],"logprobs":[],"text":""}`,
		`response.output_text.delta "item_id":"msg_1","output_index":1,"content_index":0,"delta":"Hel","logprobs":[]`,
		`response.output_text.delta "item_id":"msg_1","output_index":1,"content_index":0,"delta":"lo","logprobs":[]`,
		`response.output_text.done "item_id":"msg_1","output_index":1,"content_index":0,"text":"Hello","logprobs":[]`,
		`response.content_part.done "item_id":"msg_1","output_index":1,"content_index":0,"part":` + part,
		`response.output_item.done "output_index":1,"item":` + message,
		`response.output_item.added "output_index":2,"item":{"id":"fc_2","type":"function_call","status":"in_progress","arguments":"",` +
			`"call_id":"call_1","name":"Read"}`,
		`response.function_call_arguments.delta "item_id":"fc_2","output_index":2,"delta":"{\"file_path\":"`,
		`response.function_call_arguments.delta "item_id":"fc_2","output_index":2,"delta":"\"/a\"}"`,
		`response.function_call_arguments.done "item_id":"fc_2","output_index":2,"arguments":"{\"file_path\":\"/a\"}","name":"Read"`,
		`response.output_item.done "output_index":2,"item":` + call,
		`response.completed "response":` + response,
	}, "\n")
	plain := func(text string) string {
		return madeAnew.ReplaceAllStringFunc(text, func(found string) string {
			name, _, _ := strings.Cut(found, "_")
			if strings.HasPrefix(found, `"completed_at"`) {
				return `"completed_at"`
			}
			return name
		})
	}
	text := dialect.Written(t, anyRequest(), stream)
	if _, err := check(text); err != nil {
		t.Errorf("%v", err)
	}
	var got []string
	for event := range strings.SplitSeq(strings.TrimSuffix(plain(text), "\n\n"), "\n\n") {
		name, data, _ := strings.Cut(strings.TrimPrefix(event, "event: "), "\ndata: ")
		data = strings.TrimPrefix(data, `{"type":"`+name+`",`)
		got = append(got, name+" "+data[:strings.LastIndex(data, `,"sequence_number":`)])
	}
	if one := strings.Join(got, "\n"); one != want {
		t.Errorf("got\n%s\nwant\n%s", one, want)
	}
	if got := plain(dialect.Collected(t, anyRequest(), stream).raw); got != response {
		t.Errorf("got\n%s\nwant\n%s", got, response)
	}
}
