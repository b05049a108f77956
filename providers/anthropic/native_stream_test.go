package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/providertest"
	"modelgateway/providers/sse"
	"modelgateway/providers/upstream"
)

// streamingCall is a native call for a stream.
func streamingCall(t testing.TB) *nativeExchange {
	t.Helper()
	n, err := provider("http://127.0.0.1:1").native(providers.Call{
		Request: messagesRequest(t, `{"model":"m","max_tokens":9,"stream":true,"messages":[]}`), Model: &catalog.Model{Upstream: "claude-up"},
	}, messagesPath)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// pass sends a stream through a native call.
func pass(t testing.TB, body io.Reader) providertest.Passed {
	t.Helper()
	return passBy(t, streamingCall(t), body)
}

func passBy(t testing.TB, n *nativeExchange, body io.Reader) providertest.Passed {
	t.Helper()
	stream, err := n.events(t.Context(), upstream.NewEvents(io.NopCloser(body)), testKey)
	return providertest.Pass(t, llm.Messages, stream, err)
}

// recordedStreams are all of the folder.
func recordedStreams(t testing.TB) (all []providertest.Recording) {
	t.Helper()
	for _, rec := range providertest.Load(t, providertest.Dir()) {
		if rec.Provider == catalog.Anthropic && rec.Stream && !rec.Failed() {
			all = append(all, rec)
		}
	}
	if len(all) < 8 {
		t.Fatalf("%d recordings", len(all))
	}
	return all
}

// isWhole says whether a recorded stream has its end mark, and no error.
func isWhole(body []byte) bool {
	all := providertest.Events(body)
	return len(all) > 0 && bytes.Contains(all[len(all)-1], []byte(`"message_stop"`)) &&
		!bytes.Contains(body, []byte("event: error"))
}

func TestRecordedStreamsComeBackByteForByte(t *testing.T) {
	whole, broken := 0, 0
	for _, rec := range recordedStreams(t) {
		got := pass(t, bytes.NewReader(rec.Body))
		if !isWhole(rec.Body) {
			broken++
			if got.Err == nil || !providertest.Begins(string(rec.Body), got.Bytes) {
				t.Errorf("%s: it is not whole: %v", rec.File, got.Err)
			}
			continue
		}
		whole++
		if got.Err != nil || strings.TrimRight(got.Bytes, "\n") != strings.TrimRight(string(rec.Body), "\n") {
			t.Errorf("%s: %v, %d bytes of %d", rec.File, got.Err, len(got.Bytes), len(rec.Body))
		}
	}
	t.Logf("%d whole, %d not", whole, broken)
	if whole < 15 || broken < 3 {
		t.Errorf("%d whole streams, %d others", whole, broken)
	}
}

// Case 33: nothing but the reason why the answer has ended, or the end mark, ends a stream well, and no part
// of an event is passed on.
func TestAStreamThatIsCutAtAnyByteEndsWithAnError(t *testing.T) {
	cuts, n := 0, streamingCall(t)
	for _, rec := range recordedStreams(t) {
		if !isWhole(rec.Body) {
			continue
		}
		step := 1
		if len(rec.Body) > 4<<10 {
			step = 1 + len(rec.Body)/64
		}
		for at := 0; at < len(rec.Body); at += step {
			cuts++
			cut := rec.Body[:at]
			got := passBy(t, n, bytes.NewReader(cut))
			if got.Err == nil {
				if !saysWhyItEnded(cut) || !strings.Contains(got.Bytes, `"message_stop"`) {
					t.Fatalf("%s, cut at byte %d of %d, ends well", rec.File, at, len(rec.Body))
				}
				if !providertest.Begins(string(cut), got.Bytes) {
					got.Bytes = strings.TrimSuffix(got.Bytes, stopFrame)
				}
			} else if _, ok := errors.AsType[*providers.Refusal](got.Err); !ok {
				t.Fatalf("%s, cut at byte %d of %d: %v", rec.File, at, len(rec.Body), got.Err)
			}
			if !providertest.Begins(string(cut), got.Bytes) {
				t.Fatalf("%s, cut at byte %d of %d: %q", rec.File, at, len(rec.Body), got.Bytes)
			}
		}
	}
	t.Logf("%d cuts", cuts)
	body := textStream(2)
	end := bytes.LastIndex(body, []byte("event: message_stop"))
	got := pass(t, bytes.NewReader(body[:end]))
	if last := got.Events[len(got.Events)-1]; got.Err != nil || got.Bytes != string(body) || last.Kind != llm.EventFinish || last.Finish != llm.FinishStop {
		t.Errorf("without its end mark: %v, %q", got.Err, got.Bytes)
	}
}

// saysWhyItEnded says whether a stream has an event, whole but for its empty line, with the reason.
func saysWhyItEnded(stream []byte) bool {
	events := sse.NewReader(bytes.NewReader(stream))
	for {
		e, err := events.Next()
		if err != nil {
			return false
		}
		var told struct {
			Delta, Message struct {
				Reason string `json:"stop_reason"`
			}
		}
		if json.Unmarshal(e.Data, &told) == nil && told.Delta.Reason+told.Message.Reason != "" {
			return true
		}
	}
}

func TestTheErrorOfTheConnectionEndsAStream(t *testing.T) {
	body := textStream(3)
	broken := errors.New("reset")
	got := pass(t, io.MultiReader(bytes.NewReader(body[:len(body)-10]), iotest.ErrReader(broken)))
	if r, ok := errors.AsType[*providers.Refusal](got.Err); !ok || !r.Worked || !errors.Is(got.Err, broken) {
		t.Errorf("%v", got.Err)
	}
}

// oddStream has what an event stream may have, and a block with some results.
func oddStream(results int) string {
	one := `{"type":"web_search_result","title":"é","encrypted_content":"` + strings.Repeat("x", 900) + `"}`
	return ": a comment\n\nevent: ping\ndata: {\"type\": \"ping\"}\n\n" +
		"event: message_start\nid: 7\ndata:{\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"usage\":{\"input_tokens\":4,\"output_tokens\":1}}}    \n\n" +
		": between\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"web_search_tool_result\"," +
		"\"tool_use_id\":\"srvtoolu_1\",\"content\":[" + strings.TrimSuffix(strings.Repeat(one+",", results), ",") + "]}}\n\n" +
		"\n\nevent: content_block_delta\ndata: {\"type\":\"content_block_delta\",\ndata: \"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"zwei\"}}\n\n" +
		"retry: 1\nevent: message_delta\ndata:  {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":9}}\n\n" +
		"event: message_stop\ndata: {\"type\":\"message_stop\"   }\n\n"
}

