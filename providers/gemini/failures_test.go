package gemini

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"modelgateway/api"
	"modelgateway/llm"
	"modelgateway/providers"
)

// TestABrokenAnswerIsAnError has everything that must not look like an answer.
func TestABrokenAnswerIsAnError(t *testing.T) {
	const text = `{"text":"a"}`
	overloaded := `{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`
	pretty := "{\n  \"error\": {\n    \"code\": 429,\n    \"message\": \"slow down\",\n    \"status\": \"RESOURCE_EXHAUSTED\"\n  }\n}\n"
	for _, tt := range []struct {
		name, body, shown string
		status, upstream  int
	}{
		{"nothing at all", "", "refused", 502, 0},
		{"nothing but comments", ": a\n\n: b\n\n", "refused", 502, 0},
		{"an empty object", "{}", "refused", 502, 0},
		{"an empty array", "[]", "refused", 502, 0},
		{"a string", `"sorry"`, "refused", 502, 0},
		{"an array of numbers", `[1,2]`, "refused", 502, 0},
		{"a page", "<!DOCTYPE html>\n<html><body>{nice try}</body></html>\n", "refused", 502, 0},
		{"an event that is no JSON", "data: hello\n\n", "refused", 502, 0},
		{"an event that is no object", "data: \"hello\"\n\n", "refused", 502, 0},
		{"text that is a number", eventsOf(answerWith(`{"text":5}`, stop)), "refused", 502, 0},
		{"only usage", eventsOf(`{"usageMetadata":{"promptTokenCount":4}}`), "refused", 502, 0},

		{"an error first", eventsOf(overloaded), "refused", 502, 503},
		{"an error behind empty events", eventsOf(`{}`, answerWith(`{"text":""}`, ""), overloaded), "refused", 502, 503},
		{"an error midway", eventsOf(answerWith(text, ""), overloaded), ` 0:role 0:"a" error`, 502, 503},
		{"an error in place of all events", pretty, "refused", 429, 429},
		{"an error in an array", "[" + pretty + "]", "refused", 429, 429},
		{"an error later in an array", "[" + answerWith(text, "") + "," + pretty + "]", ` 0:role 0:"a" error`, 429, 429},
		{"an error outside the events", eventsOf(answerWith(text, "")) + pretty, ` 0:role 0:"a" error`, 429, 429},
		{"an error outside the events, after the finish", eventsOf(answerWith(text, stop)) + "[" + pretty + "]", ` 0:role 0:"a" error`,
			429, 429},
		{"an error without an HTTP code", eventsOf(`{"error":{"code":4,"message":"late","status":"DEADLINE_EXCEEDED"}}`), "refused", 504,
			504},
		{"an error of no code", eventsOf(`{"error":{"message":"?"}}`), "refused", 502, 500},
		{"a bad key inside a stream", eventsOf(`{"error":{"code":400,"message":"API key not valid.",` +
			`"details":[{"reason":"API_KEY_INVALID"}]}}`), "refused", 502, 400},

		{"no finish", eventsOf(answerWith(text, "")), ` 0:role 0:"a" error`, 502, 0},
		{"no finish of one of two", eventsOf(`{"candidates":[{"index":0,"finishReason":"STOP","content":{"parts":[{"text":"a"}]}},` +
			`{"index":1,"content":{"parts":[{"text":"b"}]}}]}`), ` 0:role 0:"a" 1:role 1:"b" error`, 502, 0},
		{"a call without a finish", eventsOf(answerWith(`{"functionCall":{"name":"f"}}`, "")), ` 0:role 0:call0(f {}) error`, 502, 0},
		{"broken JSON midway", eventsOf(answerWith(text, ""), `{"candidates":[{]}`), ` 0:role 0:"a" error`, 502, 0},
		{"an array without its end", "[" + answerWith(text, stop), ` 0:role 0:"a" error`, 502, 0},
		{"an array cut in an element", "[" + answerWith(text, "") + `,{"candi`, ` 0:role 0:"a" error`, 502, 0},
		{"an object without its end", strings.TrimSuffix(answerWith(text, stop), "}"), "refused", 502, 0},

		{"a malformed call alone", eventsOf(`{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL",` +
			`"finishMessage":"Malformed function call: print("}]}`), "refused", 502, 200},
		{"a malformed call after thoughts", eventsOf(answerWith(`{"text":"hm","thought":true}`, ""),
			`{"candidates":[{"finishReason":"MALFORMED_RESPONSE"}]}`), ` 0:role 0:~hm~ error`, 502, 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := show(t, ask, iotest.OneByteReader(strings.NewReader(tt.body)))
			e, ok := clientError(err)
			if !ok || got != tt.shown || e.Status != tt.status || e.UpstreamStatus != tt.upstream || e.Code != api.CodeProviderError ||
				e.Provider != "gemini" || strings.Contains(e.Message, "API key") {
				t.Errorf("got %q, %+v, %v", got, e, err)
			}
			if ok && e.Status == 502 && e.ShouldRetry() == strings.Contains(e.Message, "credentials") {
				t.Errorf("%v: to be tried again: %v", e, e.ShouldRetry())
			}
		})
	}
}

