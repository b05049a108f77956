package responses

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/openai/openaitest"
	"modelgateway/providers/openai/wire"
)

// Events of a stream, without the lines of their names: these need not be there.
const (
	begun     = `{"type":"response.created","response":{"id":"resp_1","model":"m","created_at":5,"status":"in_progress","output":[]}}`
	progress  = `{"type":"response.in_progress","response":{"id":"resp_1","model":"m","created_at":5,"status":"in_progress"}}`
	completed = `{"type":"response.completed","response":{"id":"resp_1","model":"m","created_at":5,"status":"completed","service_tier":"flex",` +
		`"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":3,"cache_write_tokens":2},"output_tokens":7,` +
		`"output_tokens_details":{"reasoning_tokens":4},"total_tokens":16}}}`
	ended  = ` stop/completed 9(3,2)+7(4)=16`
	opened = "resp_1 m 5 flex"
)

func responseEvents(events ...string) string {
	return "data: " + strings.Join(append([]string{begun, progress}, events...), "\n\ndata: ") + "\n\n"
}

func itemEvent(done bool, index int, item string) string {
	kind := "added"
	if done {
		kind = "done"
	}
	return `{"type":"response.output_item.` + kind + `","output_index":` + string(wire.Number(int64(index))) + `,"item":` + item + `}`
}

func deltaEvent(kind string, index, part int, text string) string {
	return `{"type":"response.` + kind + `.delta","output_index":` + string(wire.Number(int64(index))) + `,"content_index":` +
		string(wire.Number(int64(part))) + `,"delta":` + string(wire.Quote(text)) + `}`
}

func messageItem(texts ...string) string {
	var parts []string
	for _, text := range texts {
		parts = append(parts, `{"type":"output_text","text":`+string(wire.Quote(text))+`,"annotations":[]}`)
	}
	return `{"type":"message","id":"msg_1","content":[` + strings.Join(parts, ",") + `]}`
}

