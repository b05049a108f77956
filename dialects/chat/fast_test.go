package chat

import (
	"reflect"
	"testing"

	"modelgateway/api"
)

func TestPlainTextTakesTheFastPath(t *testing.T) {
	for _, body := range []string{
		string(prompt(200)),
		` {"messages" : [ {"content":"\u00e9\n\"","role":"user","name":"x"} ] , "model":"m\u0041" , "n":2,"seed":0,"top_p":0.25,` +
			`"frequency_penalty":-1.5,"presence_penalty":2,"user":"u","reasoning_effort":"low","stream":false} `,
		`{"model":"m","messages":[]}`, `{}`, `{"max_completion_tokens":9,"stream_options":{}}`,
	} {
		got, want := new(Request), new(Request)
		if !got.reads([]byte(body)) {
			t.Errorf("not taken: %s", body)
			continue
		}
		if err := api.Decode([]byte(body), want); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s\nread %+v\nwant %+v, %v", body, got, want, err)
		}
	}
}

func TestOtherRequestsAreDecodedStrictly(t *testing.T) {
	for _, body := range []string{
		``, `[]`, `{`, `{"model":"m"}x`, `{"model":"m","model":"m"}`, `{"model":null}`, `{"Model":"m"}`, `{"x":1}`, `{"n":-1}`, `{"n":1.0}`,
		`{"n":"1"}`,
		`{"temperature":1e2}`, `{"temperature":"1"}`, `{"stream":1}`, `{"stream_options":null}`, `{"stream_options":{"x":1}}`,
		`{"stream_options":{"include_usage":true,"include_usage":true}}`,
		`{"messages":[{"role":"user","content":null}]}`, `{"messages":[{"role":"user","content":[]}]}`, `{"messages":[{"role":"wizard"}]}`,
		`{"messages":[{"role":"user","x":1}]}`,
		`{"messages":[{"role":"user","role":"user"}]}`, `{"messages":[null]}`, `{"messages":{}}`, `{"model":"\ud800"}`, "{\"model\":\"\xff\"}",
		`{"tools":[]}`,
	} {
		if new(Request).reads([]byte(body)) {
			t.Errorf("taken: %s", body)
		}
	}
}

// FuzzFastPath compares the fast path with the strict decoder: what
// it takes, the strict one takes too, and as the same.
func FuzzFastPath(f *testing.F) {
	f.Add(prompt(200))
	f.Add(
		[]byte(`{"messages":[{"content":"\u00e9\n\"é","role":"user","name":"x"},{"role":"tool"}],"model":"m","n":2,"seed":0,"top_p":0.25,` +
			`"frequency_penalty":-1.5,"presence_penalty":2,"user":"u","reasoning_effort":"low","stream":true,` +
			`"stream_options":{"include_usage":false},"max_tokens":1,"max_completion_tokens":2,"temperature":0.5}`),
	)
	f.Fuzz(func(t *testing.T, body []byte) {
		got, want := new(Request), new(Request)
		if !got.reads(body) {
			return
		}
		if err := api.Decode(body, want); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q\nread %+v\nwant %+v, %v", body, got, want, err)
		}
	})
}

// reads is readFast without a bound of memory.
func (r *Request) reads(body []byte) bool {
	fast, _ := r.readFast(nil, body)
	return fast
}
