package chat

import (
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"modelgateway/dialects/chat"
	"modelgateway/providers/openai/wire"
)

// alone is an event as a reader has it that has read no other.
func alone(data []byte) (event, error) {
	var r reader
	err := r.decode(data)
	return r.event, err
}

func TestTextsThatAreNoEventAreRefused(t *testing.T) {
	for _, data := range []string{
		``, `{`, `[DONE]`, `[]`, `"x"`, `{"choices":[{}]}x`, `{"choices":[{}],}`, `{,"choices":[{}]}`, `{"choices":{}}`, `{"choices":["x"]}`,
		`{"choices":[{"delta":"x"}]}`, `{"choices":[{"delta":{"content":{"x":1}}}]}`, `{"choices":[{"delta":{"refusal":1}}]}`,
		`{"choices":[{"delta":{"tool_calls":"x"}}]}`, `{"choices":1}`, `{"choices":[{"delta":{"images":{}}}]}`,
		`{"choices":[{"delta":{"content":"` + "\n" + `"}}]}`, `{"id":"\x","choices":[{}]}`, `{"choices":[{}],"model":nul}`,
	} {
		if e, err := alone([]byte(data)); err == nil {
			t.Errorf("read: %s: %+v", data, e)
		}
	}
}

func TestEventsThatMatchTheTemplateAreReadByTheirDifference(t *testing.T) {
	var q reader
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
			got, err := q.read([]byte(data))
			if err != nil {
				t.Fatalf("%s: %v", data, err)
			}
			want, err := alone([]byte(data))
			if err != nil || !reflect.DeepEqual(*got, want) {
				t.Errorf("%s\nread %+v\nwant %+v, %v", data, got, want, err)
			}
		}
		if q.matched == strings.HasPrefix(data, `{"obfuscation"`) {
			t.Errorf("matched: %t: %s", q.matched, data)
		}
	}
	for _, tail := range []string{``, `}`, `,"obfuscation":"pad`, `,"obfuscation":pad}`, `,"obfuscation":"pad"}}`} {
		data := strings.TrimSuffix(like, `,"obfuscation":"pad"}`) + tail
		if _, err := q.read([]byte(data)); err == nil && tail != "}" {
			t.Errorf("read: %s", data)
		}
	}
}

// FuzzReader holds an event that is read after others against the same one read alone.
func FuzzReader(f *testing.F) {
	text := strings.TrimSpace(strings.TrimPrefix(textEvent, "data: "))
	f.Add([]byte(text), []byte(strings.Replace(text, "quick", "slow", 1)))
	f.Add([]byte(` { "choices" : [ { "delta" : { "content" : "\u00e9\n\"é" } , "index" : 12 } ] , "service_tier" : null } `), []byte(text))
	f.Add([]byte(`{"id":"a","created":1,"usage":null,"choices":[{"delta":{"role":"x","refusal":null,"reasoning_content":"h\\"},`+
		`"logprobs":null,"finish_reason":"x"}]}`), []byte(text))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var q reader
		for _, data := range [][]byte{first, second, first} {
			got, err := q.read(data)
			want, wantErr := alone(data)
			if (err == nil) != (wantErr == nil) || err == nil && !reflect.DeepEqual(*got, want) {
				t.Fatalf("%q\nread %+v, %v\nwant %+v, %v", data, got, err, want, wantErr)
			}
		}
	})
}

// forwards says whether a whole answer goes on in its own bytes; then they mean what a repaired
// answer would.
func forwards(t *testing.T, data []byte) bool {
	t.Helper()
	r := reader{whole: true}
	if r.decode(data) != nil || !r.event.complete() {
		return false
	}
	var raw chat.Completion
	if err := json.Unmarshal(data, &raw, wire.Lenient); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	c := (&exchange{api: apiAt("http://127.0.0.1:1")}).completion(&r.event)
	if !reflect.DeepEqual(&raw, c) {
		t.Errorf("%s: %+v, want %+v", data, raw, c)
	}
	return true
}

func TestCompleteAnswersAreForwardedUnchanged(t *testing.T) {
	for _, data := range []string{
		wholeText,
		` {"id":"1","object":"chat.completion","created":1,"model":"m\u00e9","x":[-1.5,{"y":null,"z":[]},true,-0,0.25],` +
			`"choices":[{"message":{"content":"","role":"assistant","refusal":null,"function_call":null},"index":0,"finish_reason":"x"}] ,` +
			`"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}} ` + "\n",
	} {
		if !forwards(t, []byte(data)) {
			t.Errorf("repaired: %s", data)
		}
	}
}

func TestAnswersThatNeedRepairAreNotForwarded(t *testing.T) {
	const sound = `{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant",` +
		`"content":"x","refusal":null},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`
	if !forwards(t, []byte(sound)) {
		t.Fatal("the complete one is repaired")
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
		if forwards(t, []byte(data)) || data == sound {
			t.Errorf("forwarded: %s", data)
		}
	}
}

// FuzzCompleteAnswer holds the answers that go on as they came against the decoder.
func FuzzCompleteAnswer(f *testing.F) {
	f.Add([]byte(wholeText))
	f.Add([]byte(`{"id":"1","object":"chat.completion","created":1,"model":"m","x":[-1.5,{"y":null},true],` +
		`"choices":[{"message":{"content":"","role":"assistant","refusal":null},"index":0,"finish_reason":"x"}],"usage":{"prompt_tokens":1,` +
		`"completion_tokens":0,"total_tokens":1,"prompt_tokens_details":{"cached_tokens":1}}}`))
	f.Fuzz(func(t *testing.T, data []byte) { forwards(t, data) })
}
