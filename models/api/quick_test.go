package api

import (
	"reflect"
	"strings"
	"testing"
)

func TestPlainTalkIsReadQuickly(t *testing.T) {
	for _, body := range []string{
		string(prompt(200)),
		` {"messages" : [ {"content":"\u00e9\n\"","role":"user","name":"x"} ] , "model":"m\u0041" , "n":2,"seed":0,"top_p":0.25,"frequency_penalty":-1.5,"presence_penalty":2,"user":"u","reasoning_effort":"low","stream":false} `,
		`{"model":"m","messages":[]}`, `{}`, `{"max_completion_tokens":9,"stream_options":{}}`,
	} {
		var got, want ChatRequest
		if !got.quick([]byte(body)) {
			t.Errorf("not taken: %s", body)
			continue
		}
		if err := Decode([]byte(body), &want); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s\nread %+v\nwant %+v, %v", body, got, want, err)
		}
	}
}

func TestEverythingElseIsDecodedStrictly(t *testing.T) {
	for _, body := range []string{
		``, `[]`, `{`, `{"model":"m"}x`, `{"model":"m","model":"m"}`, `{"model":null}`, `{"Model":"m"}`, `{"x":1}`, `{"n":-1}`, `{"n":1.0}`, `{"n":"1"}`,
		`{"temperature":1e2}`, `{"temperature":"1"}`, `{"stream":1}`, `{"stream_options":null}`, `{"stream_options":{"x":1}}`, `{"stream_options":{"include_usage":true,"include_usage":true}}`,
		`{"messages":[{"role":"user","content":null}]}`, `{"messages":[{"role":"user","content":[]}]}`, `{"messages":[{"role":"wizard"}]}`, `{"messages":[{"role":"user","x":1}]}`,
		`{"messages":[{"role":"user","role":"user"}]}`, `{"messages":[null]}`, `{"messages":{}}`, `{"model":"\ud800"}`, "{\"model\":\"\xff\"}", `{"tools":[]}`,
	} {
		if new(ChatRequest).quick([]byte(body)) {
			t.Errorf("taken: %s", body)
		}
	}
}

// FuzzQuick holds the quick reading of requests against the strict one: what
// it takes, the strict one takes too, and as the same.
func FuzzQuick(f *testing.F) {
	f.Add(prompt(200))
	f.Add([]byte(`{"messages":[{"content":"\u00e9\n\"é","role":"user","name":"x"},{"role":"tool"}],"model":"m","n":2,"seed":0,"top_p":0.25,"frequency_penalty":-1.5,"presence_penalty":2,"user":"u","reasoning_effort":"low","stream":true,"stream_options":{"include_usage":false},"max_tokens":1,"max_completion_tokens":2,"temperature":0.5}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var got, want ChatRequest
		if !got.quick(body) {
			return
		}
		if err := Decode(body, &want); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q\nread %+v\nwant %+v, %v", body, got, want, err)
		}
	})
}

func TestALongPromptIsReadInOneGo(t *testing.T) {
	body := prompt(1 << 20)
	if allocs := testing.AllocsPerRun(5, func() {
		if _, err := DecodeChatRequest(body); err != nil {
			t.Fatal(err)
		}
	}); allocs > 12 {
		t.Errorf("%.0f allocations", allocs)
	}
	req, err := DecodeChatRequest(body)
	if err != nil || !strings.HasPrefix(req.Messages[1].Content.Text(), "The quick brown fox jumps over the lazy dog, and \"why\"") {
		t.Errorf("%v", err)
	}
}
