package responses

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
)

// FuzzResume goes on from a turn that was kept. What was kept came from a request that was
// taken and an answer of ours, so the whole conversation is taken as well, with each item once.
func FuzzResume(f *testing.F) {
	for _, input := range []string{
		`"Hello"`, `[` + hello + `]`, `[{"type":"item_reference","id":"msg_1"},` + hello + `]`, `[{"id":"msg_2"}]`, `[]`, `""`,
	} {
		f.Add([]byte(`"First"`), []byte(input), []byte(`[{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[]}]`))
	}
	f.Fuzz(func(t *testing.T, before, now, output []byte) {
		turn, ok := goesOn(before)
		req, okNow := goesOn(now)
		if !ok || !okNow || !jsontext.Value(output).IsValid() || jsontext.Value(output).Kind() != '[' {
			return
		}
		answer := jsontext.Value(`{"id":"resp_1","status":"completed","output":` + string(output) + `}`)
		earlier := []llm.Turn{{ID: "resp_1", Input: requestOf(turn).members[memberInput], Answer: answer}}
		body, err := resume(req, earlier, earlier)
		if err != nil {
			return // a reference without an item
		}
		if !jsontext.Value(body).IsValid() {
			t.Fatalf("%s and %s and %s made %s", before, output, now, body)
		}
		want := itemsIn(earlier[0].Input) + itemsIn(jsonbytes.Member(answer, "output")) + itemsIn(requestOf(req).members[memberInput])
		if got := itemsIn(jsonbytes.Member(body, "input")); got != want || jsonbytes.Text(jsonbytes.Member(body, "model")) != "m" || string(jsonbytes.Member(body, "top_p")) != "0.5" {
			t.Fatalf("%d items of %d in %s", got, want, body)
		}
	})
}

// goesOn is a request with an input that goes on from a turn.
func goesOn(input []byte) (*llm.Request, bool) {
	req, err := Decode(nil, []byte(`{"model":"m","previous_response_id":"resp_1","top_p":0.5,"input":`+string(input)+`}`))
	return req, err == nil
}

// itemsIn is how many items an input has.
func itemsIn(input jsontext.Value) (n int) {
	if input.Kind() == jsontext.KindString {
		return 1
	}
	for range elements(input) {
		n++
	}
	return n
}
