//go:build !race

package responses

import (
	"testing"

	"modelgateway/dialects/dialecttest"
)

// wide are the lists and objects of a request, each of many elements.
func wide(n int) map[string]string {
	all := func(element string) string { return dialecttest.Repeated(n, element) }
	calls := func(call, result string) string {
		return dialecttest.Repeated(n/2, `{"call_id":"#",`+call+`},{"call_id":"#",`+result+`}`)
	}
	const user = `"input":[{"role":"user","content":`
	bodies := map[string]string{
		"items":          `"input":[` + all(`{}`) + `]`,
		"messages":       `"input":[` + all(`{"role":"user","content":"a"},{"role":"assistant","content":"b"}`) + `]`,
		"instructions":   `"input":[` + all(`{"role":"developer","content":"a"}`) + `]`,
		"parts":          user + `[` + all(`{"type":"input_text","text":"a"}`) + `]}]`,
		"empty parts":    user + `[` + all(`{}`) + `]}]`,
		"images":         user + `[` + all(`{"type":"input_image","image_url":"https://a"}`) + `]}]`,
		"calls":          `"input":[` + calls(`"type":"function_call","name":"f"`, `"type":"function_call_output","output":"a"`) + `]`,
		"custom calls":   `"input":[` + calls(`"type":"custom_tool_call","name":"f","input":""`, `"type":"custom_tool_call_output","output":[]`) + `]`,
		"open calls":     `"input":[` + all(`{"type":"function_call","call_id":"1","name":"f"}`) + `]`,
		"thoughts":       `"input":[` + all(`{"type":"reasoning","encrypted_content":"a"}`) + `]`,
		"a summary":      `"input":[{"type":"reasoning","encrypted_content":"a","summary":[` + all(`{"text":"a"}`) + `]}]`,
		"dropped items":  `"input":[` + all(`{"type":"web_search_call"}`) + `,` + hello + `]`,
		"tools":          user + `"a"}],"tools":[` + all(`{}`) + `]`,
		"functions":      user + `"a"}],"tools":[` + all(`{"type":"function","name":"f#"}`) + `]`,
		"a namespace":    user + `"a"}],"tools":[{"type":"namespace","name":"n","tools":[` + all(`{"type":"custom","name":"f#"}`) + `]}]`,
		"joining tools":  `"input":[{"type":"additional_tools","tools":[` + all(`{"type":"function","name":"f#"}`) + `]},` + hello + `]`,
		"an action":      `"input":[{"type":"local_shell_call","call_id":"1","action":{` + all(`"a#":0`) + `}}]`,
		"a shell":        `"input":[{"type":"shell_call","call_id":"1"},{"type":"shell_call_output","call_id":"1","output":[` + all(`{"stdout":"a"}`) + `]}]`,
		"metadata":       user + `"a"}],"metadata":{` + all(`"a#":""`) + `}`,
		"include":        user + `"a"}],"include":[` + all(`""`) + `]`,
		"members":        user + `"a"}],` + all(`"a#":{}`),
		"members inside": user + `[{"type":"input_text","text":"a",` + all(`"a#":1`) + `}]}]`,
		"of an item":     `"input":[{"role":"user","content":"a",` + all(`"a#":1`) + `}]`,
		"elements":       user + `"a"}],"x":[` + all(`0`) + `]`,
	}
	for name, body := range bodies {
		bodies[name] = `{"model":"m",` + body + `}`
	}
	return bodies
}

func TestARequestTakesNoMoreThanIsReserved(t *testing.T) {
	dialecttest.Reserved(t, Decode, wide)
}
