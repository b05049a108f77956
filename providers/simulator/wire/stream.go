package wire

import (
	"context"
	"net/http"
	"time"

	"modelgateway/providers/simulator/reply"
)

// Stream is a stream that is not sent yet: its events in the bytes that are
// sent.
type Stream struct {
	Events [][]byte
	// truncated streams end with the connection instead of the body.
	truncated bool
}

// Inject puts the fault that a prompt asks for into the middle of the stream:
// the error event in place of the second half, or the end of the connection
// inside an event.
func (s Stream) Inject(fault reply.Fault, errorEvent []byte) Stream {
	half := len(s.Events) / 2
	switch fault {
	case reply.FaultMidstream:
		return Stream{Events: append(s.Events[:half:half], errorEvent)}
	case reply.FaultTruncation:
		torn := s.Events[half]
		return Stream{Events: append(s.Events[:half:half], torn[:len(torn)/2]), truncated: true}
	}
	return s
}

// Send writes the events, each flushed, with a pause between two of them. It
// returns early when the client has disconnected, and panics with
// http.ErrAbortHandler to close the connection of a truncated stream.
func (s Stream) Send(w http.ResponseWriter, r *http.Request, pause time.Duration) {
	w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(w)
	for i, event := range s.Events {
		if i > 0 && !sleep(r.Context(), pause) {
			return
		}
		if _, err := w.Write(event); err != nil {
			return
		}
		if err := out.Flush(); err != nil {
			return
		}
	}
	if s.truncated {
		panic(http.ErrAbortHandler)
	}
}

// sleep reports whether the pause ended before the client disconnected.
func sleep(ctx context.Context, pause time.Duration) bool {
	if pause <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
