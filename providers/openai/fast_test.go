package openai

import (
	"reflect"
	"strings"
	"testing"

	"modelgateway/api"
	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/providers/native"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// whole is an event as the full reading has it, without what the quick one
// leaves out.
func whole(t *testing.T, data []byte) (event, error) {
	t.Helper()
	var e event
	err := json.Unmarshal(data, &e, lenient)
	e.Object, e.Obfuscation = "", ""
	for i := range e.Choices {
		c := &e.Choices[i]
		c.Delta.Role = ""
		if c.Logprobs.Kind() == jsontext.KindNull {
			c.Logprobs = nil
		}
	}
	return e, err
}

func TestEventsOfTextTakeTheFastPath(t *testing.T) {
	var q fastReader
	for _, data := range []string{
		strings.TrimSpace(strings.TrimPrefix(textEvent, "data: ")),
		`{"id":"a","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"",` +
			`"refusal":null},"logprobs":null,"finish_reason":null}]}`,
		` { "choices" : [ { "delta" : { "content" : "\u00e9\n\"é" } , "index" : 12 } ] , "service_tier" : null } `,
		`{"choices":[{"delta":{"reasoning_content":"hm","content":null}}]}`,
		`{"choices":[{}]}`,
		`{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2,"prompt_tokens_details":{"cached_tokens":0,` +
			`"audio_tokens":0},"completion_tokens_details":{"audio_tokens":1,"reasoning_tokens":0,"x": -1.50},"a":null,"b_c":true}}`,
	} {
		got, ok := q.read([]byte(data))
		if !ok {
			t.Errorf("not read: %s", data)
			continue
		}
		want, err := whole(t, []byte(data))
		if err != nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%s\nread %+v\nwant %+v, %v", data, got, want, err)
		}
	}
}

func TestOtherEventsAreDecodedInFull(t *testing.T) {
	var q fastReader
	for _, data := range []string{
		``, `{`, `[DONE]`, `{}`, `{"choices":[{},{}]}`, `{"choices":[{}]}x`, `{"choices":[{}],}`, `{,"choices":[{}]}`,
		`{"choices":[{}],"choices":[{}]}`, `{"choices":[{"index":0,"index":1}]}`, `{"choices":[{"index":01}]}`, `{"choices":[{"index":-1}]}`,
		`{"choices":[{"index":1.0}]}`,
		`{"choices":[{"logprobs":{}}]}`, `{"choices":[{"delta":{"tool_calls":[]}}]}`, `{"choices":[{"delta":{"refusal":"no"}}]}`,
		`{"choices":[]}`, `{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2,"x":"y"}}`,
		`{"choices":[{}],"usage":{}}`, `{"choices":[{}],"error":null}`, `{"choices":[{}],"x":1}`, `{"choices":[{"delta":{"content":"\ud800"}}]}`,
		`{"choices":[{"delta":{"content":"` + "\xff" + `"}}]}`, `{"choices":[{"delta":{"content":"` + "\n" + `"}}]}`,
		`{"id":"\x","choices":[{}]}`,
		`{"choices":[{}],"created":1e3}`, `{"choices":[{}],"created":"1"}`, `{"choices":[{}],"model":nul}`,
	} {
		if _, ok := q.read([]byte(data)); ok {
			t.Errorf("read: %s", data)
		}
	}
}

func TestEventsThatMatchTheTemplateAreReadByTheirDifference(t *testing.T) {
	var q fastReader
	const like = `{"id":"a","created":1,"model":"m","service_tier":"x","choices":[{"index":1,"delta":{"content":"%"},` +
		`"finish_reason":null}],"obfuscation":"pad"}`
	for _, data := range []string{
		strings.Replace(like, "%", "one", 1), strings.Replace(like, "%", `tw\u006f \n`, 1), strings.Replace(like, "%", "", 1),
		strings.Replace(strings.Replace(like, "%", "three", 1), `"pad"`, `""`, 1), strings.Replace(like, `"id":"a"`, `"id":"b"`, 1),
		strings.Replace(like, `"index":1`, `"index":2`, 1), strings.Replace(like, `,"obfuscation":"pad"`, ``, 1),
		strings.Replace(like, `null}]`, `"stop"}]`, 1),
		`{"obfuscation":"p",` + like[1:len(like)-len(`,"obfuscation":"pad"}`)] + `}`,
	} {
		for range 2 {
			got, ok := q.read([]byte(data))
			if !ok {
				t.Fatalf("not read: %s", data)
			}
			want, err := whole(t, []byte(data))
			if err != nil || !reflect.DeepEqual(*got, want) {
				t.Errorf("%s\nread %+v\nwant %+v, %v", data, got, want, err)
			}
		}
	}
	for _, tail := range []string{``, `}`, `,"obfuscation":"pad`, `,"obfuscation":pad}`, `,"obfuscation":"pad"}}`} {
		data := strings.TrimSuffix(like, `,"obfuscation":"pad"}`) + tail
		if _, ok := q.read([]byte(data)); ok && tail != "}" {
			t.Errorf("read: %s", data)
		}
	}
}