func TestResponseStreamsMeanWhatTheySay(t *testing.T) {
	const call = `{"type":"function_call","id":"fc_1","call_id":"c1","name":"f","arguments":"`
	const custom = `{"type":"custom_tool_call","id":"ctc_1","call_id":"c2","name":"sh","input":"`
	for name, tt := range map[string]struct {
		events []string
		want   string
	}{
		"text in two parts": {
			[]string{itemEvent(false, 0, messageItem()), deltaEvent("output_text", 0, 0, "He"), deltaEvent("output_text", 0, 0, "llo"),
				deltaEvent("output_text", 0, 1, "you"), itemEvent(true, 0, messageItem("Hello", "you")), completed},
			" (Hello) (you)" + ended,
		},
		"no pieces": {[]string{itemEvent(true, 0, messageItem("Hello", "you")), completed}, " (Hello) (you)" + ended},
		"some pieces": {
			[]string{itemEvent(false, 0, messageItem()), deltaEvent("output_text", 0, 0, "Hel"),
				itemEvent(true, 0, messageItem("Hello", "you")), completed},
			" (Hello) (you)" + ended,
		},
		"refusal": {
			[]string{itemEvent(false, 0, messageItem()), deltaEvent("refusal", 0, 0, "I can"), itemEvent(true, 0,
				`{"type":"message","content":[{"type":"refusal","refusal":"I cannot"}]}`), completed},
			" !I cannot!" + ended,
		},
		"summary of two parts": {
			[]string{itemEvent(false, 0, `{"type":"reasoning","id":"rs_1","summary":[]}`),
				`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"one"}`,
				`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":1,"delta":"two"}`,
				itemEvent(true, 0, `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"one"},{"type":"summary_text","text":"two"}],`+
					`"encrypted_content":"gAAAA"}`),
				itemEvent(true, 2, messageItem("a")), completed},
			" ~one\n\ntwo 1 rs_1 (0) openai-responses-v1 gpt-6-sol false~ ~ 2 rs_1 gAAAA(5) openai-responses-v1 gpt-6-sol true~ (a)" + ended,
		},
		"reasoning in full": {
			[]string{itemEvent(false, 0, `{"type":"reasoning","id":"rs_1"}`), deltaEvent("reasoning_text", 0, 0, "hm"),
				itemEvent(true, 0, `{"type":"reasoning","id":"rs_1","content":[{"type":"reasoning_text","text":"hm."}]}`), completed},
			" ~hm. 1 rs_1 (0) openai-responses-v1 gpt-6-sol false~" + ended,
		},
		"calls whose pieces alternate": {
			[]string{itemEvent(false, 0, call+`"}`), itemEvent(false, 4, custom+`"}`), deltaEvent("function_call_arguments", 0, 0, `{"a"`),
				deltaEvent("custom_tool_call_input", 4, 0, "ls\n"), deltaEvent("function_call_arguments", 0, 0, `:1}`),
				deltaEvent("custom_tool_call_input", 4, 0, `"x"`), itemEvent(true, 0, call+`{\"a\":1}"}`), itemEvent(true, 4,
					custom+`ls\n\"x\""}`), completed},
			` {c1 f {"a":1} 0} {c2 sh ls` + "\n" + `"x" 1}` + strings.Replace(ended, "stop", "tool_calls", 1),
		},
		"items that end twice": {
			[]string{itemEvent(true, 0, `{"type":"reasoning","id":"rs_1","encrypted_content":"e"}`), itemEvent(true, 0,
				`{"type":"reasoning","id":"rs_1","encrypted_content":"e"}`), itemEvent(true, 1, call+`"}`), itemEvent(true, 1, call+`"}`), completed},
			" ~ 2 rs_1 e(1) openai-responses-v1 gpt-6-sol true~ {c1 f {} 0}" + strings.Replace(ended, "stop", "tool_calls", 1),
		},
		"call without arguments": {
			[]string{itemEvent(false, 0, call+`"}`), itemEvent(true, 0, call+`"}`), completed},
			" {c1 f {} 0}" + strings.Replace(ended, "stop", "tool_calls", 1),
		},
		"call that was never added": {
			[]string{deltaEvent("function_call_arguments", 3, 0, "{"), itemEvent(true, 3, call+`{}"}`), completed},
			" {c1 f {} 0}" + strings.Replace(ended, "stop", "tool_calls", 1),
		},
		"unknown events and items": {
			[]string{`{"type":"response.new_thing","delta":{"a":1},"output_index":"x"}`, itemEvent(true, 0, `{"type":"web_search_call","id":"ws_1"}`),
				deltaEvent("output_text", 9, 0, "lost"), itemEvent(true, 1, messageItem("a")), completed},
			" (a)" + ended,
		},
		"end that is not what came": {
			[]string{itemEvent(false, 0, messageItem()), deltaEvent("output_text", 0, 0, "A b."), itemEvent(true, 0, messageItem("A b in c.")), completed},
			" (A b.)" + ended,
		},
		"search for tools": {
			[]string{itemEvent(false, 0, `{"type":"tool_search_call","id":"ts_1","arguments":{}}`), itemEvent(true, 0,
				`{"type":"tool_search_call","id":"ts_1","execution":"server","arguments":{"query":"x"}}`), itemEvent(true, 1, messageItem("a")), completed},
			" (a)" + ended,
		},
		"citation": {
			[]string{itemEvent(true, 0, messageItem("é")), itemEvent(true, 1, `{"type":"message","content":[{"type":"output_text","text":"see it","annotations":`+
				`[{"type":"url_citation","url":"https://e.com","title":"E","start_index":4,"end_index":6},{"type":"file_citation"},7]}]}`), completed},
			" (é) (see it) [https://e.com E 5-7]" + ended,
		},
		"no more tokens": {
			[]string{itemEvent(false, 0, call+`"}`), deltaEvent("function_call_arguments", 0, 0, `{"a`), itemEvent(true, 0,
				strings.TrimSuffix(call, `"`)+`"{\"a","status":"incomplete"}`), strings.NewReplacer("response.completed", "response.incomplete",
				`"status":"completed"`, `"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}`).Replace(completed)},
			` {c1 f {"a 0} length/max_output_tokens` + strings.TrimPrefix(ended, " stop/completed"),
		},
		"filtered": {
			[]string{itemEvent(false, 0, messageItem()), deltaEvent("output_text", 0, 0, "so"), strings.NewReplacer("response.completed",
				"response.incomplete", `"status":"completed"`, `"status":"incomplete","incomplete_details":{"reason":"content_filter"}`).Replace(completed)},
			` (so) content_filter/content_filter` + strings.TrimPrefix(ended, " stop/completed"),
		},
		"nothing": {[]string{completed}, ended},
	} {
		t.Run(name, func(t *testing.T) {
			answer, err := respondingTo(t, `,"stream":true`).collected(t, responseEvents(tt.events...))
			if err != nil || shownAnswer(answer) != opened+tt.want {
				t.Errorf("got  %s\nwant %s\n%v", shownAnswer(answer), opened+tt.want, err)
			}
		})
	}
}

