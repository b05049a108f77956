// Package responses is the dialect of OpenAI's Responses API: requests, answers, streams
// and errors, and what of a request travels unchanged to a provider that speaks it.
package responses

import (
	"bytes"
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
)

// Dialect is the Responses API as one of the dialects.
func Dialect() *api.Dialect {
	return &api.Dialect{
		Decode:      api.Decoder(Decode, forwards),
		DecodeCount: api.Decoder(DecodeCount, forwards),
		Keeping: &api.Keeping{
			Refers: requestRefers, Turn: turn, TurnRefers: turnRefers, Resume: resume,
			AppendInput: appendInput, AppendDeleted: appendDeleted,
		},
		AppendAnswer:  appendAnswer,
		AppendCount:   appendCount,
		NewWriter:     newWriter,
		OpensEarly:    true,
		AppendError:   appendError,
		ErrorStatus:   errorStatus,
		FailsInStream: (*api.Error).Overflows, // Codex shortens the conversation only where it finds the error there
	}
}

// Compaction is the dialect of the requests for a shorter conversation, which have a path of
// their own and are never streamed.
func Compaction() *api.Dialect {
	d := Dialect()
	d.Decode = api.Decoder(DecodeCompaction, forwards)
	return d
}

// forwarded are the headers that travel. Names are in their canonical form.
var forwarded = []string{"Openai-Beta", "Originator", "Session-Id", "Session_id", "Thread-Id", "X-Client-Request-Id", "X-Openai-Subagent"}

// forwardedStarts begin the names of further ones, which are Codex's.
var forwardedStarts = []string{"X-Codex-", "X-Openai-Internal-Codex-"}

// forwardedQuery are the parameters that travel.
var forwardedQuery = []string{"beta", "include"}

// forwards returns what OpenAI's own clients send beside the body. Headers that choose whose
// account pays never travel, nor does idempotency-key: two callers may use the same one.
func forwards(h http.Header, query url.Values) (beside llm.Beside, session string) {
	for name, values := range h {
		if !travels(name) {
			continue
		}
		for _, value := range values {
			beside.Headers = append(beside.Headers, llm.Header{Name: name, Value: value})
		}
	}
	slices.SortStableFunc(beside.Headers, func(a, b llm.Header) int { return strings.Compare(a.Name, b.Name) })
	if len(query) > 0 {
		kept := url.Values{}
		for _, name := range forwardedQuery {
			if values, asked := query[name]; asked {
				kept[name] = values
			}
		}
		beside.Query = kept.Encode()
	}
	return beside, cmp.Or(h.Get("Session_id"), h.Get("Session-Id"), h.Get("X-Session-Affinity"))
}

// travels says whether a header does.
func travels(name string) bool {
	for _, start := range forwardedStarts {
		if strings.HasPrefix(name, start) {
			return true
		}
	}
	return slices.Contains(forwarded, name)
}

// failNatively adds the event by which an upstream that speaks the dialect says that its
// answer has failed; false where the error is not such an event, but the body of a refusal
// or the gateway's own.
func (w *Writer) failNatively(dst []byte, err *api.Error) ([]byte, bool) {
	if !w.raw || !isNative(err) {
		return dst, false
	}
	name := jsonbytes.Text(jsonbytes.Member(err.Raw, "type"))
	if name != "error" && name != "response.failed" {
		return dst, false
	}
	line := err.Raw
	if bytes.ContainsAny(line, "\r\n") { // which would end the line of the event
		formatted, failed := jsontext.AppendFormat(nil, line, jsontext.AllowDuplicateNames(true))
		if failed != nil {
			return dst, false
		}
		line = formatted
	}
	dst = append(append(append(dst, "event: "...), name...), "\ndata: "...)
	return append(append(dst, line...), "\n\n"...), true
}
