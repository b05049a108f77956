package controllers

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"

	"modelgateway/models/api"
	"modelgateway/providers"
	"modelgateway/services/inference"
)

type streamOptions struct {
	usage     bool          // the client asked for it
	keepAlive time.Duration // 0 = no comments
}

// writeStream sends a stream as Server-Sent Events. After an error it sends
// that as the last event, no [DONE], and cuts the connection, so that no client
// takes what came for the whole.
func writeStream(c *gin.Context, stream providers.Stream, opts streamOptions) error {
	header := c.Writer.Header()
	header.Set("Content-Type", "text/event-stream; charset=utf-8")
	header.Set("Cache-Control", "no-cache")
	header.Set("X-Accel-Buffering", "no")
	c.Writer.WriteHeader(http.StatusOK)

	out := newEventWriter(c.Writer, opts)
	defer out.close()
	var broken error
	for chunk, err := range stream {
		if err != nil {
			broken = err
			break
		}
		if chunk == nil {
			err = out.flush()
		} else {
			err = out.chunk(chunk)
		}
		if err != nil {
			broken = err // leaving the loop ends the upstream call
			break
		}
	}
	if broken != nil {
		// Also when the request was ended by the gateway itself, for a reason.
		if _, told := errors.AsType[*api.Error](broken); told || !errors.Is(broken, inference.ErrClientGone) && c.Request.Context().Err() == nil {
			out.fail(broken)
		}
		return broken
	}
	return out.done()
}

// eventWriter writes events and, while there are none, comments that keep
// proxies and clients from giving up. What comes together is sent together.
type eventWriter struct {
	mu      sync.Mutex
	w       timedWriter
	opts    streamOptions
	timer   *time.Timer // nil without keepAlive
	sent    time.Time   // when something was written last
	closed  bool
	flushed bool // once
	encoder api.ChunkEncoder
	buf     []byte // events that are still to be sent
	pooled  *[]byte
}

// fullBuffer is how many bytes of events may wait for each other.
const fullBuffer = 16 << 10

// buffers are those that no stream uses: empty, whatever they held.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

func newEventWriter(w gin.ResponseWriter, opts streamOptions) *eventWriter {
	e := &eventWriter{w: newTimedWriter(w), opts: opts, pooled: buffers.Get().(*[]byte)}
	e.buf = (*e.pooled)[:0]
	e.mu.Lock()
	defer e.mu.Unlock()
	if opts.keepAlive > 0 {
		e.sent = time.Now()
		e.timer = time.AfterFunc(opts.keepAlive, e.ping)
	}
	return e
}

// chunk adds one event. Without usage asked for, the usage chunk is only for
// the gateway's own books; with it, the other chunks say that it is not there.
func (e *eventWriter) chunk(c *api.ChatChunk) error {
	if c.Usage != nil && len(c.Choices) == 0 && !e.opts.usage {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	text, err := e.encoder.Append(append(e.buf, "data: "...), c)
	if err != nil {
		return fmt.Errorf("encode chunk: %w", err)
	}
	if e.opts.usage && c.Usage == nil {
		text = append(text[:len(text)-1], `,"usage":null}`...)
	}
	e.buf = append(text, "\n\n"...)
	if len(e.buf) < fullBuffer {
		return nil
	}
	return e.send()
}

// flush sends what has been added.
func (e *eventWriter) flush() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.send()
}

func (e *eventWriter) done() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.buf = append(e.buf, "data: [DONE]\n\n"...)
	if !e.flushed {
		return e.send() // or the server would say its length, as of an answer that is no stream
	}
	return e.write() // the server sends it together with the end of its body
}

func (e *eventWriter) fail(err error) {
	body, encodeErr := json.Marshal(api.AsError(err))
	if encodeErr != nil {
		return // the cut connection says enough
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.buf = append(append(append(e.buf, "data: "...), body...), "\n\n"...)
	_ = e.send()
}

// ping breaks a silence, and comes back when the next could be as long. It runs
// on the timer's own goroutine, and not once more after close has returned.
func (e *eventWriter) ping() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	if time.Since(e.sent) >= e.opts.keepAlive {
		e.buf = append(e.buf, ": ping\n\n"...)
		_ = e.send() // if the client has gone, the next chunk will tell
	}
	e.timer.Reset(e.opts.keepAlive - time.Since(e.sent))
}

// send writes what has been added and flushes; the caller holds mu.
func (e *eventWriter) send() error {
	if len(e.buf) == 0 {
		return nil
	}
	if err := e.write(); err != nil {
		return err
	}
	e.flushed = true
	return e.w.flush()
}

// write hands over what has been added; the caller holds mu.
func (e *eventWriter) write() error {
	text := e.buf
	e.buf = e.buf[:0]
	if cap(e.buf) > 2*fullBuffer {
		e.buf = nil // a picture passed; most streams never need as much again
	}
	e.sent = time.Now()
	return e.w.write(text)
}

func (e *eventWriter) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	*e.pooled = e.buf[:0]
	buffers.Put(e.pooled)
	e.buf = nil
	if e.timer != nil {
		e.timer.Stop()
	}
}