// FuzzFastReader holds the fast path for an event, and for the one after it,
// against the full decoder: what it takes must be JSON, and mean the same.
func FuzzFastReader(f *testing.F) {
	text := strings.TrimSpace(strings.TrimPrefix(textEvent, "data: "))
	f.Add([]byte(text), []byte(strings.Replace(text, "quick", "slow", 1)))
	f.Add([]byte(` { "choices" : [ { "delta" : { "content" : "\u00e9\n\"é" } , "index" : 12 } ] , "service_tier" : null } `), []byte(text))
	f.Add([]byte(`{"id":"a","created":1,"usage":null,"choices":[{"delta":{"role":"x","refusal":null,"reasoning_content":"h\\"},`+
		`"logprobs":null,"finish_reason":"x"}]}`), []byte(text))
	f.Add([]byte(`{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2,`+
		`"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},"completion_tokens_details":{"audio_tokens":1,"reasoning_tokens":0,`+
		`"x": -1.50},"a":null,"b_c":true}}`), []byte(text))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var q fastReader
		for _, data := range [][]byte{first, second, first} {
			got, ok := q.read(data)
			if !ok {
				continue
			}
			want, err := whole(t, data)
			if err != nil || !reflect.DeepEqual(*got, want) {
				t.Fatalf("%q\nread %+v\nwant %+v, %v", data, got, want, err)
			}
		}
	})
}

// full is an answer as the full reading has it.
func full(data []byte) (*chat.Completion, error) {
	return (&exchange{provider: chatOnly("http://127.0.0.1:1")}).read(data)
}

// sameAnswer holds what the fast path tells of an answer against the answer that
// has been decoded in full.
func sameAnswer(t *testing.T, got *native.Whole, want *chat.Completion) {
	t.Helper()
	var raw chat.Completion
	if err := json.Unmarshal(got.Raw, &raw, api.Lenient); err != nil || !reflect.DeepEqual(&raw, want) {
		t.Errorf("%+v, want %+v, %v", raw, want, err)
	}
	if got.Head.ID != want.ID || got.Head.Model != want.Model || got.Head.Created != want.Created {
		t.Errorf("head %+v", got.Head)
	}
	if usage := want.Usage.Common(); !reflect.DeepEqual(got.Usage, usage) {
		t.Errorf("usage %+v, want %+v", got.Usage, usage)
	}
	for i, ending := range got.Endings {
		if string(ending.Finish) != want.Choices[i].FinishReason {
			t.Errorf("choice %d finished with %q", i, ending.Finish)
		}
	}
}

func TestCompleteAnswersAreForwardedUnchanged(t *testing.T) {
	for _, data := range []string{
		wholeText,
		` {"id":"1","object":"chat.completion","created":1,"model":"m\u00e9","x":[-1.5,{"y":null,"z":[]},true,-0,0.25],` +
			`"choices":[{"message":{"content":"","role":"assistant","refusal":null,"function_call":null},"index":0,"finish_reason":"x"}] ,` +
			`"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}} ` + "\n",
	} {
		got, ok := new(fastReader).answer([]byte(data))
		if !ok || string(got.Raw) != data {
			t.Errorf("not taken: %s", data)
			continue
		}
		want, err := full([]byte(data))
		if err != nil {
			t.Fatal(err)
		}
		sameAnswer(t, got, want)
	}
}

