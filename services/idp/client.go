package idp

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/markbates/goth"
)

// maxResponse bounds the body of each response, in bytes.
const maxResponse = 1 << 20

// newClient returns a client for providers that may be slow or hostile, or send
// huge responses.
func newClient(base *http.Client) *http.Client {
	if base == nil {
		base = &http.Client{Transport: newTransport()}
	}
	c := *base
	if c.Transport == nil {
		c.Transport = http.DefaultTransport
	}
	c.Transport = bounded{c.Transport}
	// A redirect would send the code and our secret to another server.
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if c.Timeout == 0 {
		c.Timeout = requestTimeout
	}
	return &c
}

func newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: requestTimeout}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    requestTimeout,
		ResponseHeaderTimeout:  requestTimeout,
		IdleConnTimeout:        30 * time.Second,
		MaxIdleConnsPerHost:    4,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true, // 1 MiB of gzip can hold 1 GiB
		ForceAttemptHTTP2:      true,
	}
}

// bounded limits the bodies of responses to maxResponse.
type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	response.Body = http.MaxBytesReader(nil, response.Body, maxResponse)
	return response, nil
}

// recorder keeps the last response to goth. goth's errors may quote a whole user,
// and goth merges the response with the claims of the verified ID token.
type recorder struct {
	next   http.RoundTripper
	status int // 0: there was no response
	body   []byte
}

func (w *recorder) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := w.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return nil, err
	}
	w.status, w.body = response.StatusCode, body
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

// recorded returns the client with a recorder. goth's requests carry no context,
// so the client's time-out ends them when the context would.
func recorded(ctx context.Context, base *http.Client) (*http.Client, *recorder) {
	w := &recorder{next: base.Transport}
	c := *base
	c.Transport = w
	if deadline, ok := ctx.Deadline(); ok {
		c.Timeout = min(c.Timeout, max(time.Until(deadline), time.Millisecond))
	}
	return &c, w
}

// fetch has goth request the user from the provider.
func (v grant) fetch(p goth.Provider, s goth.Session) (goth.User, error) {
	user, err := p.FetchUser(s)
	switch {
	case err == nil:
		return user, nil
	case v.response.status == 0:
		return user, failed(fmt.Errorf("fetch the user: %w", reason(err)))
	default: // goth's own text would quote the user
		return user, failed(fmt.Errorf("fetch the user: HTTP %d, %d bytes, not usable", v.response.status, len(v.response.body)))
	}
}
