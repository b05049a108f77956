package controllers

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"

	"modelgateway/models/api"
	"modelgateway/services/inference"
)

func writeJSON(c *gin.Context, status int, value any) error {
	body, err := json.Marshal(value, api.Lenient)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	return writeBody(c, status, body)
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

// listed makes the value of a header from names that clients chose: printable
// ASCII, and no longer than clients accept.
func listed(names []string) string {
	const longest = 4 << 10
	var b strings.Builder
	for i, name := range names {
		name = strings.Trim(strconv.QuoteToASCII(name), `"`)
		if b.Len()+len(name) > longest {
			b.WriteString(", and more")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(name)
	}
	return b.String()
}

// writeTimeout is how long a client may take to accept one piece of an answer,
// not the whole: a slow client is served, and one that does not read is
// disconnected.
const (
	writeTimeout = 30 * time.Second
	piece        = 64 << 10
)

// timedWriter writes to a client that may be slow.
type timedWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timed   time.Time // when the last deadline was set
}

// write writes in pieces, each with its own deadline, which may be up to a
// second shorter: it is not set again for every event.
func (t *timedWriter) write(text []byte) error {
	for len(text) > 0 {
		n := min(len(text), piece)
		if now := time.Now(); now.Sub(t.timed) > time.Second {
			_ = t.control.SetWriteDeadline(now.Add(writeTimeout)) // some writers in tests have no deadlines
			t.timed = now
		}
		if _, err := t.w.Write(text[:n]); err != nil {
			return fmt.Errorf("%w: %w", inference.ErrClientGone, err)
		}
		text = text[n:]
		if len(text) == 0 {
			break
		}
		if err := t.flush(); err != nil { // otherwise the server joins the pieces
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
