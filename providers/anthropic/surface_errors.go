package anthropic

import (
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/native"
)

// refusedAt reads the error of a cloud: Anthropic's own, Bedrock's {"message"}, or Google's
// {"error":{"code","message","status"}}, which may stand in a list.
func refusedAt(status int, body []byte) providers.Refusal {
	var said struct {
		Message string  `json:"message"`
		Upper   string  `json:"Message"`
		Error   problem `json:"error"`
	}
	text := jsontext.Value(body)
	if text.Kind() == jsontext.KindBeginArray && text.IsValid() {
		for first := range jsonbytes.Elements(text) {
			text = first
			break
		}
	}
	if json.Unmarshal(text, &said, api.Lenient) != nil {
		return providers.Refusal{Status: status} // the HTML of something in between
	}
	p := said.Error
	if p.Message == "" {
		p.Message = said.Message + said.Upper
	}
	if _, known := statuses[p.Type]; !known {
		p.Type = errorType(status)
	}
	p.Message = strings.TrimPrefix(p.Message, "The model returned the following errors: ")
	if strings.HasPrefix(p.Message, "Input is too long") {
		p.Message = "prompt is too long: " + p.Message // by which agents know that they have to shorten it
	}
	r := p.refusal()
	r.Status = status
	return r
}

// errorType is Anthropic's type of an error with a status.
func errorType(status int) string {
	switch status {
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return "timeout_error"
	case http.StatusServiceUnavailable:
		return "overloaded_error"
	}
	for kind, of := range statuses {
		if of == status {
			return kind
		}
	}
	if status < http.StatusInternalServerError && status != http.StatusFailedDependency { // of Bedrock, when a model fails
		return "invalid_request_error"
	}
	return "api_error"
}

// refusedNativelyAt is refusedAt for clients of the Messages API, who get its form of an error.
func refusedNativelyAt(status int, body []byte) providers.Refusal {
	r := refusedAt(status, body)
	if !native.Passes(status) || r.Message == "" {
		return r
	}
	w := jsonbytes.Writer(nil).Object().Text("type", typeError).ObjectAt("error").Text("type", r.Code)
	r.Body, r.Dialect = w.Text("message", providers.Redact(r.Message)).EndObject().EndObject(), llm.Messages
	return r
}
