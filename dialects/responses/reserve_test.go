//go:build !race

package responses

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// room is memory of some bytes.
type room struct{ left, reserved int64 }

var errNoRoom = errors.New("no room")

func (r *room) Reserve(bytes int64) error {
	if bytes > r.left {
		return errNoRoom
	}
	r.left, r.reserved = r.left-bytes, r.reserved+bytes
	return nil
}

// allocated is how many bytes f allocates.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// wide are the lists and objects of a request, each of many elements.
func wide(n int) map[string]string {
	all := func(element string) string { return strings.TrimSuffix(strings.Repeat(element+",", n), ",") }
	names := func(value string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"a%d":%s`, i, value)
		}
		return b.String()[1:]
	}
	calls := func(call, result string) string {
		var b strings.Builder
		for i := range n / 2 {
			fmt.Fprintf(&b, `,{"call_id":"%d",%s},{"call_id":"%d",%s}`, i, call, i, result)
		}
		return b.String()[1:]
	}
	tools := func(format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, ","+format, i)
		}
		return b.String()[1:]
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
		"functions":      user + `"a"}],"tools":[` + tools(`{"type":"function","name":"f%d"}`) + `]`,
		"a namespace":    user + `"a"}],"tools":[{"type":"namespace","name":"n","tools":[` + tools(`{"type":"custom","name":"f%d"}`) + `]}]`,
		"joining tools":  `"input":[{"type":"additional_tools","tools":[` + tools(`{"type":"function","name":"f%d"}`) + `]},` + hello + `]`,
		"an action":      `"input":[{"type":"local_shell_call","call_id":"1","action":{` + names("0") + `}}]`,
		"a shell":        `"input":[{"type":"shell_call","call_id":"1"},{"type":"shell_call_output","call_id":"1","output":[` + all(`{"stdout":"a"}`) + `]}]`,
		"metadata":       user + `"a"}],"metadata":{` + names(`""`) + `}`,
		"include":        user + `"a"}],"include":[` + all(`""`) + `]`,
		"members":        user + `"a"}],` + names("{}"),
		"members inside": user + `[{"type":"input_text","text":"a",` + names("1") + `}]}]`,
		"of an item":     `"input":[{"role":"user","content":"a",` + names("1") + `}]`,
		"elements":       user + `"a"}],"x":[` + all(`0`) + `]`,
	}
	for name, body := range bodies {
		bodies[name] = `{"model":"m",` + body + `}`
	}
	return bodies
}

func TestNothingIsDecodedThatHasNoRoom(t *testing.T) {
	const most = 1 << 20
	for name, body := range wide(200_000) {
		text := []byte(body)
		var err error
		took := allocated(func() { _, err = Dialect{}.Decode(&room{left: most}, text) })
		if err == nil {
			t.Errorf("%s was decoded", name)
		}
		if took > 2*most {
			t.Errorf("%s: %d KiB were allocated, %d could be reserved", name, took>>10, most>>10)
		}
	}
}

// Every decoded request and its conversation stay within what was reserved and twice the
// body.
func TestConversationsTakeNoMoreThanIsReserved(t *testing.T) {
	for name, body := range wide(900) {
		text := []byte(body)
		memory := &room{left: 1 << 30}
		took := allocated(func() {
			req, err := Dialect{}.Decode(memory, text)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			_, _ = req.Source.Conversation()
			req.Source.Ignored(nil)
		})
		if bound := memory.reserved + 2*int64(len(text)) + 16<<10; took > bound {
			t.Errorf("%s: %d KiB were allocated, %d reserved for a body of %d", name, took>>10, memory.reserved>>10, len(text)>>10)
		}
	}
}
