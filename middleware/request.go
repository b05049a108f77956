package middleware

import (
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"time"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
	"modelgateway/internal/panics"
	"modelgateway/models"
)

// Names of headers are in their canonical form, which costs nothing to set.
const (
	requestIDHeader  = "X-Request-Id"
	upstreamIDHeader = "X-Upstream-Request-Id"
	providerHeader   = "X-Gateway-Provider"
	keyHeader        = "X-Api-Key" // as clients write it: X-API-Key
)

// requestIDFormat is what a client's own request id may look like; any other, and a longer
// one, is replaced, because it goes into logs and headers.
var requestIDFormat = regexp.MustCompile(`^[A-Za-z0-9._:-]+$`)

const longestRequestID = 128

// Identify gives every request an id, in the header of its answer, and removes
// the write deadline that the last answer left on the connection.
func (m Chain) Identify(c *gin.Context) {
	_ = http.NewResponseController(c.Writer).SetWriteDeadline(time.Time{}) // fails for writers that have no deadline
	id := first(c.Request.Header, requestIDHeader)
	if id == "" || len(id) > longestRequestID || !requestIDFormat.MatchString(id) {
		id = models.NewRequestID(m.Now())
	}
	header := c.Writer.Header()
	header[requestIDHeader], header["X-Content-Type-Options"] = []string{id}, noSniff
	if set := m.Dialect(c).SetHeaders; set != nil {
		set(header, id)
	}
	if len(c.Request.TransferEncoding) > 0 || !c.Request.ProtoAtLeast(1, 1) {
		// net/http silently drops a Content-Length beside chunks, and a
		// Transfer-Encoding of HTTP/1.0. A proxy in front may have used it, and then
		// what follows on this connection is no request (RFC 9112, 6.1).
		c.Header("Connection", "close")
	}
}

// RequestID is the request's id, which Identify gave it.
func RequestID(c *gin.Context) string { return first(c.Writer.Header(), requestIDHeader) }

// noSniff is shared by all answers and never changed.
var noSniff = []string{"nosniff"}

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
	r := requestOf(ctx)
	if r == nil {
		r = new(Request)
	}
	c.Request = c.Request.WithContext(withRequest(ctx, r))
	defer func() {
		span.End(c.Writer.Status(), RequestID(c))
		route := c.FullPath()
		if route == "" {
			route = "none"
		}
		now := m.Now()
		m.Metrics.Done(route, c.Writer.Status(), now.Sub(began))
		ctx := c.Request.Context()
		level := slog.LevelInfo
		if probe(route) && c.Writer.Status() != http.StatusUnauthorized {
			level = slog.LevelDebug
		}
		if !m.Log.Enabled(ctx, level) {
			return
		}
		line := slog.NewRecord(now, level, "request", 0) // without a source position, which would always be this line
		attrs := append(make([]slog.Attr, 0, maxAttrs),
			slog.String("request_id", RequestID(c)),
			slog.String("method", c.Request.Method),
			slog.String("route", route),
			slog.Int("status", c.Writer.Status()),
			slog.Int64("duration_us", now.Sub(began).Microseconds()),
			slog.Int("bytes", max(c.Writer.Size(), 0)),
			slog.String("client", r.clientAddress(c)),
			slog.String("provider", first(c.Writer.Header(), providerHeader)),
		)
		if c.FullPath() == "" {
			attrs = append(attrs, slog.String("path", FromClient(c.Request.URL.Path)))
		}
		line.AddAttrs(r.describe(attrs)...)
		_ = m.Log.Handler().Handle(ctx, line)
	}()
	c.Next()
}

// probe says whether a route is called every few seconds, by load balancers and
// Prometheus.
func probe(route string) bool {
	switch route {
	case "/health", "/livez", "/readyz", "/metrics":
		return true
	}
	return false
}

// maxAttrs is how many attributes a line has at most.
const maxAttrs = 24

// clientAddress is the client's address, which is determined once.
func (r *Request) clientAddress(c *gin.Context) string {
	if r.address != "" {
		return r.address
	}
	return c.ClientIP()
}

// describe adds the caller of the request, its error, and what its call used.
func (r *Request) describe(attrs []slog.Attr) []slog.Attr {
	if r.Caller.UserID != "" {
		attrs = append(attrs, slog.String("user", r.Caller.UserID))
	}
	if r.Caller.TeamID != "" {
		attrs = append(attrs, slog.String("team", r.Caller.TeamID))
	}
	if r.Caller.KeyID != "" {
		attrs = append(attrs, slog.String("key", r.Caller.KeyID))
	}
	if r.code != "" {
		attrs = append(attrs, slog.String("code", r.code))
	}
	if r.param != "" {
		attrs = append(attrs, slog.String("param", FromClient(r.param)))
	}
	if r.message != "" {
		attrs = append(attrs, slog.String("message", FromClient(r.message)))
	}
	call := r.Call
	if call == nil && r.Model != "" {
		return append(attrs, slog.String("model", FromClient(r.Model)))
	}
	if call == nil {
		return attrs
	}
	if call.Attempts != 1 {
		attrs = append(attrs, slog.Int("attempts", call.Attempts))
	}
	if call.UpstreamRequestID != "" {
		attrs = append(attrs, slog.String("upstream_request_id", call.UpstreamRequestID))
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

// Recover turns a panic into a 500. After the answer has begun it closes the
// connection instead, so that the client does not mistake the part for the
// whole; Gin's own recovery would end the answer normally.
func (m Chain) Recover(c *gin.Context) {
	defer func() {
		value := recover()
		if value == nil {
			return
		}
		c.Abort()
		if err, ok := value.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(value)
		}
		m.Log.Error("a handler panicked", "request_id", RequestID(c), "error", panics.Text(value), "stack", panics.Stack(value))
		m.fail(c, api.Internal(errPanic))
	}()
	c.Next()
}

var errPanic = errors.New("panic")

// maxHeaders bounds a request's header, in bytes.
const maxHeaders = 32 << 10

// Bound refuses a request whose header is larger than maxHeaders. net/http
// itself refuses only much larger headers.
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
