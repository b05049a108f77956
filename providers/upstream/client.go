// Package upstream is the HTTP client of all providers: it sends requests, applies
// time and size limits, and turns failures into errors.
package upstream

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"modelgateway/providers"
	"modelgateway/providers/sse"
)

// MaxAnswer bounds the body of an answer that is not a stream, in bytes.
const MaxAnswer = 32 << 20

// maxErrorBody bounds the body of an error, in bytes; the rest is not read.
const maxErrorBody = 64 << 10

// Options are the address of an upstream and its rules.
type Options struct {
	Provider string // its name in errors
	BaseURL  string // without a trailing slash and without the API's version
	// Authorize puts the key and the provider's fixed headers on a request.
	Authorize func(h http.Header, key string)
	// Refused decodes the body of an answer whose status is not 2xx.
	Refused func(status int, body []byte) providers.Refusal

	HeaderTimeout time.Duration // from the request to the answer's header
	IdleTimeout   time.Duration // between two parts of a body
}

// Client sends requests to one upstream. It follows no redirects: they would
// send the prompt and the key to another host.
type Client struct {
	opts        Options
	connections *connections
}

// New makes a client with its own connections.
func New(opts Options) *Client {
	return &Client{opts: opts, connections: newConnections()}
}

// Post sends a JSON body, given in pieces, with a key and returns the whole answer.
// The transport may read the pieces after Post has returned, so they must never be
// changed.
func (c *Client) Post(ctx context.Context, key, path string, body ...[]byte) ([]byte, error) {
	return c.whole(ctx, key, path, body)
}

// Get returns the whole answer.
func (c *Client) Get(ctx context.Context, key, path string) ([]byte, error) {
	return c.whole(ctx, key, path, nil)
}

func (c *Client) whole(ctx context.Context, key, path string, body [][]byte) ([]byte, error) {
	answer, err := c.send(ctx, key, path, body)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Close() }()
	text, err := answer.all()
	if err != nil {
		return nil, c.Broken(ctx, err)
	}
	return text, nil
}

// Events sends a JSON body, as Post does, and returns the answer as a stream of
// events. The caller closes it.
func (c *Client) Events(ctx context.Context, key, path string, body ...[]byte) (*Events, error) {
	answer, err := c.send(ctx, key, path, body)
	if err != nil {
		return nil, err
	}
	return NewEvents(answer), nil
}

// Events are the events of one answer.
type Events struct {
	*sse.Reader
	body   io.ReadCloser
	before func() bool
}

// NewEvents splits a body into events and closes it with them.
func NewEvents(body io.ReadCloser) *Events {
	e := &Events{body: body}
	e.Reader = sse.NewReader(e.Body())
	return e
}

// BeforeRead has f called before each read from the upstream, when all buffered
// events have been returned. If f returns false, the stream ends with an error
// instead: its reader has left.
func (e *Events) BeforeRead(f func() bool) { e.before = f }

// Close ends the call, also before its end.
func (e *Events) Close() {
	_ = e.body.Close()
	e.Reader.Close()
}

// JSON is the whole answer of an upstream that answered with a JSON object in
// place of events; nil where the events follow. It must be called before the first
// event.
func (e *Events) JSON() ([]byte, error) {
	b, ok := e.body.(*body)
	if !ok || !b.json {
		return nil, nil
	}
	if object, err := b.isObject(); !object {
		return nil, err
	}
	return b.all()
}

// Drain reads the end of the body after the protocol's end mark, for at most 20 ms,
// so that the connection can be used again.
func (e *Events) Drain() {
	const limit = 20 * time.Millisecond
	e.before = nil // the client gets the end mark together with the last events
	if b, ok := e.body.(*body); ok {
		b.watch.setLimit(limit)
	}
	for range 8 { // an upstream that sends more than this loses the connection
		if _, err := e.Next(); err != nil {
			return
		}
	}
}

// Body is the answer before it is split into events, for upstreams that may answer
// with something else. It must be read before the first event.
func (e *Events) Body() io.Reader { return (*waiting)(e) }

// waiting reads the body of events.
type waiting Events

var errUnwanted = errors.New("the stream's reader has left")

func (w *waiting) Read(p []byte) (int, error) {
	if w.before != nil && !w.before() {
		return 0, errUnwanted
	}
	return w.body.Read(p)
}

// send makes a POST, or a GET if there is no payload.
func (c *Client) send(ctx context.Context, key, path string, payload [][]byte) (*body, error) {
	guarded, cancel := context.WithCancel(ctx)
	method := http.MethodPost
	if payload == nil {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(guarded, method, c.opts.BaseURL+path, nil)
	if err != nil {
		cancel()
		return nil, c.unanswered(ctx, err)
	}
	req.Header["User-Agent"] = userAgent
	if payload != nil {
		req.Header["Content-Type"] = jsonBody
		setBody(req, payload)
	}
	// Allows the transport to repeat a POST on a new connection when an idle one
	// was closed before any byte of the answer (golang/go#19943). Without it one
	// call in six failed while the upstream closed its idle connections.
	req.Header["X-Idempotency-Key"] = nil
	c.opts.Authorize(req.Header, key)
	trace := traced(ctx, req)
	// The transport's ResponseHeaderTimeout starts after the request is written,
	// so it does not end a call whose upstream stops reading.
	watch := newWatch(c.opts.HeaderTimeout, cancel)
	via := c.connections.take()
	resp, err := via.RoundTrip(req) //nolint:bodyclose // the body is closed through answer
	if err != nil && unsent(err) && ctx.Err() == nil {
		via = c.connections.renew(via)
		resp, err = via.RoundTrip(rewound(req)) //nolint:bodyclose // as above
	}
	watch.done()
	if err != nil {
		watch.stop()
		cancel()
		if ctx.Err() == nil {
			c.connections.failed(via)
		}
		return nil, c.unanswered(ctx, watch.explain(err))
	}
	trace.answered(resp.StatusCode, identified(ctx, resp.Header))
	watch.setLimit(c.opts.IdleTimeout)
	answer := &body{
		src: resp.Body, size: resp.ContentLength, watch: watch,
		json: strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json"),
	}
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return answer, nil
	}
	defer func() { _ = answer.Close() }()
	return nil, c.refused(ctx, resp, answer, key)
}

// Shared header values, which are never changed: a slice of each would cost an
// allocation per call.
var userAgent, jsonBody = []string{"modelgateway"}, []string{"application/json"}

func (c *Client) refused(ctx context.Context, resp *http.Response, answer io.Reader, key string) error {
	text, err := io.ReadAll(io.LimitReader(answer, maxErrorBody))
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		text = nil // the status is enough for an error
	}
	refusal := c.opts.Refused(resp.StatusCode, text)
	refusal.Status = resp.StatusCode
	if key != "" {
		refusal.Message = strings.ReplaceAll(refusal.Message, key, "[redacted]")
	}
	if refusal.RetryAfter == 0 {
		refusal.RetryAfter = retryAfter(resp.Header, time.Now())
	}
	if resp.Header.Get("x-should-retry") == "false" {
		refusal.Final = true
	}
	return c.Refused(refusal)
}