// A model may call a function as if it took free text. The text is not lost.
func TestFreeTextForAFunctionIsItsInput(t *testing.T) {
	const custom = `{"type":"custom_tool_call","id":"ctc_1","call_id":"c2","name":"sh","input":"`
	const end = `ls \"x\""}`
	stream := responseEvents(itemEvent(false, 0, custom+`"}`), deltaEvent("custom_tool_call_input", 0, 0, "ls "), itemEvent(true, 0, custom+end), completed)
	answer, err := respondingTo(t, `,"stream":true,"tools":[{"type":"function","function":{"name":"sh"}}]`).collected(t, stream)
	if err != nil || !strings.Contains(shownAnswer(answer), ` {c2 sh {"input":"ls \"x\""} 0}`) {
		t.Errorf("%v, %+v", err, answer)
	}
}

func TestFailedResponsesAreRefusals(t *testing.T) {
	const text = `data: {"type":"response.output_text.delta","output_index":0,"delta":"a"}`
	for name, tt := range map[string]struct {
		body    string
		status  int
		code    string
		verdict providers.Verdict
	}{
		"flat": {responseEvents(`{"type":"error","code":"server_error","message":"no","param":null,"sequence_number":2}`), 500, "server_error",
			providers.Retryable},
		"nested": {responseEvents(`{"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"no","param":"input"}}`),
			400, "context_length_exceeded", providers.Terminal},
		"nested without a type": {"event: error\ndata: {\"error\":{\"type\":\"tokens\",\"code\":\"rate_limit_exceeded\",\"message\":\"no\"}}\n\n", 429,
			"rate_limit_exceeded", providers.RateLimited},
		"without any type": {"data: {\"error\":{\"code\":\"slow_down\",\"message\":\"no\"}}\n\n", 503, "slow_down", providers.Retryable},
		"failed": {responseEvents(`{"type":"response.failed","response":{"id":"resp_1","status":"failed","error":{"code":"context_length_exceeded",` +
			`"message":"no"}}}`), 400, "context_length_exceeded", providers.Terminal},
		"failed without a reason": {responseEvents(`{"type":"response.failed","response":{"id":"resp_1","status":"failed"}}`), 500, "server_error",
			providers.Retryable},
		"spent": {responseEvents(`{"type":"response.failed","response":{"error":{"code":"insufficient_quota","message":"no"}}}`), 429, "insufficient_quota",
			providers.NextKey},
		"plain JSON":  {`{"error":{"code":"server_error","message":"no"}}`, 500, "server_error", providers.Retryable},
		"no events":   {"", 0, "", providers.Retryable},
		"only begun":  {responseEvents(), 0, "", providers.Retryable},
		"no JSON":     {"data: {\n\n", 0, "", providers.Retryable},
		"no item":     {responseEvents(`{"type":"response.output_item.added","output_index":0}`), 0, "", providers.Retryable},
		"no response": {responseEvents(`{"type":"response.completed"}`), 0, "", providers.Retryable},
	} {
		t.Run(name, func(t *testing.T) {
			for _, later := range []bool{false, true} {
				body := tt.body
				if later {
					body = responseEvents(itemEvent(false, 0, messageItem())) + text + "\n\n" + body
				}
				x := respondingTo(t, `,"stream":true`)
				stream, err := x.streamed(t, strings.NewReader(body))
				if (err == nil) != later {
					t.Fatalf("later %t: %v", later, err)
				}
				if later {
					_, err = llm.Collect(stream)
				}
				r, ok := errors.AsType[*providers.Refusal](err)
				if !ok || r.Status != tt.status || r.Code != tt.code || r.Verdict() != tt.verdict {
					t.Errorf("later %t: %+v, %v", later, r, err)
				}
			}
		})
	}
}

