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

	"modelgateway/models/api"
	"modelgateway/models/api/chat"
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

	// Dialect is that in which errors are written; nil = chat completions.
	Dialect interface {
		AppendError(dst []byte, err *api.Error) []byte
	}
}

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
	}
	if e.Limit != "" {
		m.Metrics.Limited(e.Limit)
	}
	silent := e.Code == api.CodeServiceUnavailable && e.Unwrap() == nil // a readiness probe fails every second
	if e.Status >= http.StatusInternalServerError && !silent {
		m.Log.Log(ctx, level(e), "request failed", "request_id", RequestID(c), "error", e)
	}
	if c.Writer.Written() {
		panic(http.ErrAbortHandler)
	}
	form := m.Dialect
	if form == nil {
		form = chat.Dialect{}
	}
	body := form.AppendError(nil, e)
	header := c.Writer.Header()
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
	c.Data(e.Status, "application/json", body)
}

// level is the severity in the log: a provider's failure is a warning.
func level(e *api.Error) slog.Level {
	if e.Code == api.CodeProviderError {
		return slog.LevelWarn
	}
	return slog.LevelError
}
