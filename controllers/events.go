package controllers

import (
	"cmp"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
	"modelgateway/llm"
	"modelgateway/middleware"
	"modelgateway/providers"
	"modelgateway/services/inference"
)

// eventWriter writes events and, while there are none, pings that keep proxies
// and clients from timing out. Events that arrive together are sent together.
type eventWriter struct {
	mu        sync.Mutex
	w         timedWriter
	format    api.StreamWriter
	keepAlive time.Duration // 0 = no pings
	timer     *time.Timer   // nil without keepAlive
	sent      time.Time     // when something was written last
	begun     bool          // the status is set
	closed    bool
	keep      func(answer []byte) // keeps the whole answer; nil: nothing is kept
	flushed   bool                // once
	pooled    *[]byte             // events that wait to be sent; nil while there are none
}

// fullBuffer is how many bytes of events are collected before they are sent.
const fullBuffer = 16 << 10

// buffers are free buffers for the next answers.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

func newEventWriter(w http.ResponseWriter, format api.StreamWriter, keepAlive time.Duration) *eventWriter {
	return &eventWriter{
		w: timedWriter{w: w, control: http.NewResponseController(w)}, format: format, keepAlive: keepAlive,
	}
}

// ready begins the answer unless that has been done.
func (e *eventWriter) ready() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.begun {
		e.writeHeaders()
	}
}

// writeHeaders begins the answer; the caller holds mu.
func (e *eventWriter) writeHeaders() {
	header := e.w.w.Header()
	header.Set("Content-Type", "text/event-stream; charset=utf-8")
	header.Set("Cache-Control", "no-cache")
	header.Set("X-Accel-Buffering", "no")
	e.w.w.WriteHeader(http.StatusOK)

	e.begun = true
	if e.keepAlive > 0 {
		e.sent = time.Now()
		e.timer = time.AfterFunc(e.keepAlive, e.ping)
	}
}

func (e *eventWriter) hasBegun() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.begun
}

// add adds one event.
func (e *eventWriter) add(event *llm.Event) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	var err error
	buf := e.waiting()
	if *buf, err = e.format.Append(*buf, event); err != nil || len(*buf) < fullBuffer {
		return err
	}
	return e.send()
}

// waiting is the buffer of the events that wait to be sent; the caller holds mu. It is
// given back after each write: most of its life a stream waits for its provider, and
// thousands of them may at once.
func (e *eventWriter) waiting() *[]byte {
	if e.pooled == nil {
		e.pooled = buffers.Get().(*[]byte)
	}
	return e.pooled
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
	buf := e.waiting()
	*buf = e.format.Done(*buf)
	if e.keep != nil {
		if answer := e.format.Whole(); answer != nil {
			e.keep(answer)
		}
	}
	if !e.flushed {
		return e.send() // otherwise the server would send a Content-Length, as for an answer that is no stream
	}
	return e.write() // the server sends it together with the end of the body
}

func (e *eventWriter) fail(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	told, header := *api.AsError(err), e.w.w.Header()
	told.RequestID = cmp.Or(header.Get("Request-Id"), header.Get("X-Request-Id"))
	buf := e.waiting()
	*buf = e.format.Fail(*buf, &told)
	_ = e.send()
}

// ping sends a ping after a silence, and sets the timer for the next one. It
// runs on the timer's own goroutine, and never after close has returned.
func (e *eventWriter) ping() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	if time.Since(e.sent) >= e.keepAlive {
		buf := e.waiting()
		*buf = e.format.Ping(*buf)
		_ = e.send() // if the client has disconnected, the next event fails
	}
	e.timer.Reset(e.keepAlive - time.Since(e.sent))
}

// send writes what has been added and flushes; the caller holds mu.
func (e *eventWriter) send() error {
	if e.pooled == nil || len(*e.pooled) == 0 {
		return nil
	}
	if err := e.write(); err != nil {
		return err
	}
	e.flushed = true
	return e.w.flush()
}

// write passes what has been added to the connection; the caller holds mu.
func (e *eventWriter) write() error {
	e.sent = time.Now()
	err := e.w.write(*e.waiting())
	e.release()
	return err
}

// release gives the buffer back; the caller holds mu.
func (e *eventWriter) release() {
	if e.pooled == nil {
		return
	}
	*e.pooled = (*e.pooled)[:0]
	if cap(*e.pooled) <= 2*fullBuffer { // a larger one held an image; most streams need much less
		buffers.Put(e.pooled)
	}
	e.pooled = nil
}

func (e *eventWriter) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	e.release()
	if e.timer != nil {
		e.timer.Stop()
	}
}

// all sends a stream. An error is sent as the last event, without the end mark, and the
// connection is closed, so that no client mistakes the part for the whole.
func (e *eventWriter) all(c *gin.Context, call *inference.Call, stream llm.Stream) error {
	e.keep = call.Keep() // before the end of the stream is sent, so that the next request finds it
	e.ready()
	call.Sent()
	var broken error
	for event, err := range stream {
		if err != nil {
			broken = err
			break
		}
		if event == nil {
			err = e.flush()
		} else {
			err = e.add(event)
		}
		if err != nil {
			broken = err // leaving the loop ends the upstream call
			break
		}
	}
	if broken != nil {
		e.failFor(c, broken)
		return broken
	}
	return e.done()
}

// failFor sends the error that ends a stream, unless the client has left. The gateway itself
// may have ended the request, for a reason that the client is told.
func (e *eventWriter) failFor(c *gin.Context, err error) {
	if isTold(err) || !errors.Is(err, inference.ErrClientGone) && c.Request.Context().Err() == nil {
		e.fail(err)
	}
}

// refuse ends a stream of which no event of the answer has come. Most errors are for the
// middleware to answer; it cannot do that where the stream has begun, and some clients
// understand some errors in a stream only.
func (h *Generate) refuse(c *gin.Context, e *eventWriter, call *inference.Call, err error) error {
	if e.hasBegun() {
		e.failFor(c, err)
		return err
	}
	if in := h.Dialect.FailsInStream; in == nil || !isTold(err) || !in(api.AsError(err)) {
		return err
	}
	call.Sent()
	e.ready()
	e.fail(err)
	return middleware.Told{Err: err}
}

// isTold reports whether an error has a message for the client.
func isTold(err error) bool {
	if _, ok := errors.AsType[*api.Error](err); ok {
		return true
	}
	_, ok := errors.AsType[*providers.Refusal](err)
	return ok
}
