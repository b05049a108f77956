package upstream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"modelgateway/models/api"
)

// Refusal is what an upstream's error says, in whatever form it came: as the
// body of an answer or as an event inside a stream.
type Refusal struct {
	Status      int           // HTTP; the one that fits, for an event inside a stream
	Message     string        // the upstream's words, not yet cleaned
	RetryAfter  time.Duration // 0 when it does not say
	Final       bool          // trying again cannot help: a quota of the day, say
	Spent       bool          // a limit on spending is reached; it is final as well
	Credentials bool          // the gateway's own key is at fault, whatever the status
}

// Error is the refusal as clients see it. What is wrong with the gateway's
// own credentials or account is no caller's business: it becomes a 502 without
// the upstream's words, which stay in the cause for the log.
func (r Refusal) Error(provider string) *api.Error {
	e := &api.Error{
		Type: api.TypeAPI, Code: api.CodeProviderError,
		Provider: provider, UpstreamStatus: r.Status, RetryAfter: r.RetryAfter, Final: r.Final || r.Spent, Spent: r.Spent,
	}
	message := clean(r.Message)
	if message == "" {
		message = fmt.Sprintf("%s answered with status %d", provider, r.Status)
	}
	e.Status, e.Message = http.StatusBadGateway, message
	switch {
	case r.Credentials, r.Status == http.StatusUnauthorized, r.Status == http.StatusPaymentRequired, r.Status == http.StatusForbidden:
		e.Message = provider + " refused the gateway's credentials; its operator has to look at this"
		e.KeyRefused = true
	case r.Status == http.StatusBadRequest, r.Status == http.StatusNotFound,
		r.Status == http.StatusRequestEntityTooLarge, r.Status == http.StatusUnprocessableEntity,
		r.Status == http.StatusTooManyRequests:
		e.Status = r.Status
	case r.Status == http.StatusGatewayTimeout, r.Status == http.StatusRequestTimeout:
		e.Status = http.StatusGatewayTimeout
	case r.Status >= 300 && r.Status < 400:
		e.Message = provider + " answered with a redirect, which the gateway does not follow"
	}
	return e.Because(fmt.Errorf("%s: status %d: %s", provider, r.Status, clean(r.Message)))
}

// Broken is the error for an answer that broke off or came too slowly. When ctx
// has ended it is its cause: nobody is there to read another.
func (c *Client) Broken(ctx context.Context, cause error) error {
	err := c.unanswered(ctx, cause)
	if e, ok := errors.AsType[*api.Error](err); ok && e.Code == api.CodeProviderError && ctx.Err() == nil {
		e.Worked = true
	}
	return err
}

// unanswered is the error for an exchange that failed without the upstream
// saying so, before its answer began: no connection, or a time-out.
func (c *Client) unanswered(ctx context.Context, cause error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if exhausted(cause) {
		return api.Unavailable(cause)
	}
	e := &api.Error{
		Status: http.StatusBadGateway, Type: api.TypeAPI, Code: api.CodeProviderError, Provider: c.opts.Provider,
		Message: c.opts.Provider + " could not be reached or broke off its answer",
	}
	var network net.Error
	e.Worked = errors.Is(cause, errSilent) // the request is there; a connection that does not come about times out by itself
	if errors.Is(cause, errSilent) || errors.As(cause, &network) && network.Timeout() {
		e.Status, e.Message = http.StatusGatewayTimeout, c.opts.Provider+" did not answer in time"
	}
	return e.Because(cause)
}

// exhausted says whether a connection failed for want of something of our own:
// descriptors, ports or memory. That is not the provider's fault.
func exhausted(cause error) bool {
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL, syscall.ENOBUFS, syscall.ENOMEM} {
		if errors.Is(cause, errno) {
			return true
		}
	}
	return false
}

// Nonsense is the error for an answer that does not follow the provider's
// format, or ended before it was whole.
func (c *Client) Nonsense(cause error) error {
	e := &api.Error{
		Status: http.StatusBadGateway, Type: api.TypeAPI, Code: api.CodeProviderError, Provider: c.opts.Provider,
		Message: c.opts.Provider + " gave an answer the gateway cannot use", Worked: true,
	}
	return e.Because(cause)
}

// ErrTruncated is the cause when a body ended before its protocol's end mark.
var ErrTruncated = errors.New("the answer ended before it was whole")

// Truncated is the error for a stream that ended before it was whole.
func (c *Client) Truncated() error {
	e := &api.Error{
		Status: http.StatusBadGateway, Type: api.TypeAPI, Code: api.CodeProviderError, Provider: c.opts.Provider,
		Message: c.opts.Provider + " broke off its answer before it was whole", Worked: true,
	}
	return e.Because(ErrTruncated)
}

// retryAfter reads the wait the upstream asks for: milliseconds, seconds or a
// date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms := number(h.Get("retry-after-ms")); ms > 0 {
		return bounded(ms * float64(time.Millisecond))
	}
	text := h.Get("retry-after")
	if s := number(text); s > 0 {
		return bounded(s * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil && at.After(now) {
		return bounded(float64(at.Sub(now)))
	}
	return 0
}

// number reads a number, one that is too large as infinite, and anything else
// as 0.
func number(text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0
	}
	return n
}

// bounded keeps a wait inside a day, whatever the upstream says.
func bounded(wait float64) time.Duration {
	return time.Duration(min(wait, float64(24*time.Hour)))
}
