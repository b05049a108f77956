package anthropic

import (
	"errors"
	"net/http"

	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/internal/scan"
	"modelgateway/llm"
	"modelgateway/providers"
)

// refusedNatively is refused for clients of the same API, who act on the upstream's words.
func refusedNatively(status int, body []byte) providers.Refusal {
	r := refused(status, body)
	r.Body = passed(status, body)
	r.Dialect = dialectOf(r.Body)
	return r
}

// passing adds the error's JSON to a refusal that came under status 200.
func passing(err error, body []byte) error {
	if r, ok := errors.AsType[*providers.Refusal](err); ok {
		r.Body = passed(r.Status, body)
		r.Dialect = dialectOf(r.Body)
	}
	return err
}

func dialectOf(body []byte) llm.Dialect {
	if body == nil {
		return ""
	}
	return llm.Messages
}

// passed is the body of an error as clients of the same API get it: as it came, but for keys
// and names of the gateway's account in its message. It is nil for what is no error of the
// API, and for statuses that tell of the gateway's own credentials.
func passed(status int, body []byte) []byte {
	switch status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusConflict, http.StatusRequestEntityTooLarge,
		http.StatusUnprocessableEntity, http.StatusTooManyRequests:
	default:
		if status < http.StatusInternalServerError {
			return nil
		}
	}
	var e struct {
		Type  string  `json:"type"`
		Error problem `json:"error"`
	}
	if json.Unmarshal(body, &e, api.Lenient) != nil || e.Type != typeError || e.Error.Type == "" || e.Error.Message == "" {
		return nil
	}
	message := providers.Redact(e.Error.Message)
	if message == e.Error.Message {
		return append([]byte(nil), body...) // of an event it is valid until the next one
	}
	at := messageAt(body)
	out := append([]byte(nil), body[:at.From]...)
	return append(append(out, quote(message)...), body[at.To:]...)
}

// messageAt is the place of an error's message.
func messageAt(body []byte) (at scan.Span) {
	for name, value := range scan.MembersAt(body, 0) {
		if !name.Is("error") {
			continue
		}
		for name, value := range scan.MembersAt(body, value.From) {
			if name.Is("message") {
				at = value
			}
		}
	}
	return at
}
