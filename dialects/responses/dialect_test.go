package responses_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/dialects/dialecttest"
	"modelgateway/dialects/responses"
	"modelgateway/llm"
	"modelgateway/providers/all"
	"modelgateway/providers/providertest"
)

// dialect is how a client reads what the package writes.
var dialect = dialecttest.Reader[answered]{
	Dialect: responses.Dialect(),
	Asked:   anyRequest, Check: check, Whole: wholeOf, Meaning: meaning, Says: says,
	Failed: func(r *answered) bool { return r.Status == "failed" },
	Ways: map[string]func() *llm.Request{
		"summaries":    anyRequest,
		"no summaries": func() *llm.Request { return &llm.Request{Model: "asked"} },
	},
}

var answers, finish = dialecttest.Answers, dialecttest.Finish

func anyRequest() *llm.Request {
	return &llm.Request{Stream: true, Model: "asked", Thinking: &llm.Thinking{Type: "adaptive", Display: "summarized"}}
}

func TestEveryAnswerIsWrittenWholeAndAsAStream(t *testing.T) { dialect.TestAnswers(t) }

func TestOnlyBytesOfTheDialectAreForwarded(t *testing.T) { dialect.TestForwards(t, llm.Responses) }

func TestTwoWritersShareNothing(t *testing.T) { dialect.TestWriters(t) }

func TestIDsOfCallsAreUniqueAndShort(t *testing.T) {
	dialect.TestCallIDs(t, false, func(id string) bool { return id != "" })
}

func FuzzAStreamKeepsTheRulesAndIsItsAnswer(f *testing.F) {
	dialect.FuzzWriter(f, func(way uint8) *llm.Request {
		req := &llm.Request{Model: "m", SingleCall: way&2 != 0}
		if way&1 != 0 {
			req.Thinking = anyRequest().Thinking
		}
		return req
	})
}

// Every recorded answer and stream of every provider; that OpenAI's SDK reads them is seen in providers/all.
func TestEveryRecordingIsWrittenByTheRules(t *testing.T) {
	dialect.TestRecordings(t, all.Drivers(), func(t *testing.T, r providertest.Recording, e *api.Error) {
		w := responses.Dialect().NewWriter(anyRequest(), nil)
		early := responses.Dialect().FailsInStream(e)
		failed, err := check(string(w.Fail(nil, e)))
		tooLong := strings.Contains(string(r.Body), "context_length_exceeded")
		if status := responses.Dialect().ErrorStatus(e); err != nil || failed.Error.Message == "" || tooLong && (status != 400 || !early) ||
			early != (failed.Error.Code == "context_length_exceeded") {
			t.Errorf("%s: %d, %v: %+v", r.File, status, err, failed)
		}
	})
}

// wholeOf is a response that is written whole.
func wholeOf(t testing.TB, text []byte) *answered {
	t.Helper()
	r := new(answered)
	var all map[string]jsontext.Value
	if err := errors.Join(json.Unmarshal(text, r), json.Unmarshal(text, &all)); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for _, m := range members {
		if all[m] == nil {
			t.Errorf("there is no %s in %s", m, text)
		}
	}
	r.raw = string(text)
	return r
}

// says is what the model said in a response.
func says(r *answered) (all []dialecttest.Said) {
	for i := range r.Output {
		item := &r.Output[i]
		for _, p := range append(item.Content, item.Summary...) {
			all = append(all, dialecttest.Said{Text: p.Text + p.Refusal, Thought: item.Type == "reasoning"})
		}
		if item.Type == "function_call" {
			all = append(all, dialecttest.Said{ID: item.CallID, Name: item.Name, Arguments: item.arguments()})
		}
	}
	return all
}

// meaning is the JSON of a response without what is made anew for each: its ids and times.
func meaning(r *answered) string {
	stem := strings.TrimPrefix(r.ID, "resp_")
	text := strings.ReplaceAll(r.raw, stem, "ID")
	created, ended := fmt.Sprintf(`"created_at":%d,`, r.CreatedAt), ""
	if r.CompletedAt != nil {
		ended = fmt.Sprintf(`"completed_at":%d,`, *r.CompletedAt)
	}
	text = strings.NewReplacer(created, "", ended, "").Replace(text)
	return sealed.ReplaceAllStringFunc(text, func(s string) string { // a call without an id gets one, which is in its thought as well
		thought, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(s, "mgw1."))
		return strings.ReplaceAll(string(thought), stem, "ID") + fmt.Sprint(err)
	})
}

var sealed = regexp.MustCompile(`mgw1\.[\w-]+`)

// kinds are the types of a response's items.
func kinds(r *answered) string {
	var all []string
	for i := range r.Output {
		all = append(all, r.Output[i].Type)
	}
	return strings.Join(all, " ")
}
