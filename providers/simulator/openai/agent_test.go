package openai_test

import (
	"strings"
	"testing"

	"modelgateway/providers/simulator/rawjson"
)

const agentTools = `,"tools":[` +
	`{"type":"function","function":{"name":"bash","parameters":{"type":"object","required":["command","description"]}}},` +
	`{"type":"function","function":{"name":"read","parameters":{"type":"object","required":["filePath"]}}},` +
	`{"type":"function","function":{"name":"write","parameters":{"type":"object","required":["content","filePath"]}}}]`

func TestAgentsTaskIsDoneInThreeTurns(t *testing.T) {
	messages := `{"role":"system","content":"  Working directory: /tmp/x\n  Platform: linux"},` +
		`{"role":"user","content":"put \"tok\" into hello.txt and then read the file back"}`
	names := ""
	for range 5 {
		m := ask(t, body(agentTools, messages)).Choices[0].Message
		s := stream(t, body(agentTools+`,"stream":true`, messages)).Choices[0].Message
		if *s.Content != *m.Content || len(s.ToolCalls) != len(m.ToolCalls) {
			t.Fatalf("%+v, want %+v", s, m)
		}
		if len(m.ToolCalls) == 0 {
			break
		}
		messages += `,{"role":"assistant","content":` + string(rawjson.Encode(m.Content)) +
			`,"tool_calls":` + string(rawjson.Encode(m.ToolCalls)) + `}`
		for _, c := range m.ToolCalls {
			names += " " + c.Function.Name + c.Function.Arguments
			messages += `,{"role":"tool","tool_call_id":"` + c.ID + `","content":"ok"}`
		}
	}
	want := ` write{"content": "tok\n", "filePath": "/tmp/x/hello.txt"} read{"filePath": "/tmp/x/hello.txt"}` +
		` bash{"command": "cat '/tmp/x/hello.txt'", "description": "Show the file"}`
	if strings.Join(strings.Fields(names), " ") != strings.Join(strings.Fields(want), " ") {
		t.Fatalf("%s, want %s", names, want)
	}
}