const longStream = `data: {"candidates":[{"content":{"parts":[{"text":"thinking","thought":true},{"text":"héllo "}],"role":"model"},` +
	`"index":0}],"usageMetadata":{"promptTokenCount":1,"totalTokenCount":1},"responseId":"r","modelVersion":"gemini-x"}` + "\r\n\r\n" +
	`data: {"candidates":[{"content":{"parts":[{"text":"wörld"},{"functionCall":{"name":"f","args":{"a":"\u00e9"}},` +
	`"thoughtSignature":"c2ln"}],"role":"model"},"index":0}],"responseId":"r"}` + "\r\n\r\n" +
	`data: {"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP","index":0}],` +
	`"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":2,"totalTokenCount":3},"responseId":"r"}` + "\r\n\r\n"

func TestAStreamCutAnywhereIsNeverWhole(t *testing.T) {
	var events []string
	for line := range strings.Lines(longStream) {
		if a, ok := strings.CutPrefix(line, "data: "); ok {
			events = append(events, strings.TrimSpace(a))
		}
	}
	for name, whole := range map[string]string{"events": longStream, "array": "[" + strings.Join(events, ",\n") + "]"} {
		want, err := show(t, ask, strings.NewReader(whole))
		if err != nil || !strings.HasSuffix(want, "usage=1+2=3(0,0)") {
			t.Fatalf("%s, %v", want, err)
		}
		last := len(strings.TrimRight(whole, "\r\n")) // what follows adds nothing
		for at := range last {
			got, err := show(t, ask, strings.NewReader(whole[:at]))
			if e, ok := clientError(err); !ok || e.Status != 502 {
				t.Fatalf("%s cut at %d: %s, %v", name, at, got, err)
			}
			if got = strings.TrimSpace(strings.TrimSuffix(got, " error")); got != "refused" && !strings.HasPrefix(want, got) {
				t.Fatalf("%s cut at %d shows something else: %s", name, at, got)
			}
		}
	}
}

// clientError is what a client is told of an error that is one for clients.
func clientError(err error) (*api.Error, bool) {
	if _, ok := errors.AsType[*providers.Refusal](err); ok {
		return api.AsError(err), true
	}
	return errors.AsType[*api.Error](err)
}

func TestAnEndedContextIsTheError(t *testing.T) {
	x, err := prepare(t, "gemini-2.5-flash", ask)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s, err := x.start(ctx, io.MultiReader(strings.NewReader(eventsOf(answerWith(`{"text":"a"}`, ""))),
		iotest.ErrReader(errors.New("connection lost"))))
	if err != nil {
		t.Fatal(err)
	}
	var last error
	for _, err := range s.run {
		last = err
		cancel()
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("%v", last)
	}
	_, err = x.start(ctx, iotest.ErrReader(errors.New("connection lost")))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestALostConnectionIsABadGateway(t *testing.T) {
	for _, body := range []string{"", "  ", "data: {", "[", "[" + answerWith(`{"text":"a"}`, ""), eventsOf(answerWith(`{"text":"a"}`,
		""))} {
		_, err := show(t, ask, io.MultiReader(strings.NewReader(body), iotest.ErrReader(errors.New("connection lost"))))
		if e, ok := clientError(err); !ok || e.Status != 502 || !strings.Contains(err.Error(), "connection lost") {
			t.Errorf("%q: %v", body, err)
		}
	}
}

func TestErrorsOfAWholeAnswerComeBeforeItIsShown(t *testing.T) {
	const text, overloaded = `{"text":"a"}`, `{"error":{"code":503,"message":"The model is overloaded."}}`
	for name, tt := range map[string]struct {
		body   string
		status int // of the upstream
	}{
		"nothing":                      {"", 0},
		"an error":                     {overloaded, 503},
		"an error later in an array":   {"[" + answerWith(text, "") + "," + overloaded + "]", 503},
		"an error later in the events": {eventsOf(answerWith(text, ""), overloaded), 503},
		"no finish after a thought":    {answerWith(`{"text":"a","thought":true}`, ""), 0},
		"no finish in an array":        {"[" + answerWith(text, "") + "]", 0},
		"a malformed call": {`{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL",` +
			`"content":{"parts":[{"thoughtSignature":"s"}]}}]}`, 200},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := serve(t, 200, tt.body)
			stream, err := exchangeWith(t, p, model(t, "gemini-2.5-flash"), ask).Open(t.Context(), testKey)
			if err == nil {
				_, err = llm.Collect(stream) // as the attempt does
			}
			if e, ok := clientError(err); !ok || e.Status != 502 || e.UpstreamStatus != tt.status {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestAWholeAnswerMayComeInPieces(t *testing.T) {
	pieces := []string{answerWith(`{"text":"a"}`, ""), answerWith(`{"text":"b"}`, stop)}
	for name, body := range map[string]string{"an array": "[" + strings.Join(pieces, ",") + "]", "events": eventsOf(pieces...)} {
		p, _ := serve(t, 200, body)
		answer, err := open(t, exchangeWith(t, p, model(t, "gemini-2.5-flash"), ask))
		if err != nil || *answer.Choices[0].Message.Content != "ab" {
			t.Errorf("%s: %+v, %v", name, answer, err)
		}
	}
}
