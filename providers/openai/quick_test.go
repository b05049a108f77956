package openai

import (
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// whole is an event as the full reading has it, without what the quick one
// leaves out.
func whole(t *testing.T, data []byte) (event, error) {
	t.Helper()
	var e event
	err := json.Unmarshal(data, &e, lenient)
	e.ID, e.Object, e.Created, e.Model, e.Obfuscation = "", "", 0, "", ""
	for i := range e.Choices {
		c := &e.Choices[i]
		c.Delta.Role = ""
		if c.Logprobs.Kind() == jsontext.KindNull {
			c.Logprobs = nil
		}
	}
	return e, err
}

func TestThePiecesOfTextAreReadQuickly(t *testing.T) {
	var q quick
	for _, data := range []string{
		strings.TrimSpace(strings.TrimPrefix(textEvent, "data: ")),
		`{"id":"a","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}]}`,
		` { "choices" : [ { "delta" : { "content" : "\u00e9\n\"é" } , "index" : 12 } ] , "service_tier" : null } `,
		`{"choices":[{"delta":{"reasoning_content":"hm","content":null}}]}`,
		`{"choices":[{}]}`,
	} {
		var got event
		if !q.read([]byte(data), &got) {
			t.Errorf("not read: %s", data)
			continue
		}
		want, err := whole(t, []byte(data))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s\nread %+v\nwant %+v, %v", data, got, want, err)
		}
	}
}

func TestEverythingElseIsReadInFull(t *testing.T) {
	var q quick
	for _, data := range []string{
		``, `{`, `[DONE]`, `{}`, `{"choices":[]}`, `{"choices":[{},{}]}`, `{"choices":[{}]}x`, `{"choices":[{}],}`, `{,"choices":[{}]}`,
		`{"choices":[{}],"choices":[{}]}`, `{"choices":[{"index":0,"index":1}]}`, `{"choices":[{"index":01}]}`, `{"choices":[{"index":-1}]}`, `{"choices":[{"index":1.0}]}`,
		`{"choices":[{"finish_reason":"stop"}]}`, `{"choices":[{"logprobs":{}}]}`, `{"choices":[{"delta":{"tool_calls":[]}}]}`, `{"choices":[{"delta":{"refusal":"no"}}]}`,
		`{"choices":[{}],"usage":{}}`, `{"choices":[{}],"error":null}`, `{"choices":[{}],"x":1}`, `{"choices":[{"delta":{"content":"\ud800"}}]}`,
		`{"choices":[{"delta":{"content":"` + "\xff" + `"}}]}`, `{"choices":[{"delta":{"content":"` + "\n" + `"}}]}`, `{"id":"\x","choices":[{}]}`,
		`{"choices":[{}],"created":1e3}`, `{"choices":[{}],"created":"1"}`, `{"choices":[{}],"model":nul}`,
	} {
		if q.read([]byte(data), new(event)) {
			t.Errorf("read: %s", data)
		}
	}
}

// FuzzQuick holds the quick reading against the full one: what it takes must
// be JSON, and mean the same.
func FuzzQuick(f *testing.F) {
	f.Add([]byte(strings.TrimSpace(strings.TrimPrefix(textEvent, "data: "))))
	f.Add([]byte(` { "choices" : [ { "delta" : { "content" : "\u00e9\n\"é" } , "index" : 12 } ] , "service_tier" : null } `))
	f.Add([]byte(`{"id":"a","created":1,"usage":null,"choices":[{"delta":{"role":"x","refusal":null,"reasoning_content":"h\\"},"logprobs":null,"finish_reason":null}]}`))
	var q quick
	f.Fuzz(func(t *testing.T, data []byte) {
		var got event
		if !q.read(data, &got) {
			return
		}
		want, err := whole(t, data)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q\nread %+v\nwant %+v, %v", data, got, want, err)
		}
	})
}