// Case 34.
func TestStreamsWithAnyLineEndingsAreSplitAnywhere(t *testing.T) {
	n := streamingCall(t)
	check := func(how, body string, r io.Reader) {
		t.Helper()
		got := passBy(t, n, r)
		if u := got.Usage(); got.Err != nil || got.Bytes != body || u == nil || u.Input != 4 || u.Output != 9 {
			t.Errorf("%s: %v, %d bytes of %d, %+v", how, got.Err, len(got.Bytes), len(body), got.Usage())
		}
	}
	for name, ending := range map[string]string{"LF": "\n", "CRLF": "\r\n", "CR": "\r"} {
		body := strings.ReplaceAll(oddStream(0), "\n", ending)
		for at := range len(body) {
			check(name+", in two pieces", body, io.MultiReader(strings.NewReader(body[:at]), strings.NewReader(body[at:])))
		}
		check(name+", byte by byte", body, iotest.OneByteReader(strings.NewReader(body)))
		long := strings.ReplaceAll(oddStream(90), "\n", ending)
		if len(long) < 64<<10 {
			t.Fatal("it is too short")
		}
		for at := 1000; at < len(long); at += 4096 - 1 {
			check(name+", long", long, io.MultiReader(strings.NewReader(long[:at]), strings.NewReader(long[at:])))
		}
	}
}

// What the translation knows of a recorded stream, the reader beside the bytes finds too.
func TestTheUsageOfARecordedStreamIsFoundBesideItsBytes(t *testing.T) {
	compared := 0
	for _, rec := range recordedStreams(t) {
		if !isWhole(rec.Body) {
			continue
		}
		s := newStream(rec.Body)
		if err := s.readStart(); err != nil {
			t.Fatal(err)
		}
		var want providertest.Passed
		s.run(func(e *llm.Event, err error) bool {
			if want.Err = err; e != nil {
				want.Events = append(want.Events, *e)
			}
			return true
		})
		if want.Err != nil {
			continue // two messages in one stream are the client's to judge
		}
		got := pass(t, bytes.NewReader(rec.Body))
		if compared++; !reflect.DeepEqual(got.Usage(), want.Usage()) {
			t.Errorf("%s: %+v, translated %+v", rec.File, got.Usage(), want.Usage())
		}
		if a, b := texts(got.Events), texts(want.Events); !strings.Contains(a, b) { // beside it what server tools are called with
			t.Errorf("%s: %.300q, translated %.300q", rec.File, a, b)
		}
		finish := func(of []llm.Event) (f llm.Finish, native string) {
			for i := range of {
				if of[i].Kind == llm.EventFinish {
					f, native = of[i].Finish, of[i].NativeReason
				}
			}
			return f, native
		}
		gotFinish, gotReason := finish(got.Events)
		wantFinish, wantReason := finish(want.Events)
		if gotFinish != wantFinish || gotReason != wantReason || got.Events[0].Head.ID != s.answer.id {
			t.Errorf("%s: %s %s, translated %s %s", rec.File, gotFinish, gotReason, wantFinish, wantReason)
		}
	}
	if compared < 12 {
		t.Errorf("%d streams were compared", compared)
	}
}