func TestAnswersThatNeedRepairAreDecodedInFull(t *testing.T) {
	const sound = `{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant",` +
		`"content":"x","refusal":null},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`
	if _, ok := new(fastReader).answer([]byte(sound)); !ok {
		t.Fatal("the sound one is not taken")
	}
	for _, change := range [][2]string{
		{`"id":"1"`, `"id":""`}, {`"id":"1",`, ``}, {`"object":"chat.completion"`, `"object":"x"`}, {`"created":1,`, `"created":0,`},
		{`"created":1`, `"created":1.5`},
		{`"model":"m"`, `"model":null`}, {`"role":"assistant"`, `"role":"x"`}, {`"content":"x"`, `"content":null`}, {`,"refusal":null`, ``},
		{`"refusal":null`, `"refusal":"no"`}, {`"content":"x"`, `"content":"x","tool_calls":[]`},
		{`"finish_reason":"stop"`, `"finish_reason":null`}, {`,"finish_reason":"stop"`, ``}, {`"total_tokens":2`, `"total_tokens":0`},
		{`"prompt_tokens":1`, `"prompt_tokens":-1`},
		{`"usage":{`, `"error":null,"usage":{`}, {`"usage":{`, `"x":-,"usage":{`}, {`"usage":{`, `"x":- 1,"usage":{`},
		{`"usage":{`, `"x":1e5,"usage":{`}, {`"usage":{`, `"x":01,"usage":{`},
		{`"index":0`, `"index":0,"x":[1,]`}, {`{"index":0`, `{`}, {`"content":"x"`, `"content":"\x"`}, {`2}}`, `2}} x`}, {`2}}`, `2}`},
		{`"content":"x"`, `"content":"` + "\xff" + `"`},
		{`"usage":{`, `"x":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `,"usage":{`}, {`"choices":[{`, `"choices":[],"y":[{`},
		{`"content":"x"`, `"content":"x","reasoning_content":"y"`},
	} {
		data := strings.Replace(sound, change[0], change[1], 1)
		if _, ok := new(fastReader).answer([]byte(data)); ok || data == sound {
			t.Errorf("taken: %s", data)
		}
	}
}

// FuzzFastAnswer holds the answers that go on as they came against the full
// decoder, which would have changed nothing.
func FuzzFastAnswer(f *testing.F) {
	f.Add([]byte(wholeText))
	f.Add([]byte(`{"id":"1","object":"chat.completion","created":1,"model":"m","x":[-1.5,{"y":null},true],` +
		`"choices":[{"message":{"content":"","role":"assistant","refusal":null},"index":0,"finish_reason":"x"}],"usage":{"prompt_tokens":1,` +
		`"completion_tokens":0,"total_tokens":1,"prompt_tokens_details":{"cached_tokens":1}}}`))
	x := prepare(f, chatOnly("http://127.0.0.1:1"), "gpt-4", hello+`}`).(*exchange)
	f.Fuzz(func(t *testing.T, data []byte) {
		sameText(t, x, data)
		got, ok := new(fastReader).answer(data)
		if !ok {
			return
		}
		want, err := full(data)
		if err != nil {
			t.Fatal(err)
		}
		sameAnswer(t, got, want)
	})
}

// sameText holds an answer of one text, as another dialect gets it, against the full reader.
// It is false where the answer is left to that one.
func sameText(t *testing.T, x *exchange, data []byte) bool {
	t.Helper()
	a, ok := new(fastReader).text(data)
	if !ok {
		return false
	}
	c, err := x.read(data)
	if err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	got, err := llm.Collect(a.events)
	if err != nil {
		t.Fatal(err)
	}
	want, err := llm.Collect(x.replay(c))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s:\ngot  %+v\nwant %+v", data, got, want)
	}
	return true
}

// An answer of one text is read at once for a client of another dialect; what has more than
// a text is left to the full reader.
func TestAnswersOfOneTextAreReadAtOnce(t *testing.T) {
	x := prepare(t, chatOnly("http://127.0.0.1:1"), "gpt-4", hello+`}`).(*exchange)
	if !sameText(t, x, []byte(wholeText)) {
		t.Error("left to the full reader")
	}
	for _, change := range [][2]string{
		{`"logprobs":null`, `"logprobs":{"content":[]}`},
		{`"index":0`, `"index":1`},
		{`"refusal":null`, `"refusal":"no"`},
		{`"refusal":null`, `"refusal":null,"tool_calls":[{"id":"a"}]`},
		{`}],"usage"`, `},{"index":1,"message":{"role":"assistant","content":"b","refusal":null},"finish_reason":"stop"}],"usage"`},
	} {
		data := strings.Replace(wholeText, change[0], change[1], 1)
		if sameText(t, x, []byte(data)) || data == wholeText {
			t.Errorf("taken: %s", data)
		}
	}
}
