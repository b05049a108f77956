package gemini

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// partial is a part with a function call of these members.
func partial(members string) string { return `{"functionCall":{` + members + `}}` }

func TestPartsOfACallAreJoined(t *testing.T) {
	const begin, more, last = `"name":"f","id":"c1","willContinue":true`, `"willContinue":true,"partialArgs":[`, ``
	arg := func(path, value string) string { return `{"jsonPath":"` + path + `",` + value + `}` }
	for name, tt := range map[string]struct {
		parts []string
		want  string
	}{
		"a text in fragments": {[]string{begin, more + arg("$.a", `"stringValue":"New ","willContinue":true`) + `]`,
			more + arg("$.a", `"stringValue":"\"York\""`) + `]`, last}, `call0(f {"a":"New \"York\""})`},
		"values of every kind": {[]string{begin, more + arg("$.n", `"numberValue":12345678901234567890`) + `,` + arg("$.b", `"boolValue":false`) +
			`,` + arg("$.z", `"nullValue":null`) + `,` + arg("$.y", `"nullValue":"NULL_VALUE"`) + `,` + arg("$.e", `"stringValue":""`) + `]`, last},
			`call0(f {"n":12345678901234567890,"b":false,"z":null,"y":null,"e":""})`},
		"objects and lists": {[]string{begin, more + arg("$.o.x[0]", `"stringValue":"p"`) + `,` + arg("$.o['k.k'][0].y", `"numberValue":1`) +
			`]`, more + arg("$.o.x[1]", `"stringValue":"q"`) + `,` + arg(`$['o'][\"x\"][1]`, `"stringValue":"r"`) + `]`, last},
			`call0(f {"o":{"x":["p","qr"],"k.k":[{"y":1}]}})`},
		"whole arguments first": {[]string{begin + `,"args":{"a":1,"l":[1]}`, more + arg("$.l[1]", `"numberValue":2`) + `]`, last},
			`call0(f {"a":1,"l":[1,2]})`},
		"all in one part": {[]string{`"name":"f","partialArgs":[` + arg("$.a", `"numberValue":1`) + `]`}, `call0(f {"a":1})`},
		"no arguments":    {[]string{begin, last}, `call0(f {})`},
		"the id again": {[]string{begin, begin + `,"partialArgs":[` + arg("$.a", `"numberValue":1`) + `]`, `"name":"f","id":"c1"`},
			`call0(f {"a":1})`},
		"another call":            {[]string{begin, more + arg("$.a", `"numberValue":1`) + `]`, `"name":"g"`}, `call0(f {"a":1}) 0:call1(g {})`},
		"the same function again": {[]string{`"name":"f","willContinue":true`, `"name":"f","args":{"a":2}`}, `call0(f {}) 0:call1(f {"a":2})`},
		"an end that is missing":  {[]string{begin, more + arg("$.a", `"stringValue":"x"`) + `]`}, `call0(f {"a":"x"})`},
		"a call without a name":   {[]string{last, `"args":{"a":1}`, `"name":"f"`}, `call0(f {})`},
	} {
		var stream, whole []string
		for i, members := range tt.parts {
			more := ""
			if i == len(tt.parts)-1 {
				more = stop
			}
			stream, whole = append(stream, answerWith(partial(members), more)), append(whole, partial(members))
		}
		want := "0:role 0:" + tt.want + " 0:.tool_calls"
		for kind, body := range map[string]string{"a stream": eventsOf(stream...), "whole": answerWith(strings.Join(whole, ","), stop)} {
			if got, err := show(t, ask, strings.NewReader(body)); err != nil || got != want {
				t.Errorf("%s, %s:\ngot  %s, %v\nwant %s", name, kind, got, err, want)
			}
		}
	}
}

func TestACallKeepsTheSignatureOfItsFirstPart(t *testing.T) {
	body := eventsOf(answerWith(`{"functionCall":{"name":"f","willContinue":true},"thoughtSignature":"c2ln"}`, ""),
		answerWith(partial(""), stop))
	const want = `0:role 0:#0(reasoning.encrypted google-gemini-v1 gemini-2.5-flash|c2ln) 0:call0(f {})+c2ln 0:.tool_calls`
	if got, err := show(t, ask, strings.NewReader(body)); err != nil || got != want {
		t.Errorf("%s, %v", got, err)
	}
}

