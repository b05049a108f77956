package sse

import (
	"bytes"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// KeepRaw has Raw return the bytes of each event. Then an event at the end without its whole
// empty line is returned only if its data are whole JSON. KeepRaw must be called before the
// first event.
func (r *Reader) KeepRaw() { r.raw = true }

// lastRaw is the event at the end that has no empty line: Raw has one.
func (r *Reader) lastRaw(event Event) (Event, error) {
	if !jsontext.Value(event.Data).IsValid() {
		return Event{}, io.EOF
	}
	missing := "\n\n" // behind a CR alone, too
	if r.buf[r.w-1] == '\n' {
		missing = "\n"
	}
	r.buf = append(r.buf[:r.w], missing...)
	r.w += len(missing)
	r.r, r.seen, r.skipLF = r.w, 0, false
	return event, nil
}

// Raw is the event that Next has returned as it came: its lines and the empty line after
// them, and before them what has come since the event before, such as comments. Those of
// all events, one after another, are the source's bytes, but for an empty line that is missing at
// its end. It is valid until the next call of
// Next.
func (r *Reader) Raw() []byte { return r.buf[r.start:r.r] }

// takeLF adds the LF of an empty line whose CR has been read to the event. It waits for it
// only where another line of the event ends in CRLF: after a CR alone there may be none.
func (r *Reader) takeLF() error {
	if r.r == r.w && bytes.Contains(r.Raw(), []byte("\r\n")) {
		if r.err == nil {
			if err := r.fill(); err != nil {
				return err
			}
		}
		if r.r == r.w {
			return r.err // as for an event without its empty line
		}
	}
	if r.r < r.w {
		if r.buf[r.r] == '\n' {
			r.r++
		}
		r.skipLF = false
	}
	return nil
}