func TestWholeResponsesThatAreNone(t *testing.T) {
	for body, status := range map[string]int{
		`{"status":"failed","error":{"code":"invalid_prompt","message":"no"}}`: 400,
		`{"status":"failed"}`:                         500,
		`{"error":{"message":"no","type":"x"}}`:       500,
		`{"detail":"no"}`:                             500,
		`{"status":"in_progress","output":[]}`:        0,
		`{"status":"cancelled"}`:                      0,
		`{"output":[]}`:                               0,
		`[]`:                                          0,
		`{"status":"completed","output":[{"type":1}]`: 0,
	} {
		_, err := respondingTo(t, "").readWhole([]byte(body))
		if r, ok := errors.AsType[*providers.Refusal](err); !ok || r.Status != status {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// streamsOnFile are the bodies of all recorded streams.
func streamsOnFile(t testing.TB) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "responses", "*.sse"))
	if err != nil || len(files) < 15 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	all := map[string]string{}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(file)] = string(body)
	}
	return all
}

// A stream that breaks off anywhere is an error, and nothing of it is more than what the
// whole stream says. Behind the end mark nothing is missing.
func TestResponseStreamsCutAnywhereAreErrors(t *testing.T) {
	x := respondingTo(t, `,"stream":true`)
	for name, body := range streamsOnFile(t) {
		want, err := x.collected(t, body)
		if err != nil {
			t.Fatal(err)
		}
		whole := strings.LastIndex(body, "data: ")
		end := whole + strings.Index(body[whole:], "\n")
		step := max(1, len(body)/100)
		for at := 0; at < len(body); at++ {
			if at%step != 0 && at < end-20 { // each byte of the end, where a cut may be mistaken for it
				continue
			}
			got, err := x.collected(t, body[:at])
			if at >= end && (err != nil || shownAnswer(got) != shownAnswer(want)) || at < end && err == nil {
				t.Fatalf("%s cut at %d of %d: %v", name, at, end, err)
			}
		}
	}
}

func TestResponseStreamsMeanTheSameHoweverTheyAreDivided(t *testing.T) {
	x := respondingTo(t, `,"stream":true`)
	for name, body := range streamsOnFile(t) {
		want, err := x.collected(t, body)
		if err != nil {
			t.Fatal(err)
		}
		for form, reader := range map[string]io.Reader{
			"bytes":    iotest.OneByteReader(strings.NewReader(body)),
			"CRLF":     strings.NewReader(strings.ReplaceAll(body, "\n", "\r\n")),
			"no names": strings.NewReader(strings.ReplaceAll(body, "event: ", ": ")),
		} {
			stream, err := x.streamed(t, reader)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := llm.Collect(stream); err != nil || shownAnswer(got) != shownAnswer(want) {
				t.Errorf("%s in %s: %v", name, form, err)
			}
		}
	}
}