func TestAnAnswerOfAFunctionMayComeInParts(t *testing.T) {
	body := eventsOf(answerWith(partial(`"name":"verdict","willContinue":true`), ""),
		answerWith(partial(`"partialArgs":[{"jsonPath":"$.a","stringValue":"x"}]`), stop))
	if got, err := show(t, askFormatted, strings.NewReader(body)); err != nil || got != `0:role 0:"{\"a\":\"x\"}" 0:.stop` {
		t.Errorf("%s, %v", got, err)
	}
}

func TestPartsOfACallThatCannotBeReadAreAnError(t *testing.T) {
	for _, args := range []string{
		`{"jsonPath":"a","stringValue":"x"}`, `{"jsonPath":"$.","stringValue":"x"}`, `{"jsonPath":"$[","stringValue":"x"}`,
		`{"jsonPath":"$['a","stringValue":"x"}`, `{"jsonPath":"$.a[1]","stringValue":"x"}`, `{"jsonPath":"$.a[-1]","stringValue":"x"}`,
		`{"jsonPath":"$.a[x]","stringValue":"x"}`, `{"jsonPath":"$.a","stringValue":5}`, `7`, `{"stringValue":"x"}`,
		`{"jsonPath":"$.a","stringValue":"x"},{"jsonPath":"$.a.b","stringValue":"x"}`,
		`{"jsonPath":"$.a.b","stringValue":"x"},{"jsonPath":"$.a","stringValue":"x"}`,
		`{"jsonPath":"$.a","numberValue":1},{"jsonPath":"$.a","stringValue":"x"}`,
		`{"jsonPath":"$` + strings.Repeat(".a", 101) + `","stringValue":"x"}`,
	} {
		body := eventsOf(answerWith(partial(`"name":"f","partialArgs":[`+args+`]`), stop))
		got, err := show(t, ask, strings.NewReader(body))
		if e, ok := clientError(err); !ok || e.Status != 502 || strings.Contains(got, "call") {
			t.Errorf("%s: %s, %v", args, got, err)
		}
	}
}

func TestACallThatStaysIncompleteIsNotCalled(t *testing.T) {
	begun := answerWith(partial(`"name":"f","willContinue":true`), "")
	for name, body := range map[string]string{
		"a stream that breaks off": eventsOf(begun),
		"a whole answer":           begun,
		"a malformed call":         eventsOf(begun, answerWith(``, `,"finishReason":"MALFORMED_FUNCTION_CALL"`)),
	} {
		got, err := show(t, ask, strings.NewReader(body))
		if e, ok := clientError(err); !ok || e.Status != 502 || strings.Contains(got, "call") {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	got, err := show(t, ask, strings.NewReader(eventsOf(answerWith(`{"text":"a"}`, ""), begun, answerWith(``,
		`,"finishReason":"MALFORMED_FUNCTION_CALL"`))))
	if err != nil || got != `0:role 0:"a" 0:.stop` {
		t.Errorf("after text: %s, %v", got, err)
	}
	got, err = show(t, ask, strings.NewReader(eventsOf(begun, answerWith(``, `,"finishReason":"MAX_TOKENS"`))))
	if err != nil || got != `0:role 0:call0(f {}) 0:.length` {
		t.Errorf("at the limit: %s, %v", got, err)
	}
}

// FuzzPartialArguments: any parts of arguments become JSON or an error.
func FuzzPartialArguments(f *testing.F) {
	f.Add(`$.a`, `"x"`, `$.a`, `"y"`)
	f.Add(`$['a.b'][0].c`, `1e400`, `$['a.b'][1]`, `null`)
	f.Add(`$[0]`, `true`, `$`, `"\ud800"`)
	f.Fuzz(func(t *testing.T, path, value, path2, value2 string) {
		var a argument
		for _, p := range [][2]string{{path, value}, {path2, value2}, {path, value2}} {
			for _, kind := range []string{"stringValue", "numberValue", "boolValue", "nullValue"} {
				text := append(append([]byte(`{"jsonPath":`), quote(p[0])...), `,"`+kind+`":`+p[1]+`}`...)
				if jsontext.Value(text).IsValid() && a.fragment(text) == nil {
					break
				}
			}
		}
		if out := jsontext.Value(a.append(nil)); !out.IsValid() {
			t.Fatalf("%s", out)
		}
	})
}