// texts are all texts of an answer.
func texts(of []llm.Event) string {
	var all strings.Builder
	for i := range of {
		if of[i].Kind == llm.EventText || of[i].Kind == llm.EventBegin {
			all.WriteString(of[i].Text)
		}
	}
	return all.String()
}

func TestUsageHasEverythingThatCosts(t *testing.T) {
	body := events(
		`{"type":"message_start","message":{"id":"msg_1","model":"claude-x","usage":{"input_tokens":5,"cache_creation_input_tokens":7,`+
			`"cache_read_input_tokens":11,"cache_creation":{"ephemeral_1h_input_tokens":3},"output_tokens":1,"service_tier":"priority"}}}`,
		`{"type":"message_delta","delta":{"stop_reason":"pause_turn","stop_sequence":null},"usage":{"output_tokens":13,"speed":"fast",`+
			`"inference_geo":"us","server_tool_use":{"web_search_requests":2},"output_tokens_details":{"thinking_tokens":6}}}`,
		`{"type":"message_stop"}`)
	want := &llm.Usage{
		Input: 23, Output: 13, Total: 36, HasCache: true, Cached: 11, CacheWrite: 7, CacheWriteHour: 3, HasReasoning: true, Reasoning: 6,
		Tier: "priority", Speed: "fast", Geo: "us", Searches: 2,
	}
	got := pass(t, strings.NewReader(body))
	if got.Err != nil || !reflect.DeepEqual(got.Usage(), want) || got.Bytes != body {
		t.Errorf("%+v, %v", got.Usage(), got.Err)
	}
	if head := got.Events[0].Head; head.ID != "msg_1" || head.Model != "claude-x" || head.ServiceTier != "priority" {
		t.Errorf("%+v", head)
	}
	cut := pass(t, strings.NewReader(body[:strings.Index(body, "event: message_delta")]))
	if u := cut.Events[0].Head.Counter.Counted(); u == nil || u.Input != 23 || u.Output != 0 || cut.Err == nil {
		t.Errorf("cut before its end: %+v, %v", u, cut.Err)
	}
	whole := strings.Replace(wholeMessageText, `{"input_tokens":3,"output_tokens":2}`, `{"input_tokens":5,"cache_creation_input_tokens":7,`+
		`"cache_read_input_tokens":11,"cache_creation":{"ephemeral_1h_input_tokens":3},"output_tokens":13,"service_tier":"priority","speed":"fast",`+
		`"inference_geo":"us","server_tool_use":{"web_search_requests":2},"output_tokens_details":{"thinking_tokens":6}}`, 1)
	stream, _, err := ask(t, `{"model":"m","messages":[]}`, nil, jsonScript(200, whole))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := llm.Collect(stream)
	if err != nil || !reflect.DeepEqual(answer.Usage, want) || string(answer.Raw) != whole || answer.Choices[0].NativeReason != "end_turn" ||
		answer.ID != "msg_1" {
		t.Errorf("whole: %+v, %+v, %v", answer, answer.Usage, err)
	}
}