func TestResponsesAreCutAtStopSequences(t *testing.T) {
	const said = "one ENDING two STOP three"
	for _, tt := range []struct {
		stops      []string
		text, stop string
	}{
		{nil, said, ""},
		{[]string{"never", "EN D"}, said, ""},
		{[]string{"STOP"}, "one ENDING two ", "STOP"},
		{[]string{"STOP", "ENDING two"}, "one ", "ENDING two"},
		{[]string{"ENDING two", "DIN"}, "one EN", "DIN"},
		{[]string{"ENDING", "G", "NG"}, "one ", "ENDING"},
		{[]string{"three"}, "one ENDING two STOP ", "three"},
		{[]string{"three!", "threes"}, said, ""},
	} {
		stops := ""
		for _, s := range tt.stops {
			stops += "," + string(wire.Quote(s))
		}
		x := respondingTo(t, `,"stream":true,"stop":[`+strings.TrimPrefix(stops, ",")+`]`)
		want := "(" + tt.text + ")"
		whole, err := x.readWhole([]byte(`{"id":"resp_1","status":"completed","output":[` + messageItem(said) + `,` + messageItem("behind") + `],"usage":{"input_tokens":1}}`))
		if err != nil {
			t.Fatal(err)
		}
		for size := range len(said) {
			events := []string{itemEvent(false, 0, messageItem())}
			for at := 0; at < len(said); at += size + 1 {
				events = append(events, deltaEvent("output_text", 0, 0, said[at:min(at+size+1, len(said))]))
			}
			events = append(events, itemEvent(true, 0, messageItem(said)), itemEvent(true, 1, messageItem("behind")), completed)
			answer, err := x.collected(t, responseEvents(events...))
			if err != nil {
				t.Fatal(err)
			}
			checkCut(t, answer, want, tt.stop)
		}
		answer, err := llm.Collect(whole)
		if err != nil || answer.Usage == nil {
			t.Fatal(err, answer.Usage)
		}
		checkCut(t, answer, want, tt.stop)
	}
}

func checkCut(t *testing.T, a *llm.Answer, want, stop string) {
	t.Helper()
	if stop == "" {
		want += " (behind)"
	}
	if c := a.Choices[0]; !strings.Contains(shownAnswer(a), " "+want+" ") || c.StopSequence != stop || c.Finish != llm.FinishStop ||
		(stop != "") != (c.NativeReason == "stop_sequence") {
		t.Errorf("%s, want %s ended by %q", shownAnswer(a), want, stop)
	}
}

// The end of a text is held back only while it may be the beginning of a stop sequence,
// and comes before anything else.
func TestTextThatIsHeldBackComesBeforeTheNextCall(t *testing.T) {
	x := respondingTo(t, `,"stream":true,"stop":["STOP"]`)
	answer, err := x.collected(t, responseEvents(itemEvent(false, 0, messageItem()), deltaEvent("output_text", 0, 0, "a ST"),
		itemEvent(false, 1, `{"type":"function_call","call_id":"c1","name":"f"}`), deltaEvent("output_text", 0, 0, "OP"), completed))
	if err != nil || !strings.Contains(shownAnswer(answer), " (a ST) {c1 f  0} (OP) ") {
		t.Errorf("%s, %v", shownAnswer(answer), err)
	}
}

func TestUnknownModelsOfTheResponsesAPIAreNotFound(t *testing.T) {
	u := apiAt(openaitest.Serve(t, 400, "application/json", `{"error":{"code":"model_not_found","message":"no","param":"model","type":"invalid_request_error"}}`))
	for _, streamed := range []bool{false, true} {
		x := respondingTo(t, "")
		x.api, x.call.Request.Stream = u, streamed
		_, err := x.Open(t.Context(), openaitest.Key)
		if r, ok := errors.AsType[*providers.Refusal](err); !ok || r.Status != http.StatusNotFound || r.Verdict() != providers.NextModel {
			t.Errorf("%v", err)
		}
	}
}
