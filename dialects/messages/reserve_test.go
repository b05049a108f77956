//go:build !race

package messages

import (
	"testing"

	"modelgateway/dialects/dialecttest"
)

// wide are the lists and objects of a request, each of many elements.
func wide(n int) map[string]string {
	all := func(element string) string { return dialecttest.Repeated(n, element) }
	const user, model = `"messages":[{"role":"user","content":`, `"messages":[{"role":"assistant","content":[`
	bodies := map[string]string{
		"messages":       `"messages":[` + all(`{}`) + `]`,
		"valid messages": `"messages":[` + all(`{"role":"user","content":"a"},{"role":"assistant","content":"b"}`) + `]`,
		"blocks":         user + `[` + all(`{"type":"text","text":"a"}`) + `]}]`,
		"empty blocks":   user + `[` + all(`{}`) + `]}]`,
		"images":         user + `[` + all(`{"type":"image","source":{"type":"url","url":"https://a"}}`) + `]}]`,
		"calls":          model + all(`{"type":"tool_use","name":"f"}`) + `]}]`,
		"thoughts":       model + all(`{"type":"thinking","signature":"a"}`) + `]}]`,
		"a document":     user + `[{"type":"document","source":{"type":"content","content":[` + all(`{"type":"text","text":"a"}`) + `]}}]}]`,
		"tools":          user + `"a"}],"tools":[` + all(`{}`) + `]`,
		"valid tools":    user + `"a"}],"tools":[` + all(`{"name":"f","input_schema":{}}`) + `]`,
		"system":         `"system":[` + all(`{"type":"text","text":"a"}`) + `]`,
		"stop sequences": user + `"a"}],"stop_sequences":[` + all(`"a"`) + `]`,
		"an input":       model + `{"type":"tool_use","name":"f","input":{` + all(`"a#":0`) + `}}]}]`,
		"members":        user + `"a"}],` + all(`"a#":{}`),
		"members inside": user + `[{"type":"text","text":"a",` + all(`"a#":1`) + `}]}]`,
		"elements":       user + `"a"}],"x":[` + all(`0`) + `]`,
	}
	for name, body := range bodies {
		bodies[name] = `{"model":"m","max_tokens":1,` + body + `}`
	}
	return bodies
}

func TestARequestTakesNoMoreThanIsReserved(t *testing.T) {
	dialecttest.Reserved(t, Decode, wide)
}
