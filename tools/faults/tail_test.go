package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

// tail keeps the beginning and the end of what is written to it, and never makes
// the writer wait.
type tail struct {
	grown chan struct{} // holds a value when there is more than before

	mu         sync.Mutex
	first, end []byte
	dropped    int
}

const tailRoom = 256 << 10 // bytes, for each of the beginning and the end

func newTail() *tail { return &tail{grown: make(chan struct{}, 1)} }

func (b *tail) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fits := min(len(p), tailRoom-len(b.first))
	b.first = append(b.first, p[:fits]...)
	b.end = append(b.end, p[fits:]...)
	if over := len(b.end) - 2*tailRoom; over > 0 {
		b.dropped += len(b.end) - tailRoom
		b.end = slices.Clone(b.end[len(b.end)-tailRoom:])
	}
	select {
	case b.grown <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (b *tail) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dropped == 0 {
		return string(b.first) + string(b.end)
	}
	return fmt.Sprintf("%s\n… %d bytes …\n%s", b.first, b.dropped, b.end)
}

// field is a field of the first line with this message.
func (b *tail) field(message, name string) string {
	for line := range strings.Lines(b.String()) {
		var fields map[string]any
		if json.Unmarshal([]byte(line), &fields) == nil && fields["msg"] == message {
			value, _ := fields[name].(string)
			return value
		}
	}
	return ""
}

func TestTailKeepsTheBeginningAndTheEnd(t *testing.T) {
	b := newTail()
	line := bytes.Repeat([]byte("x"), 1000)
	for i := range 3000 {
		if n, err := fmt.Fprintf(b, "%d %s\n", i, line); err != nil || n < len(line) {
			t.Fatal(n, err)
		}
	}
	text := b.String()
	if !strings.HasPrefix(text, "0 xxx") || !strings.Contains(text, "\n2999 xxx") || len(text) > 4*tailRoom {
		t.Errorf("%d bytes, from %.10q to %q", len(text), text, text[len(text)-10:])
	}
}
