package messages

import (
	"strings"
	"testing"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

// responsesEnding is an answer of the Responses API: its items, and how it ends.
type responsesEnding struct{ name, items, ended, blocks, reason string }

func responsesAnswer(e responsesEnding, streamed bool) providertest.Script {
	status := `"completed"`
	if e.ended != "" {
		status = `"incomplete","incomplete_details":{"reason":"` + e.ended + `"}`
	}
	whole := `{"id":"resp_1","object":"response","created_at":5,"model":"gpt-5.1","status":` + status + `,"output":[` + strings.ReplaceAll(e.items, "\n,", ",") +
		`],"usage":{"input_tokens":30,"input_tokens_details":{"cached_tokens":20},"output_tokens":9,"output_tokens_details":` +
		`{"reasoning_tokens":4},"total_tokens":39}}`
	if !streamed {
		return gatewaytest.JSON(200, whole)
	}
	kind := map[bool]string{true: "completed", false: "incomplete"}[e.ended == ""]
	events := []string{"event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"resp_1\",\"model\":\"gpt-5.1\",\"created_at\":5}}\n\n"}
	for i, item := range strings.Split(strings.Trim(e.items, "\n"), "\n,") {
		if item != "" {
			events = append(events, "data: {\"type\":\"response.output_item.done\",\"output_index\":"+string(rune('0'+2*i))+",\"item\":"+item+"}\n\n")
		}
	}
	return gatewaytest.Events(providertest.Proper, append(events, "data: {\"type\":\"response."+kind+"\",\"response\":"+whole+"}\n\n")...)
}

// TestAnswersOfTheResponsesAPIEndAsClaudesDo has a case for each way an answer ends.
func TestAnswersOfTheResponsesAPIEndAsClaudesDo(t *testing.T) {
	t.Parallel()
	u := providertest.Serve(t)
	p := gatewaytest.Start(t, "OPENAI_API_KEY=sk-o", "OPENAI_BASE_URL="+u.URL, "MAX_RETRIES=0")
	const message = `{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"hello ENDED","annotations":[]}]}`
	const calling = `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"look","arguments":"{\"z\":\"1\"}"}`
	for _, tt := range []responsesEnding{
		{"text", message, "", "text", "end_turn"},
		{"call", calling, "", "tool_use", "tool_use"},
		{"text and call", message + "\n," + calling, "", "text tool_use", "tool_use"},
		{"length", message, "max_output_tokens", "text", "max_tokens"},
		{"filter", message, "content_filter", "text", "refusal"},
		{"nothing", "", "", "", "end_turn"},
	} {
		each(t, func(t *testing.T, streamed bool) {
			u.Play(responsesAnswer(tt, streamed))
			ends(t, p, gpt5, tt.name, tt.blocks, tt.reason, streamed)
		})
	}
	each(t, func(t *testing.T, streamed bool) {
		u.Play(responsesAnswer(responsesEnding{items: message}, streamed))
		x := call(t, p, `{"model":"`+gpt5+`",`+hi+`,"stop_sequences":["END","never"]}`, streamed)
		if x.err != nil || x.message.StopReason != "stop_sequence" || x.message.StopSequence != "END" || x.message.Content[0].Text != "hello " {
			t.Errorf("cut: %v, %+v", x.err, x.message)
		}
	})
}
