package gatewaytest

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
)

// LogBuffer is a log in memory.
type LogBuffer struct {
	mu    sync.Mutex
	text  bytes.Buffer
	grown chan struct{} // receives after a write
}

// NewLogBuffer makes an empty LogBuffer.
func NewLogBuffer() *LogBuffer { return &LogBuffer{grown: make(chan struct{}, 1)} }

// Write appends to the log.
func (b *LogBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case b.grown <- struct{}{}:
	default:
	}
	return b.text.Write(p)
}

// String returns the whole log.
func (b *LogBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Field returns a field of the first line with this message, of a log in JSON or as
// text.
func (b *LogBuffer) Field(message, name string) string {
	for line := range strings.Lines(b.String()) {
		var fields map[string]any
		if _, text, ok := strings.Cut(line, " msg="+message+" "); ok {
			_, value, _ := strings.Cut(text, name+"=")
			return strings.Fields(value + " -")[0]
		}
		if json.Unmarshal([]byte(line), &fields) == nil && fields["msg"] == message {
			value, _ := fields[name].(string)
			return value
		}
	}
	return ""
}
