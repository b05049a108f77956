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

// maxAnswer bounds the body of any answer, in bytes.
const maxAnswer = 1 << 20

// newClient makes a client for providers that may be slow, huge or hostile.
func newClient(base *http.Client) *http.Client {
	if base == nil {
		base = &http.Client{Transport: newTransport()}
	}
	c := *base
	if c.Transport == nil {
		c.Transport = http.DefaultTransport
	}
	c.Transport = bounded{c.Transport}
	// A redirect would carry the code and our secret elsewhere.
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if c.Timeout == 0 {
		c.Timeout = requestPatience
	}
	return &c
}

func newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: requestPatience}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    requestPatience,
		ResponseHeaderTimeout:  requestPatience,
		IdleConnTimeout:        30 * time.Second,
		MaxIdleConnsPerHost:    4,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true, // a mebibyte of gzip can be a gibibyte of answer
		ForceAttemptHTTP2:      true,
	}
}

// bounded fails the reading of bodies beyond maxAnswer.
type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	answer.Body = http.MaxBytesReader(nil, answer.Body, maxAnswer)
	return answer, nil
}

// witness keeps the last answer that goth got: its errors may quote a whole
// user, and it mixes what it is told into what a verified ID token says.
type witness struct {
	next   http.RoundTripper
	status int // 0: there was no answer
	body   []byte
}

func (w *witness) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := w.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err != nil {
		return nil, err
	}
	w.status, w.body = answer.StatusCode, body
	answer.Body = io.NopCloser(bytes.NewReader(body))
	return answer, nil
}

// watched is the client with a witness. goth's requests carry no context, so
// the client's own time-out ends them when the context would.
func watched(ctx context.Context, base *http.Client) (*http.Client, *witness) {
	w := &witness{next: base.Transport}
	c := *base
	c.Transport = w
	if deadline, ok := ctx.Deadline(); ok {
		c.Timeout = min(c.Timeout, max(time.Until(deadline), time.Millisecond))
	}
	return &c, w
}

// fetch has goth ask the provider who the user is.
func (v visit) fetch(p goth.Provider, s goth.Session) (goth.User, error) {
	user, err := p.FetchUser(s)
	switch {
	case err == nil:
		return user, nil
	case v.seen.status == 0:
		return user, lost(fmt.Errorf("fetch the user: %w", reason(err)))
	default: // goth's own text would quote the user
		return user, lost(fmt.Errorf("fetch the user: HTTP %d, %d bytes, of no use", v.seen.status, len(v.seen.body)))
	}
}
