package webtest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func streamHeaders(pairs ...string) http.Header {
	return chatHeaders(append([]string{
		"Content-Type", "text/event-stream; charset=utf-8", "Cache-Control", "no-cache", "X-Accel-Buffering", "no",
	}, pairs...)...)
}

func chatRequest(body string) *http.Request {
	req := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", nil)
	sent, err := http.NewRequest(http.MethodPost, "http://localhost", strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	req.GetBody = sent.GetBody
	return req
}

const (
	plainStream = `{"stream":true}`
	usageStream = `{"stream":true,"stream_options":{"include_usage":true}}`
)

// event is a chunk with these choices and further members.
func event(choices, more string) string {
	return fmt.Sprintf("data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":7,\"model\":\"m\",\"choices\":[%s]%s}\n\n",
		choices, more)
}

func piece(index int, delta, finish string) string {
	return event(fmt.Sprintf(`{"index":%d,"delta":%s,"finish_reason":%s}`, index, delta, finish), "")
}

func call(index int, more string) string {
	return piece(0, fmt.Sprintf(`{"tool_calls":[{"index":%d%s}]}`, index, more), "null")
}

var (
	role  = piece(0, `{"role":"assistant","content":""}`, "null")
	text  = piece(0, `{"content":"Hi"}`, "null")
	think = piece(0, `{"reasoning_content":"Hm","reasoning_details":[{"type":"reasoning.text","text":"Hm","index":0}]}`, "null")
	stop  = piece(0, `{}`, `"stop"`)
	used  = event("", `,"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}`)
	done  = "data: [DONE]\n\n"

	openCall = `,"id":"t","type":"function","function":{"name":"f","arguments":""}`
	moreCall = `,"function":{"arguments":"{}"}`

	brokeOff = `data: {"error":{"type":"api_error","message":"m","code":"provider_error","param":null,"provider":"openai"}}` + "\n\n"
)

func TestEventsOutOfOrderAreRefused(t *testing.T) {
	v := validator(t)
	for _, c := range []struct{ name, request, body, want string }{
		{"text", plainStream, role + text + text + stop + done, ""},
		{"text after an unknown request", "", role + text + stop + used + done, ""},
		{"comments", plainStream, ": ping\n\n" + role + ": ping\n\n" + text + stop + done + ": bye\n\n", ""},
		{"role with the first text", plainStream, piece(0, `{"role":"assistant","content":"Hi"}`, "null") + stop + done, ""},
		{"reasoning", plainStream, role + think + text + stop + done, ""},
		{"usage", usageStream, role + text + stop + used + done, ""},
		{"usage null meanwhile", usageStream, replaced(t, role, `}]}`, `}],"usage":null}`) + stop + used + done, ""},
		{"tool calls", plainStream, role + call(0, openCall) + call(0, moreCall) + call(1, openCall) + call(1, moreCall) + stop + done, ""},
		{"tool call inside the role chunk", plainStream, piece(0, `{"role":"assistant","content":null,"tool_calls":[{"index":0`+openCall+`}]}`, "null") + stop + done, ""},
		{"two choices", plainStream, role + piece(1, `{"role":"assistant"}`, "null") + text + stop + piece(1, `{}`, `"length"`) + done, ""},
		{"failure", plainStream, role + text + brokeOff, ""},
		{"failure at once", plainStream, brokeOff, ""},

		{"no role", plainStream, text + stop + done, "needs the role"},
		{"role and finish at once", plainStream, piece(0, `{"role":"assistant"}`, `"stop"`) + done, "no finish_reason"},
		{"role twice", plainStream, role + role + stop + done, "second time"},
		{"another role", plainStream, piece(0, `{"role":"model"}`, "null") + stop + done, "/delta/role"},
		{"second choice without role", plainStream, role + piece(1, `{}`, "null") + stop + done, "choice 1"},
		{"second choice without the first", plainStream, piece(1, `{"role":"assistant"}`, "null") + piece(1, `{}`, `"stop"`) + done, "choice 0 is missing"},
		{"another id", plainStream, role + replaced(t, text, `"c1"`, `"c2"`) + stop + done, "id, created and model"},
		{"another time", plainStream, role + replaced(t, text, `7`, `8`) + stop + done, "id, created and model"},
		{"another model", plainStream, role + text + replaced(t, stop, `"m"`, `"n"`) + done, "id, created and model"},
		{"another id with the usage", usageStream, role + stop + replaced(t, used, `"c1"`, `"c2"`) + done, "id, created and model"},
		{"wrong object", plainStream, replaced(t, role, `.chunk`, ``) + stop + done, "/object"},
		{"no finish_reason key", plainStream, role + replaced(t, text, `,"finish_reason":null`, ``) + stop + done, "finish_reason"},
		{"empty tool_calls", plainStream, role + piece(0, `{"tool_calls":[]}`, "null") + stop + done, "/delta/tool_calls"},
		{"finish with text", plainStream, role + piece(0, `{"content":"Hi"}`, `"stop"`) + done, "empty delta"},
		{"text after the finish", plainStream, role + stop + text + done, "after the finish_reason"},
		{"finish twice", plainStream, role + stop + stop + done, "after the finish_reason"},
		{"unknown finish", plainStream, role + piece(0, `{}`, `"STOP"`) + done, "finish_reason"},
		{"no finish", plainStream, role + text + done, "choice 0 has no finish_reason"},
		{"no finish of the second choice", plainStream, role + piece(1, `{"role":"assistant"}`, "null") + stop + done, "choice 1 has no finish_reason"},
		{"nothing but the end", plainStream, done, "no choice"},
		{"tool call at 1", plainStream, role + call(1, openCall) + stop + done, "0 calls came before it"},
		{"tool call that skips one", plainStream, role + call(0, openCall) + call(2, openCall) + stop + done, "1 calls came before it"},
		{"tool call that opens twice", plainStream, role + call(0, openCall) + call(0, openCall) + stop + done, "second time"},
		{"tool call without id", plainStream, role + call(0, moreCall) + stop + done, "needs id"},
		{"tool call without index", plainStream, role + replaced(t, call(0, openCall), `"index":0,"id"`, `"id"`) + stop + done, "index"},
		{"usage unasked", plainStream, role + stop + used + done, "without being asked"},
		{"usage early", usageStream, role + used + stop + done, "no finish_reason yet"},
		{"usage first", usageStream, used + role + stop + done, "no choice"},
		{"usage twice", usageStream, role + stop + used + used + done, "after the usage"},
		{"usage with the finish", usageStream, role + replaced(t, stop, `}]}`, `}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`) + done, "/usage"},
		{"no choices and no usage", usageStream, role + event("", "") + stop + done, "usage"},
		{"no end", plainStream, role + text + stop, "without [DONE]"},
		{"end twice", plainStream, role + stop + done + done, "comes after [DONE]"},
		{"chunk after the end", plainStream, role + stop + done + text, "comes after [DONE]"},
		{"error after the end", plainStream, role + stop + done + brokeOff, "comes after [DONE]"},
		{"end after an error", plainStream, role + brokeOff + done, "comes after an error"},
		{"chunk after an error", plainStream, role + brokeOff + stop, "comes after an error"},
		{"error in another shape", plainStream, role + "data: {\"error\":\"oops\"}\n\n", "/error"},
		{"error that is none of a stream", plainStream, role + replaced(t, brokeOff, "provider_error", "invalid_value"), "/error"},
		{"cut inside an event", plainStream, role + stop + "data: [DONE]\n", "inside an event"},
		{"event name", plainStream, "event: message\n" + role + stop + done, "one line"},
		{"no space", plainStream, replaced(t, role, "data: ", "data:") + stop + done, "one line"},
		{"two lines", plainStream, replaced(t, role, `,"object"`, "\ndata: ,\"object\"") + stop + done, "one line"},
		{"CRLF", plainStream, strings.ReplaceAll(role+stop+done, "\n", "\r\n"), "inside an event"},
		{"three line ends", plainStream, role + "\n" + stop + done, "one line"},
		{"comment inside an event", plainStream, ": ping\n" + role + stop + done, "one line"},
		{"not JSON", plainStream, role + "data: {\n\n", "read"},
		{"empty body", plainStream, "", "inside an event"},
	} {
		t.Run(c.name, func(t *testing.T) {
			refused(t, v.Response(chatRequest(c.request), 200, streamHeaders(), []byte(c.body)), c.want)
		})
	}
}

func TestStreamHeaders(t *testing.T) {
	v := validator(t)
	good := []byte(role + stop + done)
	for _, c := range []struct{ name, value, want string }{
		{"Cache-Control", "max-age=5", "Cache-Control"},
		{"Cache-Control", "no-cache, no-transform", ""},
		{"X-Accel-Buffering", "yes", "X-Accel-Buffering"},
		{"Content-Length", "12", "Content-Length"},
		{"x-gateway-provider", "Azure EU", "x-gateway-provider"},
	} {
		refused(t, v.Response(chatRequest(plainStream), 200, streamHeaders(c.name, c.value), good), c.want)
	}
}

func TestAnswerHasTheFormThatWasRequested(t *testing.T) {
	v := validator(t)
	refused(t, v.Response(chatRequest(`{"stream":false}`), 200, streamHeaders(), []byte(role+stop+done)), "stream is false")
	refused(t, v.Response(chatRequest(plainStream), 200, chatHeaders(), []byte(completion)), "stream is true")
	refused(t, v.Response(chatRequest(`{"stream":null,"stream_options":null}`), 200, chatHeaders(), []byte(completion)), "")
	refused(t, v.Response(chatRequest(plainStream), 400, errorHeaders(), []byte(badTemperature)), "")
}
