package upstream

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"modelgateway/api"
	"modelgateway/providers"
)

// Broken is the error for an answer that broke off or timed out. If ctx has ended,
// it is the cause of ctx, which no retry follows.
func (c *Client) Broken(ctx context.Context, cause error) error {
	err := c.unanswered(ctx, cause)
	if r, ok := errors.AsType[*providers.Refusal](err); ok && ctx.Err() == nil {
		r.Worked = true
	}
	return err
}

// unanswered is the error for a call that failed before its answer began: no
// connection, or a timeout.
func (c *Client) unanswered(ctx context.Context, cause error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if exhausted(cause) {
		return api.Unavailable(cause)
	}
	r := c.failure(http.StatusBadGateway, "could not be reached or broke off its answer", cause)
	var network net.Error
	// The idle timeout runs after the request was sent; connecting has its own.
	r.Worked = errors.Is(cause, errIdle)
	if errors.Is(cause, errIdle) || errors.As(cause, &network) && network.Timeout() {
		r.Told, r.Public = http.StatusGatewayTimeout, c.opts.Provider+" did not answer in time"
	}
	return r
}

// unsigned is the error for a request whose credential could not be made or renewed: a Refusal
// that Sign returns, else a failure. Its cause is logged, and may repeat what a token server
// was sent.
func (c *Client) unsigned(ctx context.Context, key string, cause error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if r, ok := errors.AsType[*providers.Refusal](cause); ok {
		return c.Refused(*r)
	}
	if text := cause.Error(); len(key) >= shortestSecret && strings.Contains(text, key) {
		cause = errors.New(strings.ReplaceAll(text, key, "[redacted]"))
	}
	what := "could not be given a credential"
	if e, ok := errors.AsType[*providers.LogInError](cause); ok {
		what += ": an operator has to check " + e.Settings
	}
	return c.failure(http.StatusBadGateway, what, cause)
}

// failure is a Refusal with the gateway's own message.
func (c *Client) failure(status int, what string, cause error) *providers.Refusal {
	return &providers.Refusal{Provider: c.opts.Provider, Told: status, Public: c.opts.Provider + " " + what, Cause: cause}
}

// exhausted says whether a connection failed because this machine lacks file
// descriptors, ports or memory. That is not the provider's fault.
func exhausted(cause error) bool {
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL, syscall.ENOBUFS, syscall.ENOMEM} {
		if errors.Is(cause, errno) {
			return true
		}
	}
	return false
}

// Malformed is the error for an answer that does not follow the provider's format.
func (c *Client) Malformed(cause error) error {
	r := c.failure(http.StatusBadGateway, "gave an answer the gateway cannot use", cause)
	r.Worked = true
	return r
}

// ErrTruncated is the cause when a body ended before its protocol's end mark.
var ErrTruncated = errors.New("the answer ended before it was whole")

// Truncated is the error for a stream that ended before it was whole.
func (c *Client) Truncated() error {
	r := c.failure(http.StatusBadGateway, "broke off its answer before it was whole", ErrTruncated)
	r.Worked = true
	return r
}

// Refused is the error of a refusal; it sets the provider's name.
func (c *Client) Refused(r providers.Refusal) error {
	r.Provider = c.opts.Provider
	return &r
}

// retryAfter reads the Retry-After of an answer: milliseconds, seconds or a date.
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

// bounded cuts a wait to one day.
func bounded(wait float64) time.Duration {
	return time.Duration(min(wait, float64(24*time.Hour)))
}
