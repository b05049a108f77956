//go:build !race

package chat

import (
	"encoding/base64"
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

// wide are the lists and maps of a request, each of many elements.
func wide(n int) map[string]string {
	const user, model = `"messages":[{"role":"user",`, `"messages":[{"role":"assistant","content":"a",`
	all := func(element string) string { return strings.TrimSuffix(strings.Repeat(element+",", n), ",") }
	bodies := map[string]string{
		"messages":          `"messages":[` + all(`{}`) + `]`,
		"valid messages":    `"messages":[` + all(`{"role":"user","content":"a"}`) + `]`,
		"parts":             user + `"content":[` + all(`{"type":"text","text":"a"}`) + `]}]`,
		"tool_calls":        model + `"tool_calls":[` + all(`{"id":"a","function":{}}`) + `]}]`,
		"images":            model + `"images":[` + all(`{}`) + `]}]`,
		"reasoning_details": model + `"reasoning_details":[` + all(`{}`) + `]}]`,
		"tools":             user + `"content":"a"}],"tools":[` + all(`{}`) + `]`,
		"functions":         user + `"content":"a"}],"functions":[` + all(`{}`) + `]`,
		"allowed tools":     user + `"content":"a"}],"tool_choice":{"type":"allowed_tools","allowed_tools":{"tools":[` + all(`{}`) + `]}}`,
		"stop":              user + `"content":"a"}],"stop":[` + all(`""`) + `]`,
		"modalities":        user + `"content":"a"}],"modalities":[` + all(`""`) + `]`,
		"unknown objects":   user + `"content":"a"}],"x":[` + all(`{}`) + `]`,
		"unknown elements":  user + `"content":"a"}],"x":[` + all(`0`) + `]`,
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
		took := allocated(func() { _, err = Decode(&room{left: most}, text) })
		if bounded := name == "messages" || name == "stop" || name == "modalities"; err == nil || !bounded && !errors.Is(err, errNoRoom) {
			t.Errorf("%s: %v", name, err) // those end at their first elements
		}
		if took > 2*most {
			t.Errorf("%s: %d KiB were allocated, %d could be reserved", name, took>>10, most>>10)
		}
	}
}

// Every decoded request stays within what was reserved and twice the body.
func TestDecodedRequestsTakeNoMoreThanTheyReserve(t *testing.T) {
	for name, body := range wide(900) {
		text := []byte(body)
		memory := &room{left: 1 << 30}
		took := allocated(func() { _, _ = Decode(memory, text) })
		if bound := memory.reserved + 2*int64(len(text)) + 16<<10; took > bound {
			t.Errorf("%s: %d KiB were allocated, %d reserved for a body of %d", name, took>>10, memory.reserved>>10, len(text)>>10)
		}
	}
}

func TestAllListsEndAtTheirBounds(t *testing.T) {
	for name, body := range wide(20_000) {
		text := []byte(body)
		var err error
		took := allocated(func() { _, err = Decode(nil, text) })
		if unbounded := strings.HasPrefix(name, "unknown"); (err == nil) != unbounded {
			t.Errorf("%s: %v", name, err)
		}
		if most := int64(12 * len(text)); took > most && name != "valid messages" {
			t.Errorf("%s: %d KiB were allocated for %d KiB", name, took>>10, len(text)>>10)
		}
	}
}

func TestAnIDBringsBackFewDetails(t *testing.T) {
	packed := func(n int) string {
		return "a" + mark + base64.RawURLEncoding.EncodeToString([]byte("["+strings.TrimSuffix(strings.Repeat("{},", n), ",")+"]"))
	}
	if id, details := UnpackID(packed(maxParts)); id != "a" || len(details) != maxParts {
		t.Errorf("%d details of %d, %.40s", len(details), maxParts, id)
	}
	long := packed(1 << 20)
	took := allocated(func() {
		if id, details := UnpackID(long); id != long || details != nil {
			t.Errorf("%d details, %.40s", len(details), id)
		}
	})
	if took > int64(3*len(long)) {
		t.Errorf("%d KiB for an id of %d", took>>10, len(long)>>10)
	}
}

// The slot of a call has room for two messages: the most frequent request
// reserves nothing.
func TestMessagesAreReservedAsTheListGrows(t *testing.T) {
	for n, least := range map[int]int64{2: 0, 3: 1, 100: 98, 10_000: 9_998} {
		memory := &room{left: 1 << 30}
		body := `{"model":"m","messages":[` + strings.TrimSuffix(strings.Repeat(`{"role":"user","content":"a"},`, n), ",") + `]}`
		if _, err := Decode(memory, []byte(body)); err != nil {
			t.Error(err)
		}
		if got := memory.reserved >> 10; got < least || got > 2*least {
			t.Errorf("%d KiB for %d messages", got, n)
		}
	}
}

func TestFragmentsOfAThoughtAreJoinedOnce(t *testing.T) {
	const size = 4 << 10
	details := make([]ReasoningDetail, maxParts)
	for i := range details {
		details[i] = ReasoningDetail{Type: ReasoningText, Text: strings.Repeat(string(rune('a'+i%26)), size)}
	}
	var whole []ReasoningDetail
	took := allocated(func() { whole = together(details) })
	if len(whole) != 1 || len(whole[0].Text) != maxParts*size || !strings.HasPrefix(whole[0].Text[size:], "bb") {
		t.Fatalf("%d blocks", len(whole))
	}
	if took > 2*maxParts*size {
		t.Errorf("%d KiB were allocated for %d", took>>10, maxParts*size>>10)
	}
}
