package gemini

import (
	"errors"
	"strings"
	"testing"

	"modelgateway/api"
)

// askFormatted is a request with functions and a format for the answer.
const askFormatted = `{"model":"m","messages":[{"role":"user","content":"q"}],
	"tools":[{"type":"function","function":{"name":"3d","parameters":{"type":"object","properties":{"q":{"type":"string"}}}}}],
	"response_format":{"type":"json_schema","json_schema":{"name":"verdict","schema":{"type":"object","properties":{"a":{"type":"string"}}}}}}`

func TestAnswerOfAFunctionIsTheContent(t *testing.T) {
	const verdict = `{"functionCall":{"name":"verdict","args":{"a": "x"}}}`
	for name, tt := range map[string]struct{ first, last, want string }{
		"alone":             {verdict, ``, `0:role 0:"{\"a\":\"x\"}" 0:.stop`},
		"after some words":  {`{"text":"Sure: "}`, verdict, `0:role 0:"{\"a\":\"x\"}" 0:.stop`},
		"before some words": {verdict, `{"text":" Done."}`, `0:role 0:"{\"a\":\"x\"}" 0:.stop`},
		"twice":             {verdict, `{"functionCall":{"name":"verdict","args":{"a":"y"}}}`, `0:role 0:"{\"a\":\"x\"}" 0:.stop`},
		"with a signature":  {strings.Replace(verdict, `}}}`, `}},"thoughtSignature":"c2ln"}`, 1), ``, `0:role 0:"{\"a\":\"x\"}" 0:.stop`},
		"beside a call": {`{"functionCall":{"name":"_3d","args":{"q":"z"}}}`, verdict,
			`0:role 0:call0(3d {"q":"z"}) 0:"{\"a\":\"x\"}" 0:.tool_calls`},
		"a call of the client's":   {`{"functionCall":{"name":"_3d","args":{"q":"z"}}}`, ``, `0:role 0:call0(3d {"q":"z"}) 0:.tool_calls`},
		"words of a model at will": {`{"text":"I "}`, `{"text":"refuse."}`, `0:role 0:"I refuse." 0:.stop`},
	} {
		last := tt.last
		if last == "" {
			last = `{"text":""}`
		}
		for kind, body := range map[string]string{
			"a stream": eventsOf(answerWith(tt.first, ""), answerWith(last, stop)),
			"whole":    answerWith(tt.first+","+last, stop),
		} {
			if got, err := show(t, askFormatted, strings.NewReader(body)); err != nil || got != tt.want {
				t.Errorf("%s, %s: %s, %v; want %s", name, kind, got, err, tt.want)
			}
		}
	}
}

func TestFormatsThatNoFunctionCanHaveAreRefusedBesideTools(t *testing.T) {
	const list = `{"type":"array","items":{"type":"string"}}`
	_, err := prepare(t, "gemini-2.5-flash", strings.Replace(askFormatted, `{"type":"object","properties":{"a":{"type":"string"}}}`, list, 1))
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Status != 400 || e.Param != "response_format.json_schema.schema" {
		t.Errorf("%v", err)
	}
}
