package messages_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/dialects/dialecttest"
	"modelgateway/dialects/messages"
	"modelgateway/llm"
	"modelgateway/providers/all"
	"modelgateway/providers/providertest"
)

// dialect is how a client reads what the package writes.
var dialect = dialecttest.Reader[message]{
	Dialect: messages.Dialect(),
	Asked:   anyRequest, Check: check, Whole: wholeOf, Meaning: meaning, Says: says, Loose: loose,
	Source: llm.Citation{URL: "https://a.example"},
	Failed: func(m *message) bool { return m.Failure != nil },
	Ways: map[string]func() *llm.Request{
		"thoughts":    anyRequest,
		"no thoughts": func() *llm.Request { return &llm.Request{NoThoughts: true} },
		"omitted thoughts": func() *llm.Request {
			return &llm.Request{Thinking: &llm.Thinking{Type: "adaptive", Display: "omitted"}}
		},
	},
}

var answers, from, finish = dialecttest.Answers, dialecttest.From, dialecttest.Finish

func anyRequest() *llm.Request { return &llm.Request{Stream: true} }

func TestEveryAnswerIsWrittenWholeAndAsAStream(t *testing.T) { dialect.TestAnswers(t) }

func TestOnlyBytesOfTheDialectAreForwarded(t *testing.T) { dialect.TestForwards(t, llm.Messages) }

func TestTwoWritersShareNothing(t *testing.T) { dialect.TestWriters(t) }

func TestIDsOfCallsAreUniqueLegalAndStable(t *testing.T) { dialect.TestCallIDs(t, true, legalID) }

func FuzzAStreamKeepsTheRulesAndSaysWhatItsAnswerSays(f *testing.F) {
	dialect.FuzzWriter(f, func(way uint8) *llm.Request {
		req := &llm.Request{NoThoughts: way&1 != 0}
		if way&2 != 0 {
			req.Thinking = &llm.Thinking{Display: "omitted"}
		}
		return req
	})
}

// Every recorded answer and stream of every provider; that Anthropic's SDK reads them is seen in providers/all.
func TestEveryRecordingIsWrittenByTheRules(t *testing.T) {
	dialect.TestRecordings(t, all.Drivers(), func(t *testing.T, r providertest.Recording, e *api.Error) {
		e.RequestID = "req_1"
		var got errorMessage
		body := messages.Dialect().AppendError(nil, e)
		if err := json.Unmarshal(body, &got); err != nil || got.Error.Type == "" || got.Error.Message == "" || *got.RequestID != "req_1" {
			t.Errorf("%s: %v: %s", r.File, err, body)
		}
		status := messages.Dialect().ErrorStatus(e)
		if strings.Contains(string(r.Body), "context_length_exceeded") && (status != 400 || !strings.HasPrefix(got.Error.Message, "prompt is too long: ")) {
			t.Errorf("%s: %d %s", r.File, status, body)
		}
	})
}
