package gatewaytest

import (
	"fmt"
	"net/http"
)

// ResponsesDialect is the wire format of OpenAI's Responses API. As with some of its
// models, the events have no numbers.
func ResponsesDialect() Dialect {
	event := func(kind, members string) string {
		return "event: " + kind + "\ndata: {\"type\":\"" + kind + `"` + members + "}\n\n"
	}
	const open = `{"type":"message","id":"msg_1","status":"in_progress","role":"assistant","content":[]}`
	message := func(s string) string {
		return `{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[` +
			`{"type":"output_text","text":` + Quote(s) + `,"annotations":[],"logprobs":[]}]}`
	}
	response := func(status, output, usage string) string {
		return `{"id":"resp_1","object":"response","created_at":5,"status":"` + status + `","error":null,"incomplete_details":null,` +
			`"model":"gpt-4-0613","output":[` + output + `],"store":false,"usage":` + usage + `}`
	}
	const at = `,"item_id":"msg_1","output_index":0,"content_index":0,`
	problem := `{"message":"The server had an error","type":"server_error","param":null,"code":"server_error"}`
	return Dialect{
		Name:  "openai",
		Fault: event("error", `,"error":`+problem),
		Refusal: func(status int) string {
			if status == http.StatusBadRequest {
				return `{"error":{"message":"no","type":"invalid_request_error","param":null,"code":null}}`
			}
			return `{"error":` + problem + `}`
		},
		Start: func(*Charges) string {
			return event("response.created", `,"response":`+response("in_progress", "", "null")) +
				event("response.in_progress", `,"response":`+response("in_progress", "", "null")) +
				event("response.output_item.added", `,"output_index":0,"item":`+open) +
				event("response.content_part.added", at+`"part":{"type":"output_text","text":"","annotations":[],"logprobs":[]}`)
		},
		Text: func(s string, _ *Charges) string {
			return event("response.output_text.delta", at+`"delta":`+Quote(s)+`,"logprobs":[]`)
		},
		End: func(c *Charges) string {
			return event("response.output_item.done", `,"output_index":0,"item":`+message("…")) +
				event("response.completed", `,"response":`+response("completed", message("…"), responsesUsage(c)))
		},
		Answer: func(s string, c *Charges) string { return response("completed", message(s), responsesUsage(c)) },
	}
}

func responsesUsage(c *Charges) string {
	if c == nil {
		return "null"
	}
	return fmt.Sprintf(`{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d},"output_tokens":%d,`+
		`"output_tokens_details":{"reasoning_tokens":%d},"total_tokens":%d}`, c.Prompt, c.Cached, c.Output, c.Reasoning, c.Prompt+c.Output)
}
