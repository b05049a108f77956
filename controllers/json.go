package controllers

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"

	"modelgateway/models/api"
	"modelgateway/services/inference"
)

// writePatience is how long a client may take to accept one piece of an
// answer, not the whole: a slow reader is served, one that does not read is
// left.
const (
	writePatience = 30 * time.Second
	piece         = 64 << 10
)

// timedWriter writes to a client that may be slow.
type timedWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timed   time.Time // when the patience with it began
}

func newTimedWriter(w http.ResponseWriter) timedWriter {
	return timedWriter{w: w, control: http.NewResponseController(w)}
}

// write writes in pieces, each with its own time: up to a second less where much
// is written, so that it need not be set for every chunk.
func (t *timedWriter) write(text []byte) error {
	for len(text) > 0 {
		n := min(len(text), piece)
		if now := time.Now(); now.Sub(t.timed) > time.Second {
			_ = t.control.SetWriteDeadline(now.Add(writePatience)) // not every test's writer can
			t.timed = now
		}
		if _, err := t.w.Write(text[:n]); err != nil {
			return fmt.Errorf("%w: %w", inference.ErrClientGone, err)
		}
		text = text[n:]
		if len(text) == 0 {
			break
		}
		if err := t.flush(); err != nil { // or the pieces would gather and go as one
			return err
		}
	}
	return nil
}

func (t *timedWriter) flush() error {
	if err := t.control.Flush(); err != nil {
		return fmt.Errorf("%w: %w", inference.ErrClientGone, err)
	}
	return nil
}

func writeJSON(c *gin.Context, status int, value any) error {
	body, err := json.Marshal(value, api.Lenient)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	return writeBody(c, status, body)
}

// jsonType is shared by all answers and never changed.
var jsonType = []string{"application/json"}

// writeBody sends JSON.
func writeBody(c *gin.Context, status int, body []byte) error {
	c.Writer.Header()["Content-Type"] = jsonType
	if len(body) > 1<<10 { // net/http sets the length of shorter bodies by itself
		c.Header("Content-Length", strconv.Itoa(len(body)))
	}
	c.Status(status)
	w := newTimedWriter(c.Writer)
	return w.write(body)
}

func size(bytes int64) string {
	if bytes >= 1<<20 && bytes%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	if bytes >= 1<<10 && bytes%(1<<10) == 0 {
		return fmt.Sprintf("%d KiB", bytes>>10)
	}
	return fmt.Sprintf("%d bytes", bytes)
}
