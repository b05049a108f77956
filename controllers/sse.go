package controllers

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/middleware"
	"modelgateway/models/api"
	"modelgateway/providers"
)

// faithful passes on what an upstream got wrong in members that are only
// carried; invalid UTF-8 becomes U+FFFD.
var faithful = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

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
		if err := out.chunk(chunk); err != nil {
			broken = err // leaving the loop ends the upstream call
			break
		}
	}
	if broken != nil {
		if !errors.Is(broken, middleware.ErrClientGone) && c.Request.Context().Err() == nil {
			out.fail(broken)
		}
		return broken
	}
	return out.done()
}

// eventWriter writes events and, while there are none, comments that keep
// proxies and clients from giving up.
type eventWriter struct {
	mu      sync.Mutex
	w       gin.ResponseWriter
	control *http.ResponseController
	opts    streamOptions
	timer   *time.Timer
	closed  bool
	buf     []byte
}

func newEventWriter(w gin.ResponseWriter, opts streamOptions) *eventWriter {
	e := &eventWriter{w: w, opts: opts, control: http.NewResponseController(w)}
	if opts.keepAlive > 0 {
		e.timer = time.AfterFunc(opts.keepAlive, e.ping)
	}
	return e
}

// chunk writes one event. Without usage asked for, the usage chunk is only for
// the gateway's own books; with it, the other chunks say that it is not there.
func (e *eventWriter) chunk(c *api.ChatChunk) error {
	if c.Usage != nil && len(c.Choices) == 0 && !e.opts.usage {
		return nil
	}
	body, err := json.Marshal(c, faithful)
	if err != nil {
		return fmt.Errorf("encode chunk: %w", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.buf = append(e.buf[:0], "data: "...)
	e.buf = append(e.buf, body...)
	if e.opts.usage && c.Usage == nil {
		e.buf = append(e.buf[:len(e.buf)-1], `,"usage":null}`...)
	}
	return e.send(append(e.buf, "\n\n"...))
}

func (e *eventWriter) done() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.send([]byte("data: [DONE]\n\n"))
}

func (e *eventWriter) fail(err error) {
	body, encodeErr := json.Marshal(api.AsError(err))
	if encodeErr != nil {
		return // the cut connection says enough
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	_ = e.send(append(append([]byte("data: "), body...), "\n\n"...))
}

// ping breaks a silence. It runs on the timer's own goroutine, and not once
// more after close has returned.
func (e *eventWriter) ping() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closed {
		_ = e.send([]byte(": ping\n\n")) // if the client has gone, the next chunk will tell
	}
}

// send writes and flushes; the caller holds mu.
func (e *eventWriter) send(text []byte) error {
	if e.timer != nil {
		e.timer.Reset(e.opts.keepAlive)
	}
	if err := writeAll(e.w, e.control, text); err != nil {
		return err
	}
	if err := e.control.Flush(); err != nil {
		return fmt.Errorf("%w: %w", middleware.ErrClientGone, err)
	}
	return nil
}

func (e *eventWriter) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	if e.timer != nil {
		e.timer.Stop()
	}
	_ = e.control.SetWriteDeadline(time.Time{}) // the connection may serve another request
}
