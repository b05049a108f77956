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

	"modelgateway/dialects/responses"
	"modelgateway/llm"
)

// written is a stream as Dialect's writer writes it.
func written(t testing.TB, req *llm.Request, stream llm.Stream) string {
	t.Helper()
	w := responses.Dialect{}.NewWriter(req)
	var text []byte
	for e, err := range stream {
		if err == nil && e != nil {
			text, err = w.Append(text, e)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return string(w.Done(text))
}

// streamed is a stream put together, which must keep the rules.
func streamed(t testing.TB, req *llm.Request, stream llm.Stream) *answered {
	t.Helper()
	text := written(t, req, stream)
	r, err := check(text)
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	return r
}

// wholeOf is an answer as Dialect writes it.
func wholeOf(t testing.TB, req *llm.Request, answer *llm.Answer) *answered {
	t.Helper()
	text, err := responses.Dialect{}.AppendAnswer(nil, req, answer)
	if err != nil {
		t.Fatal(err)
	}
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

// whole is a stream as a whole answer.
func whole(t testing.TB, req *llm.Request, stream llm.Stream) *answered {
	t.Helper()
	answer, err := llm.Collect(stream)
	if err != nil {
		t.Fatal(err)
	}
	return wholeOf(t, req, answer)
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

// both are a stream's response and its whole answer, which must be the same.
func both(t testing.TB, req *llm.Request, stream llm.Stream) *answered {
	t.Helper()
	r := streamed(t, req, stream)
	if one, other := meaning(r), meaning(whole(t, req, stream)); one != other {
		t.Errorf("the stream says\n%s\nthe whole answer\n%s", one, other)
	}
	return r
}

// kinds are the types of a response's items.
func kinds(r *answered) string {
	var all []string
	for i := range r.Output {
		all = append(all, r.Output[i].Type)
	}
	return strings.Join(all, " ")
}
