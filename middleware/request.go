package middleware

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"time"

	"github.com/gin-gonic/gin"

	"modelgateway/models/api"
)

// Names of headers are in their canonical form, which costs nothing to set.
const (
	requestIDHeader = "X-Request-Id"
	providerHeader  = "X-Gateway-Provider"
)

// sane is what a client's own request id may look like; anything else is
// replaced, so that it can go into logs and headers.
var sane = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,128}$`)

// Identify gives every request an id, in the answer's header, and takes from
// its connection the time-out of the answer before.
func (m Chain) Identify(c *gin.Context) {
	_ = http.NewResponseController(c.Writer).SetWriteDeadline(time.Time{}) // not every test's writer can
	id := first(c.Request.Header, requestIDHeader)
	if id == "" || !sane.MatchString(id) {
		id = "req_" + rand.Text()
	}
	header := c.Writer.Header()
	header[requestIDHeader], header["X-Content-Type-Options"] = []string{id}, noSniffing
	if len(c.Request.TransferEncoding) > 0 {
		// net/http drops a length that stands beside chunks without a word. A proxy
		// in front may have gone by it, and then what follows on this connection is
		// no request of its own (RFC 9112, 6.1).
		c.Header("Connection", "close")
	}
}

// RequestID is the id that Identify gave.
func RequestID(c *gin.Context) string { return first(c.Writer.Header(), requestIDHeader) }

// noSniffing is the same for all; nobody changes it.
var noSniffing = []string{"nosniff"}

// first is the first value of a header whose name is in its canonical form.
func first(h http.Header, name string) string {
	if values := h[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// Access counts every request, and writes one line of each: never a header, a
// query or a body.
func (m Chain) Access(c *gin.Context) {
	began := m.Now()
	m.Metrics.Begin()
	ctx, span := m.Tracer.Request(c.Request.Context(), c.Request, c.FullPath())
	g := new(guest)
	c.Request = c.Request.WithContext(context.WithValue(ctx, guestKey{}, g))
	defer func() {
		span.End(c.Writer.Status(), RequestID(c))
		route := c.FullPath()
		if route == "" {
			route = "none"
		}
		now := m.Now()
		m.Metrics.Done(route, c.Writer.Status(), now.Sub(began))
		ctx := c.Request.Context()
		if !m.Log.Enabled(ctx, slog.LevelInfo) {
			return
		}
		line := slog.NewRecord(now, slog.LevelInfo, "request", 0) // the place in the code is always this one
		attrs := append(make([]slog.Attr, 0, mostAttrs),
			slog.String("request_id", RequestID(c)),
			slog.String("method", c.Request.Method),
			slog.String("route", route),
			slog.Int("status", c.Writer.Status()),
			slog.Int64("duration_us", now.Sub(began).Microseconds()),
			slog.Int("bytes", max(c.Writer.Size(), 0)),
			slog.String("client", g.address(c)),
			slog.String("provider", first(c.Writer.Header(), providerHeader)),
		)
		line.AddAttrs(g.describe(attrs)...)
		_ = m.Log.Handler().Handle(ctx, line)
	}()
	c.Next()
}

// mostAttrs is how much a line says at most.
const mostAttrs = 24

// address is the client's, which need not be found out twice.
func (g *guest) address(c *gin.Context) string {
	if g.ip != "" {
		return g.ip
	}
	return c.ClientIP()
}

// describe adds who made the request, what was wrong with it, and what its call
// came to.
func (g *guest) describe(attrs []slog.Attr) []slog.Attr {
	if g.caller.UserID != "" {
		attrs = append(attrs, slog.String("user", g.caller.UserID))
	}
	if g.caller.KeyID != "" {
		attrs = append(attrs, slog.String("key", g.caller.KeyID))
	}
	if g.code != "" {
		attrs = append(attrs, slog.String("code", g.code))
	}
	call := g.booked
	if call == nil && g.asked != "" {
		return append(attrs, slog.String("model", g.asked))
	}
	if call == nil {
		return attrs
	}
	if call.Attempts != 1 {
		attrs = append(attrs, slog.Int("attempts", call.Attempts))
	}
	if call.Estimated {
		attrs = append(attrs, slog.Bool("estimated", true))
	}
	return append(attrs,
		slog.String("model", call.Served),
		slog.String("outcome", call.Outcome),
		slog.Int64("input_tokens", call.InputTokens),
		slog.Int64("output_tokens", call.OutputTokens),
		slog.Int64("cost_micro_usd", call.Cost),
	)
}

// Recover turns a panic into a 500 in the one error shape. Once the answer has
// begun it cuts the connection instead: a proper end would make what came look
// like the whole. It stands outside everything else, and Gin's own recovery,
// which does otherwise, is not used.
func (m Chain) Recover(c *gin.Context) {
	defer func() {
		fault := recover()
		if fault == nil {
			return
		}
		c.Abort()
		if err, ok := fault.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(fault)
		}
		m.Log.Error("panic", "request_id", RequestID(c), "fault", fault, "stack", stack())
		m.fail(c, api.Internal(errPanic))
	}()
	c.Next()
}

var errPanic = errors.New("panic")

// maxHeaders bounds a request's header, in bytes.
const maxHeaders = 32 << 10

// Bound refuses a header that is too large, in the one error shape; what is
// much larger still never gets here.
func (m Chain) Bound(c *gin.Context) {
	size := len(c.Request.RequestURI)
	for name, values := range c.Request.Header {
		for _, v := range values {
			size += len(name) + len(v) + len(": \r\n")
		}
	}
	if size > maxHeaders {
		m.fail(c, &api.Error{
			Status: http.StatusRequestHeaderFieldsTooLarge, Type: api.TypeInvalidRequest, Code: api.CodeRequestTooLarge,
			Message: "the request's header is larger than 32 KiB",
		})
	}
}
