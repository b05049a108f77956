package agents

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

// delegate answers with two calls of the tool of Claude Code that starts an agent.
func delegate(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(kind, data string) { fmt.Fprintf(w, "event: %s\ndata: {\"type\":%q,%s}\n\n", kind, kind, data) }
	event("message_start", `"message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-5-5","content":[],`+
		`"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":500,"output_tokens":1}}`)
	for i, name := range []string{"harbour", "lighthouse"} {
		event("content_block_start", fmt.Sprintf(`"index":%d,"content_block":{"type":"tool_use","id":"toolu_%d","name":"Agent","input":{}}`, i, i))
		event("content_block_delta", fmt.Sprintf(`"index":%d,"delta":{"type":"input_json_delta","partial_json":%q}`, i,
			`{"description":"Describe it","prompt":"Describe a `+name+`","subagent_type":"general-purpose"}`))
		event("content_block_stop", fmt.Sprintf(`"index":%d`, i))
	}
	event("message_delta", `"delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":60}`)
	_, _ = io.WriteString(w, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
}

func TestTheAgentsOfASessionOfClaudeCodeAreShownBelowEachOther(t *testing.T) {
	folder := needClients(t)
	t.Parallel()
	s := providers()[0].start(t, folder, []fault{delegate}, gatewaytest.JWTSecret)
	r := s.runClaude(t, nil, s.installed("claude"), "-p", "Describe a harbour and a lighthouse with two agents",
		"--output-format", "json", "--allowedTools", "Agent,Task", "--max-turns", "10")
	if r.IsError {
		t.Errorf("%+v", r)
	}
	s.upstream.acceptedAll(t)
	calls := s.upstream.exchanges()
	root := s.program.Administrator(t)
	var list struct {
		Data []struct {
			ID, Agent string
			Calls     int
		}
	}
	gatewaytest.Until(t, "the ledger has every call", func() bool {
		s.program.Call(t, "GET", "/admin/sessions", "", root...).JSON(t, &list)
		return len(list.Data) > 0 && list.Data[0].Calls == len(calls)
	})
	var one struct {
		Agents []struct {
			AgentID string `json:"agent_id"`
			Depth   int
			Calls   int
		}
	}
	s.program.Call(t, "GET", "/admin/sessions/"+list.Data[0].ID, "", root...).JSON(t, &one)
	var tree []string
	for _, a := range one.Agents {
		tree = append(tree, fmt.Sprintf("%d:%t", a.Depth, a.AgentID != "" && a.Calls > 0))
	}
	if got := strings.Join(tree, " "); got != "0:false 1:true 1:true" || list.Data[0].Agent != "claude-code" || len(list.Data) != 1 {
		t.Errorf("%s of %+v", got, list)
	}
}
