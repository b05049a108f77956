package controllers

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
)

// What is left of a body is what its other members are, in their order and their own bytes.
func FuzzTake(f *testing.F) {
	for _, body := range []string{
		`{"model":"m","tags":["a"],"messages":[]}`, ` { "tags" : 1 , "ttl":{ } , "model" : "m" } `, `{"ttl":1}`, `{"tags":1,"metadata":{"a":{}}}`,
		`{"a":1,"t\u0061gs":"}","b":2 ,"cache":null}`, `{}`, `[]`, `{"tags":1`, `{"tags" 1,"a":2}`, `{"tags":[,"a":2}`,
	} {
		f.Add(body, "")
		f.Add(body, "other")
	}
	f.Fuzz(func(t *testing.T, text, model string) {
		var asked liteLLM
		out, err := asked.take([]byte(text), model, nil)
		if err != nil || !jsontext.Value(text).IsValid() || !jsonbytes.IsObject([]byte(text)) {
			return
		}
		if !jsontext.Value(out).IsValid() {
			t.Fatalf("%q becomes %q", text, out)
		}
		members := func(text []byte, others bool) (all []string) {
			for name, value := range jsonbytes.Members(text) {
				_, own := liteLLMMembers()[name.String()]
				if others && (own && name.String() != "metadata" || model != "" && name.Is("model")) {
					continue
				}
				all = append(all, string(name)+string(value))
			}
			return all
		}
		want := members([]byte(text), true)
		if model != "" {
			want = slices.Insert(want, 0, `"model"`+string(jsonbytes.AppendString(nil, model)))
		}
		got := members(out, false)
		if strings.Contains(text, "etadata") { // which may stay
			isIt := func(m string) bool { return strings.Contains(m, "data") }
			want, got = slices.DeleteFunc(want, isIt), slices.DeleteFunc(got, isIt)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q becomes %q: %q, not %q", text, out, got, want)
		}
	})
}

func BenchmarkTake(b *testing.B) {
	body := []byte(`{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("word \\n", 160_000) + `"}],"stream":true,"user":"u"}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		var asked liteLLM
		if _, err := asked.take(body, "", nil); err != nil {
			b.Fatal(err)
		}
	}
}
