package controllers

import (
	"fmt"
	"net/http"
	"time"

	"modelgateway/middleware"
)

// writePatience is how long a client may take to accept one piece of an
// answer, not the whole: a slow reader is served, one that does not read is
// left.
const (
	writePatience = 30 * time.Second
	piece         = 64 << 10
)

// writeAll writes in pieces, each with its own time.
func writeAll(w http.ResponseWriter, control *http.ResponseController, text []byte) error {
	for len(text) > 0 {
		n := min(len(text), piece)
		_ = control.SetWriteDeadline(time.Now().Add(writePatience)) // not every test's writer can
		if _, err := w.Write(text[:n]); err != nil {
			return fmt.Errorf("%w: %w", middleware.ErrClientGone, err)
		}
		text = text[n:]
		if len(text) == 0 {
			break
		}
		if err := control.Flush(); err != nil { // or the pieces would gather and go as one
			return fmt.Errorf("%w: %w", middleware.ErrClientGone, err)
		}
	}
	return nil
}
