package webtest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// messagesEvents are the events of a stream, each as its type and the rest of its members.
func messagesEvents(pairs ...string) string {
	var b strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		b.WriteString("event: " + pairs[i] + "\ndata: {\"type\":\"" + pairs[i] + `"` + pairs[i+1] + "}\n\n")
	}
	return b.String()
}

func TestEventsOfTheMessagesAPIOutOfOrderAreRefused(t *testing.T) {
	v := validator(t)
	start := `,"message":{"id":"m","type":"message","role":"assistant","model":"x","content":[],"stop_reason":null,"usage":{}}`
	text, think := `,"index":0,"content_block":{"type":"text","text":""}`, `,"index":0,"content_block":{"type":"thinking","thinking":""}`
	said, stop := `,"index":0,"delta":{"type":"text_delta","text":"a"}`, `,"index":0`
	ended := `,"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}`
	whole := messagesEvents("message_start", start, "content_block_start", text, "ping", "", "content_block_delta", said,
		"content_block_stop", stop, "message_delta", ended, "message_stop", "")
	for _, tt := range []struct{ body, want string }{
		{whole, ""},
		{strings.ReplaceAll(whole, "\n", "\r\n"), ""},
		{whole + messagesEvents("ping", ""), "after the end"},
		{messagesEvents("message_start", start, "future_event", `,"x":1`, "message_delta", ended, "message_stop", ""), ""},
		{messagesEvents("message_start", start), "without message_stop"},
		{messagesEvents("content_block_start", text), "before message_start"},
		{messagesEvents("message_start", start, "message_start", start), "second time"},
		{messagesEvents("message_start", start, "message_stop", ""), "before message_delta"},
		{messagesEvents("message_start", start, "content_block_delta", said), "not open"},
		{messagesEvents("message_start", start, "content_block_start", think, "content_block_delta", said), "text_delta"},
		{messagesEvents("message_start", start, "content_block_start", text, "message_delta", ended), "while a block"},
		{messagesEvents("message_start", start, "content_block_start", text, "content_block_start", text), "begins after"},
		{messagesEvents("message_start", `,"message":{}`), "id"},
		{messagesEvents("message_start", start, "error", `,"error":{"type":"api_error","message":"m"},"request_id":"r"`), ""},
		{messagesEvents("message_start", start, "error", `,"error":{"type":"provider_error","message":"m"}`), "type"},
		{"data: {\"type\":\"ping\"}\n\n", "the line event"},
		{strings.TrimSuffix(whole, "\n"), "ends inside"},
	} {
		req := chatRequest(plainStream)
		req.URL.Path = "/v1/messages"
		h := streamHeaders("Request-Id", "abc")
		refused(t, v.Response(req, http.StatusOK, h, []byte(tt.body)), tt.want)
	}
}

func TestTheFormOfAnErrorIsThatOfTheRequest(t *testing.T) {
	v := validator(t)
	const own = `{"type":"error","error":{"type":"not_found_error","message":"m"},"request_id":"r"}`
	const other = `{"error":{"type":"not_found_error","message":"m","code":"route_not_found","param":null}}`
	for _, tt := range []struct {
		path, version, body, want string
	}{
		{"/v1/messages/batches", "", own, ""},
		{"/v1/messages/batches", "", other, "type"},
		{"/v1/nothing", "", other, ""},
		{"/v1/nothing", "2023-06-01", own, ""},
		{"/v1/nothing", "2023-06-01", other, "type"},
		{"/v1/nothing", "", own, "error"},
	} {
		req := httptest.NewRequest(http.MethodGet, tt.path, nil)
		if tt.version != "" {
			req.Header.Set("Anthropic-Version", tt.version)
		}
		refused(t, v.Response(req, http.StatusNotFound, errorHeaders("Request-Id", "abc"), []byte(tt.body)), tt.want)
	}
}
