// Package middleware holds the steps that every request passes: ids, access log,
// recovery, authentication, rate limits, errors.
package middleware

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/inference"
	"modelgateway/services/metrics"
	"modelgateway/services/tracing"
)

// Handler answers a request or returns an error for the client.
type Handler func(*gin.Context) error

// Chain makes the steps that every request passes.
type Chain struct {
	Log     *slog.Logger
	Metrics *metrics.Metrics // nil = no request is counted
	Tracer  *tracing.Tracer  // nil = no request is traced
	Now     func() time.Time

	Refused func(models.Refusal) // receives the calls with known keys that are refused; nil = none

	Cookies Cookies // of the console

	Dialect func(*gin.Context) *api.Dialect // in which the errors of a request are written
}

// Told wraps an error that the answer already contains. The answer is complete, so its
// connection stays open.
type Told struct{ Err error }

func (t Told) Error() string { return t.Err.Error() }

func (t Told) Unwrap() error { return t.Err }

// Handle runs a handler and writes its error; errors are written nowhere else.
func (m Chain) Handle(h Handler) gin.HandlerFunc {
	return func(c *gin.Context) {
		if err := h(c); err != nil {
			m.fail(c, err)
		}
	}
}

// fail answers with an error and ends the chain. After the answer has begun it
// only closes the connection, so that the client does not mistake the part for
// the whole.
func (m Chain) fail(c *gin.Context, err error) {
	c.Abort()
	ctx := c.Request.Context()
	if reason, ok := errors.AsType[*api.Error](context.Cause(ctx)); ok {
		err = reason // the gateway itself ended the request
	}
	if errors.Is(err, inference.ErrClientGone) || ctx.Err() != nil && errors.Is(err, context.Canceled) {
		if c.Writer.Written() {
			panic(http.ErrAbortHandler)
		}
		c.Status(inference.StatusClientGone)
		return
	}
	e := api.AsError(err)
	if r := requestOf(ctx); r != nil {
		r.refused(e)
		if r.Cookie && e.Status == http.StatusUnauthorized && e.Code != api.CodeInvalidCredentials { // a wrong password is not the cookie's
			m.Cookies.Remove(c) // it opens nothing any more
		}
	}
	if e.Limit != "" {
		m.Metrics.Limited(e.Limit)
	}
	if isFailure(e) {
		m.Log.Log(ctx, level(e), "request failed", "request_id", RequestID(c), "error", e)
	}
	if _, whole := errors.AsType[Told](err); whole {
		return
	}
	if c.Writer.Written() {
		panic(http.ErrAbortHandler)
	}
	header, dialect, status := c.Writer.Header(), m.Dialect(c), e.Status
	if dialect.ErrorStatus != nil {
		e = m.agentError(c, dialect, e)
		status = dialect.ErrorStatus(e)
	}
	if dialect.SetHeaders != nil {
		dialect.SetHeaders(header, e.RequestID)
	}
	body := dialect.AppendError(nil, e)
	header.Set("X-Should-Retry", strconv.FormatBool(e.ShouldRetry()))
	if s := e.RetryAfterSeconds(); s > 0 {
		header.Set("Retry-After", strconv.FormatInt(s, 10))
	}
	if e.Provider != "" {
		header.Set(providerHeader, e.Provider)
	}
	if e.Status == http.StatusUnauthorized {
		header.Set("WWW-Authenticate", "Bearer")
	}
	header.Set("Content-Type", "application/json") // Gin leaves what a handler has set before it failed
	NoStore(c)
	header.Del("X-Accel-Buffering")
	c.Data(status, "application/json", body)
}

// agentError is an error as the dialects of agents tell it: with the id of the request, which is
// the upstream's where its own error is passed on, and with a wait after every 429: some
// agents give up where there is none.
func (m Chain) agentError(c *gin.Context, dialect *api.Dialect, e *api.Error) *api.Error {
	copied, header := *e, c.Writer.Header()
	if r := RequestOf(c); r.Caller.SignIn != "" {
		r.refusedSignIn(&copied, header, m.Now())
	}
	copied.RequestID = first(header, requestIDHeader)
	if upstream := first(header, upstreamIDHeader); upstream != "" && len(e.Raw) > 0 {
		copied.RequestID = upstream
	}
	if dialect.ErrorStatus(&copied) == http.StatusTooManyRequests && copied.RetryAfter <= 0 {
		copied.RetryAfter = time.Second
		if !e.ShouldRetry() {
			copied.RetryAfter = time.Minute
		}
	}
	return &copied
}

// level is the severity in the log: a provider's failure is a warning.
func level(e *api.Error) slog.Level {
	if e.Code == api.CodeProviderError {
		return slog.LevelWarn
	}
	return slog.LevelError
}
