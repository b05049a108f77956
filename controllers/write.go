package controllers

import (
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"modelgateway/middleware"
	"modelgateway/models/api"
	"modelgateway/models/llm"
	"modelgateway/providers"
	"modelgateway/services/inference"
	"modelgateway/services/ratelimit"
)

// fallbackHeader names the fallback that answered; in a request it can forbid
// fallbacks.
const fallbackHeader = "X-Gateway-Fallback"

// describe sets the headers that name the model that answered, the ignored
// fields, and the status of the token limit.
func (h *Generate) describe(c *gin.Context, call *inference.Call) {
	s := call.Route()
	if s.Provider != "" {
		c.Header("X-Gateway-Provider", s.Provider)
	}
	if s.RequestID != "" {
		c.Header("X-Upstream-Request-Id", s.RequestID)
	}
	if len(s.Ignored) > 0 {
		c.Header("X-Gateway-Ignored-Params", listed(s.Ignored))
	}
	if s.Fallback != "" {
		c.Header(fallbackHeader, s.Fallback)
	}
	if s.Redirected != "" {
		c.Header("X-Gateway-Model-Redirected", s.Redirected)
	}
	c.Header("Openai-Processing-Ms", strconv.FormatInt(h.Now().Sub(call.Began()).Milliseconds(), 10))
	setTokenHeaders(c.Writer.Header(), call.TokenStatus())
}

// setTokenHeaders sets the headers with the status of the caller's limit of
// tokens; none without such a limit.
func setTokenHeaders(header http.Header, s ratelimit.TokenStatus) {
	if s.Limit <= 0 {
		return
	}
	header.Set("X-Ratelimit-Limit-Tokens", strconv.FormatInt(s.Limit, 10))
	header.Set("X-Ratelimit-Remaining-Tokens", strconv.FormatInt(s.Remaining, 10))
	header.Set("X-Ratelimit-Reset-Tokens", middleware.WholeSeconds(s.Reset).String())
}

// answer writes the answer of the call, whole or as a stream.
func (h *Generate) answer(c *gin.Context, req *llm.Request, call *inference.Call) error {
	answer, stream, err := call.Open(c.Request.Context())
	h.describe(c, call)
	if err != nil {
		return err
	}
	if stream != nil {
		return writeStream(c, stream, h.Dialect.(api.Streamer).NewWriter(req), h.KeepAlive)
	}
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	text := answer.Raw
	if text == nil || answer.RawDialect != req.Source.Dialect() {
		if text, err = h.Dialect.AppendAnswer((*buffer)[:0], req, answer); err != nil {
			return err
		}
		if cap(text) <= fullBuffer {
			*buffer = text[:0]
		}
	}
	call.Sent()
	return writeBody(c, http.StatusOK, text)
}

// writeStream sends a stream as server-sent events. An error is sent as the
// last event, without the end mark, and the connection is closed, so that no
// client mistakes the part for the whole.
func writeStream(c *gin.Context, stream llm.Stream, w api.StreamWriter, keepAlive time.Duration) error {
	header := c.Writer.Header()
	header.Set("Content-Type", "text/event-stream; charset=utf-8")
	header.Set("Cache-Control", "no-cache")
	header.Set("X-Accel-Buffering", "no")
	c.Writer.WriteHeader(http.StatusOK)

	out := newEventWriter(c.Writer, w, keepAlive)
	defer out.close()
	var broken error
	for event, err := range stream {
		if err != nil {
			broken = err
			break
		}
		if event == nil {
			err = out.flush()
		} else {
			err = out.add(event)
		}
		if err != nil {
			broken = err // leaving the loop ends the upstream call
			break
		}
	}
	if broken != nil {
		// The gateway itself may have ended the request, for a reason that the client
		// is told.
		if isTold(broken) || !errors.Is(broken, inference.ErrClientGone) && c.Request.Context().Err() == nil {
			out.fail(broken)
		}
		return broken
	}
	return out.done()
}

// isTold reports whether an error has a message for the client.
func isTold(err error) bool {
	if _, ok := errors.AsType[*api.Error](err); ok {
		return true
	}
	_, ok := errors.AsType[*providers.Refusal](err)
	return ok
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
	w := timedWriter{w: c.Writer, control: http.NewResponseController(c.Writer)}
	return w.write(body)
}

// eventWriter writes events and, while there are none, pings that keep proxies
// and clients from timing out. Events that arrive together are sent together.
type eventWriter struct {
	mu        sync.Mutex
	w         timedWriter
	format    api.StreamWriter
	keepAlive time.Duration // 0 = no pings
	timer     *time.Timer   // nil without keepAlive
	sent      time.Time     // when something was written last
	closed    bool
	flushed   bool   // once
	buf       []byte // events that wait to be sent
	pooled    *[]byte
}

// fullBuffer is how many bytes of events are collected before they are sent.
const fullBuffer = 16 << 10

// buffers are free buffers for the next answers.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

func newEventWriter(w gin.ResponseWriter, format api.StreamWriter, keepAlive time.Duration) *eventWriter {
	e := &eventWriter{
		w: timedWriter{w: w, control: http.NewResponseController(w)}, format: format, keepAlive: keepAlive,
		pooled: buffers.Get().(*[]byte),
	}
	e.buf = (*e.pooled)[:0]
	e.mu.Lock()
	defer e.mu.Unlock()
	if keepAlive > 0 {
		e.sent = time.Now()
		e.timer = time.AfterFunc(keepAlive, e.ping)
	}
	return e
}

// add adds one event.
func (e *eventWriter) add(event *llm.Event) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	var err error
	if e.buf, err = e.format.Append(e.buf, event); err != nil || len(e.buf) < fullBuffer {
		return err
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
	e.buf = e.format.Done(e.buf)
	if !e.flushed {
		return e.send() // otherwise the server would send a Content-Length, as for an answer that is no stream
	}
	return e.write() // the server sends it together with the end of the body
}

func (e *eventWriter) fail(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.buf = e.format.Fail(e.buf, api.AsError(err))
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
		e.buf = e.format.Ping(e.buf)
		_ = e.send() // if the client has disconnected, the next event fails
	}
	e.timer.Reset(e.keepAlive - time.Since(e.sent))
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

// write passes what has been added to the connection; the caller holds mu.
func (e *eventWriter) write() error {
	text := e.buf
	e.buf = e.buf[:0]
	if cap(e.buf) > 2*fullBuffer {
		e.buf = nil // it held an image; most streams need much less
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
