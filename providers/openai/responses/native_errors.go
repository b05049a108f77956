package responses

import (
	"bytes"
	"cmp"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/native"
	"modelgateway/providers/openai/wire"
)

// refusedNatively is wire.ReadRefusal for clients of the Responses API, who act on the upstream's
// words.
func refusedNatively(status int, body []byte) providers.Refusal {
	r := wire.ReadRefusal(status, body)
	pass(&r, status, body)
	return r
}

// pass adds the JSON of an error to its refusal, for clients of the same API: as it came, but
// for keys and names of the gateway's account in its message. What is no error of the API is
// not passed on, nor is what tells of the gateway's own credentials.
func pass(r *providers.Refusal, status int, text []byte) {
	if !native.Passes(status) || !jsonbytes.IsObject(text) {
		return
	}
	e := redaction{Editor: jsonbytes.Editor{Text: text}}
	if e.object(0); e.found {
		r.Body, r.Dialect = bytes.Join(e.Pieces(), nil), llm.Responses
	}
}

// redaction removes keys and names of accounts from the messages of an error: of a body, of
// an event that says an error, or of a response that failed.
type redaction struct {
	jsonbytes.Editor

	found bool // a message of an error object
}

func (e *redaction) object(from int) {
	for name, value := range jsonbytes.MembersAt(e.Text, from) {
		object := e.Text[value.From] == '{'
		switch {
		case name.Is("message"):
			e.message(value)
		case object && name.Is("error"):
			for name, value := range jsonbytes.MembersAt(e.Text, value.From) {
				if name.Is("message") {
					e.found = e.message(value) || e.found
				}
			}
		case object && name.Is("response") && from == 0:
			e.object(value.From)
		}
	}
}

// message says whether there is one at a place.
func (e *redaction) message(at jsonbytes.Span) bool {
	text := jsonbytes.Text(at.Of(e.Text))
	if told := providers.Redact(text); told != text {
		e.Replace(at, wire.Quote(told))
	}
	return text != ""
}

// problemIn is the error that a body or an event says, in a member or by itself; nil where it
// says none.
func problemIn(text []byte) *wire.Problem {
	if p := wire.ProblemOf(jsonbytes.Member(text, "error")); p != nil {
		return p
	}
	p := wire.ProblemOf(text)
	if p != nil && p.Type == "error" { // of the event
		p.Type = ""
	}
	return p
}

// failedEarly is an error that came under status 200 before the answer, as one that came with
// its own status.
func (n *nativeExchange) failedEarly(p *wire.Problem) error {
	p = cmp.Or(p, new(wire.Problem))
	r := inStream(p)
	var body struct {
		Error struct {
			Message string         `json:"message"`
			Type    string         `json:"type"`
			Param   jsontext.Value `json:"param"`
			Code    jsontext.Value `json:"code"`
		} `json:"error"`
	}
	body.Error.Message, body.Error.Type, body.Error.Param, body.Error.Code = p.Message, cmp.Or(p.Type, typeOf(r.Status)), p.Param, p.Code
	if text, err := json.Marshal(body); err == nil {
		pass(&r, r.Status, text)
	}
	return n.client.Refused(r)
}

// failedLate is an error that came after the answer had begun: the data of the event that
// says it goes with it.
func (n *nativeExchange) failedLate(p *wire.Problem, data []byte) error {
	p = cmp.Or(p, new(wire.Problem))
	r := inStream(p)
	if pass(&r, r.Status, data); p.Message == "" {
		r.Message = "the answer failed"
	}
	return n.client.Refused(r)
}

// typeOf is the type of an error with a status.
func typeOf(status int) string {
	switch {
	case status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case status < http.StatusInternalServerError:
		return "invalid_request_error"
	}
	return "server_error"
}
