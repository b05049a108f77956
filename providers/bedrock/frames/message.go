package frames

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/internal/jsonbytes"
	"modelgateway/providers"
)

// message is what a frame says. Its parts are those of the frame.
type message struct {
	kind    []byte // event, exception or error
	name    []byte // of the event or the exception; the code of an error
	text    []byte // of an error
	payload []byte

	event []byte // decoded of a chunk; its memory is used again
}

// sizes are those of the values of headers by their type; -1: two bytes say it.
var sizes = [...]int{0, 0, 1, 2, 4, 8, -1, -1, 8, 16}

// readHeaders reads the headers that say what the payload is.
func (m *message) readHeaders(h []byte) error {
	for len(h) > 0 {
		name, rest, ok := cut(h[1:], int(h[0]))
		if !ok || len(rest) == 0 || int(rest[0]) >= len(sizes) {
			return errHeaders
		}
		size := sizes[rest[0]]
		if rest = rest[1:]; size < 0 {
			if len(rest) < 2 {
				return errHeaders
			}
			size, rest = int(binary.BigEndian.Uint16(rest)), rest[2:]
		}
		value, rest, ok := cut(rest, size)
		if !ok {
			return errHeaders
		}
		switch string(name) {
		case ":message-type":
			m.kind = value
		case ":event-type", ":exception-type", ":error-code":
			m.name = value
		case ":error-message":
			m.text = value
		}
		h = rest
	}
	return nil
}

func cut(b []byte, n int) (part, rest []byte, ok bool) {
	if len(b) < n {
		return nil, nil, false
	}
	return b[:n], b[n:], true
}

// appendEvent adds the server-sent event of a message. A message of another kind is none.
func (m *message) appendEvent(dst []byte) ([]byte, error) {
	switch string(m.kind) {
	case "event":
		if string(m.name) == "chunk" {
			return m.appendChunk(dst)
		}
		return appendEvent(dst, m.name, m.payload), nil
	case "exception":
		var said struct {
			Message string `json:"message"`
		}
		_ = json.Unmarshal(m.payload, &said, api.Lenient) // of another form its name is all there is
		return m.appendError(dst, said.Message), nil
	case "error":
		return m.appendError(dst, string(m.text)), nil
	}
	return dst, nil
}

// stopped is the last event of an answer of Claude's. Bedrock adds figures of its own to it, which
// the Messages API does not have.
const stopped = "message_stop"

// appendChunk adds the event of the model's own API that a chunk holds.
func (m *message) appendChunk(dst []byte) ([]byte, error) {
	text := []byte(jsonbytes.Member(m.payload, "bytes"))
	if bytes.IndexByte(text, '\\') >= 0 {
		text = strconv.AppendQuote(nil, jsonbytes.Text(text))
	}
	var err error
	if m.event, err = base64.StdEncoding.AppendDecode(m.event[:0], bytes.Trim(text, `"`)); err != nil || len(m.event) == 0 {
		return dst, errChunk
	}
	event := m.event
	var name []byte
	for member, value := range jsonbytes.Members(event) {
		if member.Is("type") {
			name = bytes.Trim(value, `"`)
			break
		}
	}
	if string(name) == stopped {
		event = []byte(`{"type":"` + stopped + `"}`)
	}
	return appendEvent(dst, name, event), nil
}

// types are Anthropic's words for the exceptions of Bedrock.
var types = map[string]string{
	"throttlingexception": "rate_limit_error", "servicequotaexceededexception": "rate_limit_error",
	"validationexception": "invalid_request_error", "modeltimeoutexception": "timeout_error",
	"serviceunavailableexception": "overloaded_error", "modelnotreadyexception": "overloaded_error",
	"accessdeniedexception": "permission_error", "resourcenotfoundexception": "not_found_error",
}

// appendError adds an exception as an error of the Messages API, api_error where there is no other
// word for it.
func (m *message) appendError(dst []byte, text string) []byte {
	kind, known := types[strings.ToLower(string(m.name))]
	if !known {
		kind = "api_error"
	}
	if text == "" {
		text = string(m.name)
	}
	var w jsonbytes.Writer
	w = w.Object().Text("type", "error").ObjectAt("error").Text("type", kind).Text("message", providers.Redact(text))
	return appendEvent(dst, []byte("error"), w.EndObject().EndObject())
}

// appendEvent adds an event. JSON has line breaks only where it may have a space as well.
func appendEvent(dst, name, data []byte) []byte {
	if isWord(name) {
		dst = append(append(append(dst, "event: "...), name...), '\n')
	}
	dst = append(dst, "data: "...)
	at := len(dst)
	dst = append(dst, data...)
	if bytes.IndexByte(data, '\n') >= 0 || bytes.IndexByte(data, '\r') >= 0 {
		for i, b := range dst[at:] {
			if b == '\n' || b == '\r' {
				dst[at+i] = ' '
			}
		}
	}
	return append(dst, "\n\n"...)
}

// isWord says whether a name can stand in a line of its own.
func isWord(name []byte) bool {
	return len(name) > 0 && !slices.ContainsFunc(name, func(b byte) bool { return b <= ' ' || b > '~' })
}