func TestAnswersWithoutUsageAreMeteredByTheirTexts(t *testing.T) {
	body := events(
		`{"type":"message_start","message":{"id":"msg_1"}}`, began(0, `{"type":"thinking","thinking":""}`), piece(0, thought("hm ")), over(0),
		began(1, `{"type":"text","text":""}`), piece(1, words("a\n")), piece(1, words("b")), over(1),
		began(2, `{"type":"tool_use","id":"c","name":"find","input":{}}`), piece(2, arguments(`{"x":`)), piece(2, arguments(`1}`)), over(2),
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`, `{"type":"message_stop"}`)
	got := pass(t, strings.NewReader(body))
	all := ""
	for i := range got.Events {
		all += got.Events[i].Text
	}
	if got.Err != nil || all != "hm a\nbfind"+`{"x":1}` || got.Usage() != nil || got.Bytes != body {
		t.Errorf("%q, %v", all, got.Err)
	}
	stream, _, err := ask(t, `{"model":"m","messages":[]}`, nil, jsonScript(200, `{"type":"message","content":[{"type":"thinking","thinking":"hm "},`+
		`{"type":"text","text":"a\n"},{"type":"tool_use","id":"c","name":"find","input":{"x":1}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := llm.Collect(stream)
	if err != nil || answer.Usage != nil || answer.Choices[0].Blocks[0].Text != `hm `+"a\nfind"+`{"x":1}` {
		t.Errorf("whole: %+v, %v", answer, err)
	}
}

// The versioning policy of the API allows new types at any time.
func TestUnknownEventsBlocksAndDeltasLive(t *testing.T) {
	body := events(
		started(`{"input_tokens":1,"output_tokens":1}`), `{"type":"new_event","x":[1,{"type":"message_stop"}]}`,
		began(0, `{"type":"new_block","text":{"a":1}}`), piece(0, `{"type":"new_delta","text":7,"thinking":null}`), `[1]`, `no JSON`, over(0),
		stopped("end_turn"), end)
	got := pass(t, strings.NewReader(body))
	if got.Err != nil || got.Bytes != body {
		t.Errorf("%v\n%s\nwant\n%s", got.Err, got.Bytes, body)
	}
}

func TestAStreamThatDoesNotBeginIsRefused(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		status     int // of the refusal
		raw        bool
	}{
		{"an error first", events(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), 529, true},
		{"an error after a ping", events(`{"type": "ping"}`, `{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}`), 429, true},
		{"an error of the gateway's account", events(`{"type":"error","error":{"type":"authentication_error","message":"key"}}`), 401, false},
		{"an error in another form", "event: error\ndata: {\"message\":\"x\"}\n\n", 500, false},
		{"JSON", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, 529, true},
		{"no start", events(piece(0, words("a"))), 0, false},
		{"nothing", "", 0, false},
		{"no event", "<html></html>", 0, false},
	} {
		got := pass(t, strings.NewReader(tt.body))
		r, ok := errors.AsType[*providers.Refusal](got.Err)
		if !ok || r.Status != tt.status || (len(r.Body) > 0) != tt.raw || (r.Dialect == llm.Messages) != tt.raw || got.Bytes != "" {
			t.Errorf("%s: %+v, %v", tt.name, r, got.Err)
		}
	}
}

func TestAnErrorInsideAStreamIsToldInTheUpstreamsWords(t *testing.T) {
	const failed = `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded by sk-ant-api03-abcdef","details":null},"request_id":"req_1"}`
	body := events(started(`{"input_tokens":1,"output_tokens":1}`), began(0, `{"type":"text","text":""}`), piece(0, words("a")), failed)
	got := pass(t, strings.NewReader(body))
	r, ok := errors.AsType[*providers.Refusal](got.Err)
	if want := strings.Replace(failed, "sk-ant-api03-abcdef", "[redacted]", 1); !ok || r.Status != 529 || strings.TrimSpace(string(r.Body)) != want {
		t.Errorf("%+v", r)
	}
	if !strings.HasPrefix(body, got.Bytes) || strings.Contains(got.Bytes, "error") {
		t.Errorf("%s", got.Bytes)
	}
}

func TestANativeStreamPausesBeforeItWaits(t *testing.T) {
	body := textStream(2)
	halves := io.MultiReader(bytes.NewReader(body[:len(body)/2]), bytes.NewReader(body[len(body)/2:]))
	if got := pass(t, halves); got.Pauses != 1 || got.Err != nil {
		t.Errorf("%d pauses, %v", got.Pauses, got.Err)
	}
}

func TestLeavingANativeStreamEndsTheUpstreamCall(t *testing.T) {
	body := textStream(5)
	for _, end := range []providertest.End{providertest.Hold, providertest.Reset} {
		script := providertest.Script{Pieces: [][]byte{body[:len(body)-20]}, End: end}
		stream, upstream, err := ask(t, `{"model":"m","max_tokens":9,"stream":true,"messages":[]}`, nil, script)
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range stream {
			if end == providertest.Hold && (e == nil || err != nil) { // while the upstream is waited for
				break
			}
		}
		if end == providertest.Hold {
			if _, ok := upstream.Gone(5 * time.Second); !ok {
				t.Error("the upstream's call goes on")
			}
		}
	}
}

func FuzzNativeStream(f *testing.F) {
	f.Add(textStream(2), 7)
	for _, rec := range providertest.Load(f, providertest.Own()) {
		if rec.Provider == catalog.Anthropic && rec.Stream {
			f.Add(rec.Body, 40)
		}
	}
	n := streamingCall(f)
	f.Fuzz(func(t *testing.T, body []byte, size int) {
		got := passBy(t, n, bytes.NewReader(body))
		if !providertest.Begins(string(body), strings.TrimSuffix(got.Bytes, stopFrame)) {
			t.Fatalf("%q is not how %q begins", got.Bytes, body)
		}
		again := passBy(t, n, iotest.HalfReader(io.MultiReader(bytes.NewReader(body[:min(max(size, 0), len(body))]),
			bytes.NewReader(body[min(max(size, 0), len(body)):]))))
		same := again.Bytes == got.Bytes || again.Bytes+"\n" == got.Bytes // the LF after a CR may come later
		if !same || (again.Err == nil) != (got.Err == nil) {
			t.Fatalf("in pieces %q, %v; whole %q, %v", again.Bytes, again.Err, got.Bytes, got.Err)
		}
	})
}
