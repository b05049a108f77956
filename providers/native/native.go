// Package native passes the answers of an upstream that speaks the client's dialect on, in
// the upstream's bytes. Beside them it finds what an answer costs, why it ended, and whether
// it is whole: what differs between the dialects is a Format.
package native

import (
	"net/http"

	"modelgateway/llm"
)

// Whole is a whole answer in the upstream's bytes.
type Whole struct {
	Head    llm.Head
	Dialect llm.Dialect
	Raw     []byte
	Usage   *llm.Usage   // nil = not reported
	Endings []llm.Ending // by choice
	Texts   string       // of an answer without usage, for an estimate
}

// Stream yields the events for metering, then the bytes.
func (a *Whole) Stream(yield func(*llm.Event, error) bool) {
	e := llm.Event{Head: &a.Head, RawDialect: a.Dialect}
	if a.Texts != "" {
		e.Kind, e.Text = llm.EventText, a.Texts
		if !yield(&e, nil) {
			return
		}
	}
	for i, ending := range a.Endings {
		e = llm.Event{Kind: llm.EventFinish, Head: &a.Head, RawDialect: a.Dialect, Choice: i, Ending: ending}
		if !yield(&e, nil) {
			return
		}
	}
	e = llm.Event{Kind: llm.EventAnswer, Head: &a.Head, RawDialect: a.Dialect, Raw: a.Raw, Usage: a.Usage}
	yield(&e, nil)
}

// Passes says whether clients of the upstream's API get its error with this status in its own
// words: not where it tells of the gateway's own credentials.
func Passes(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusConflict, http.StatusRequestEntityTooLarge,
		http.StatusUnprocessableEntity, http.StatusTooManyRequests:
		return true
	}
	return status >= http.StatusInternalServerError
}
