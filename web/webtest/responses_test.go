package webtest

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// responsesEvents are the events of a stream, each as its type and the rest of its members,
// with their numbers.
func responsesEvents(pairs ...string) string {
	var b strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		b.WriteString("event: " + pairs[i] + "\ndata: {\"type\":\"" + pairs[i] + `","sequence_number":` + strconv.Itoa(i/2) + pairs[i+1] + "}\n\n")
	}
	return b.String()
}

func TestEventsOfTheResponsesAPIOutOfOrderAreRefused(t *testing.T) {
	v := validator(t)
	response := func(status, output string) string {
		return `,"response":{"id":"r","object":"response","created_at":1,"status":"` + status + `","model":"x","output":[` + output + `]}`
	}
	const created, completed, failed = "response.created", "response.completed", "response.failed"
	const added, said, done = "response.output_item.added", "response.output_text.delta", "response.output_item.done"
	message, problem := `,"output_index":0,"item":{"type":"message","id":"m"}`, `,"message":"no","code":"c","param":null,`+
		`"error":{"type":"t","message":"no","code":"c","param":null}`
	delta, begun := `,"output_index":0,"item_id":"m","delta":"a"`, response("in_progress", "")
	whole := []string{created, begun, added, message, said, delta, done, message, completed, response("completed", `{"type":"message","id":"m"}`)}
	for _, tt := range []struct{ body, want string }{
		{responsesEvents(whole...), ""},
		{strings.ReplaceAll(responsesEvents(whole...), "\n", "\r\n"), ""},
		{": ping\n\n" + responsesEvents(whole...), ""},
		{responsesEvents(created, begun, "response.future", `,"x":1`, "response.incomplete", response("incomplete", "")), ""},
		{responsesEvents(created, begun, "error", problem, failed, response("failed", "")), ""},
		{responsesEvents(append(whole, said, delta)...), "after the end"},
		{responsesEvents(created, begun), "without response.completed"},
		{responsesEvents(added, message), "before response.created"},
		{responsesEvents(created, begun, created, begun), "second time"},
		{strings.Replace(responsesEvents(whole...), `"sequence_number":3`, `"sequence_number":5`, 1), "sequence_number"},
		{responsesEvents(created, begun, said, delta), "not open"},
		{responsesEvents(created, begun, added, message, done, message, said, delta), "not open"},
		{responsesEvents(created, begun, added, message, added, message), "is added after"},
		{responsesEvents(created, begun, added, message, done, `,"output_index":0,"item":{"type":"reasoning","id":"m"}`), "ends as"},
		{responsesEvents(created, begun, added, message, completed, response("completed", "")), "while items are open"},
		{responsesEvents(created, begun, completed, response("completed", `{"type":"message","id":"m"}`)), "only in"},
		{responsesEvents(created, begun, completed, response("failed", "")), "status"},
		{responsesEvents(created, begun, "error", problem, said, delta), "after an error"},
		{responsesEvents(created, begun, "error", `,"message":"no"`), "error"},
		{responsesEvents(created, `,"response":{}`), "id"},
		{responsesEvents(created, begun, "response.in_progress", strings.Replace(begun, `"id":"r"`, `"id":"q"`, 1)), "is called"},
		{"data: {\"type\":\"response.created\"}\n\n", "the line event"},
		{strings.TrimSuffix(responsesEvents(whole...), "\n"), "ends inside"},
	} {
		req := chatRequest(plainStream)
		req.URL.Path = "/v1/responses"
		refused(t, v.Response(req, http.StatusOK, streamHeaders("Openai-Processing-Ms", "1"), []byte(tt.body)), tt.want)
	}
}
