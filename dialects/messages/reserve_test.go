//go:build !race

package messages

import (
	"errors"
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
			b.WriteString(`,"` + string(rune('a'+i%26)) + strings.Repeat("b", i%7) + index(i) + `":` + value)
		}
		return b.String()[1:]
	}
	const user = `"messages":[{"role":"user","content":`
	bodies := map[string]string{
		"messages":       `"messages":[` + all(`{}`) + `]`,
		"valid messages": `"messages":[` + all(`{"role":"user","content":"a"},{"role":"assistant","content":"b"}`) + `]`,
		"blocks":         user + `[` + all(`{"type":"text","text":"a"}`) + `]}]`,
		"empty blocks":   user + `[` + all(`{}`) + `]}]`,
		"images":         user + `[` + all(`{"type":"image","source":{"type":"url","url":"https://a"}}`) + `]}]`,
		"calls":          `"messages":[{"role":"assistant","content":[` + all(`{"type":"tool_use","name":"f"}`) + `]}]`,
		"thoughts":       `"messages":[{"role":"assistant","content":[` + all(`{"type":"thinking","signature":"a"}`) + `]}]`,
		"a document": user + `[{"type":"document","source":{"type":"content","content":[` + all(`{"type":"text",`+
			`"text":"a"}`) + `]}}]}]`,
		"tools":          user + `"a"}],"tools":[` + all(`{}`) + `]`,
		"valid tools":    user + `"a"}],"tools":[` + all(`{"name":"f","input_schema":{}}`) + `]`,
		"system":         `"system":[` + all(`{"type":"text","text":"a"}`) + `]`,
		"stop sequences": user + `"a"}],"stop_sequences":[` + all(`"a"`) + `]`,
		"an input":       `"messages":[{"role":"assistant","content":[{"type":"tool_use","name":"f","input":{` + names("0") + `}}]}]`,
		"members":        user + `"a"}],` + names("{}"),
		"members inside": user + `[{"type":"text","text":"a",` + names("1") + `}]}]`,
		"elements":       user + `"a"}],"x":[` + all(`0`) + `]`,
	}
	for name, body := range bodies {
		bodies[name] = `{"model":"m","max_tokens":1,` + body + `}`
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
