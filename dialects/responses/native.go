package responses

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/internal/scan"
)

// failNatively adds the event by which an upstream that speaks the dialect says that its
// answer has failed; false where the error is not such an event, but the body of a refusal
// or the gateway's own.
func (w *Writer) failNatively(dst []byte, err *api.Error) ([]byte, bool) {
	if !w.raw || !isNative(err) {
		return dst, false
	}
	name := scan.Text(memberOf(err.Raw, "type"))
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
