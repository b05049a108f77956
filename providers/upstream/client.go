// Package upstream is the HTTP client of all providers: it sends requests, applies
// time and size limits, and turns failures into errors.
package upstream

import (
	"bytes"
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
	Sign     providers.Sign
	Headers  map[string]string // of every request; they replace those of the client
	Query    string            // of every request, encoded
	Framing  *Framing          // of a stream; nil = server-sent events
	// Refused decodes the body of an answer whose status is not 2xx.
	Refused func(status int, body []byte) providers.Refusal

	HeaderTimeout time.Duration // from the request to the answer's header
	IdleTimeout   time.Duration // between two parts of a body
}

// Framing is how an upstream divides a stream into events where these are not server-sent events.
type Framing struct {
	ContentType string // by which an answer is known to be framed so
	// ToSSE reads the frames and returns server-sent events in their place, each as soon as its
	// frame has come: all that reads streams knows these.
	ToSSE func(frames io.Reader) io.Reader
}

// unframed is the body of an answer, and whether it is something else than a stream.
func (f *Framing) unframed(resp *http.Response) (src io.ReadCloser, other bool) {
	kind := resp.Header.Get("Content-Type")
	if f != nil && strings.HasPrefix(kind, f.ContentType) {
		return struct {
			io.Reader
			io.Closer
		}{f.ToSSE(resp.Body), resp.Body}, false
	}
	return resp.Body, !strings.HasPrefix(kind, "text/event-stream")
}

// Client sends requests to one upstream. It follows no redirects: they would
// send the prompt and the key to another host.
type Client struct {
	opts        Options
	connections *connections
	beside      []headerLine // see With
	telling     []string     // see Telling
}

// New makes a client with its own connections.
func New(opts Options) *Client {
	return &Client{opts: opts, connections: newConnections()}
}

// Provider is the name of the provider, for messages.
func (c *Client) Provider() string { return c.opts.Provider }

// address is the URL of a path, which may have a query of its own.
func (c *Client) address(path string) string {
	switch {
	case c.opts.Query == "":
		return c.opts.BaseURL + path
	case strings.Contains(path, "?"):
		return c.opts.BaseURL + path + "&" + c.opts.Query
	}
	return c.opts.BaseURL + path + "?" + c.opts.Query
}

// Post sends a JSON body, given in pieces, with a key and returns the whole answer. Without
// a piece there is no body.
// The transport may read the pieces after Post has returned, so they must never be
// changed.
func (c *Client) Post(ctx context.Context, key, path string, body ...[]byte) ([]byte, error) {
	return c.readAll(ctx, key, outgoing{http.MethodPost, path, body})
}

// Open sends a JSON body, as Post does, and returns the answer as it comes, with its length in
// bytes, or -1 where that is not known. An error of reading it is for Broken. The caller closes it.
func (c *Client) Open(ctx context.Context, key, path string, body ...[]byte) (io.ReadCloser, int64, error) {
	answer, err := c.send(ctx, key, outgoing{http.MethodPost, path, body})
	if err != nil {
		return nil, 0, err
	}
	return answer, answer.size, nil
}

// Read sends a JSON body, as Post does, and calls read with the answer, of at most MaxAnswer
// bytes, which arrives while it is read. The error says that there is no answer, or not all of
// it; what read thinks of it is the caller's.
func (c *Client) Read(ctx context.Context, key, path string, read func(answer io.Reader), body ...[]byte) error {
	answer, err := c.send(ctx, key, outgoing{http.MethodPost, path, body})
	if err != nil {
		return err
	}
	defer func() { _ = answer.Close() }()
	text := boundedReader{from: answer, left: MaxAnswer}
	if read(&text); text.err != nil {
		return c.Broken(ctx, text.err)
	}
	return nil
}

// Get returns the whole answer.
func (c *Client) Get(ctx context.Context, key, path string) ([]byte, error) {
	return c.readAll(ctx, key, outgoing{http.MethodGet, path, nil})
}

// Delete returns the whole answer.
func (c *Client) Delete(ctx context.Context, key, path string) ([]byte, error) {
	return c.readAll(ctx, key, outgoing{http.MethodDelete, path, nil})
}

// outgoing is a request. A nil body is none.
type outgoing struct {
	method, path string
	body         [][]byte
}

func (c *Client) readAll(ctx context.Context, key string, what outgoing) ([]byte, error) {
	answer, err := c.send(ctx, key, what)
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
	answer, err := c.send(ctx, key, outgoing{http.MethodPost, path, body})
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
	coming chan part // what the read in progress will return; nil = none; see Await
	came   part      // what it has returned and has not been read
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
	if e.coming != nil {
		<-e.coming
		e.coming = nil
	}
	e.Reader.Close()
}

// JSON is the whole answer of an upstream that answered with a JSON object in
// place of events; nil where the events follow. It must be called before the first
// event.
func (e *Events) JSON() ([]byte, error) {
	b, ok := e.body.(*body)
	if !ok || !b.other {
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
	if w.came.unread() {
		return w.came.read(p)
	}
	if w.before != nil && !w.before() {
		return 0, errUnwanted
	}
	if w.coming == nil {
		return w.body.Read(p)
	}
	w.came, w.coming = <-w.coming, nil
	return w.came.read(p)
}

// send makes a request.
func (c *Client) send(ctx context.Context, key string, what outgoing) (*body, error) {
	guarded, cancel := context.WithCancel(ctx)
	req, err := http.NewRequestWithContext(guarded, what.method, c.address(what.path), nil)
	if err != nil {
		cancel()
		return nil, c.unanswered(ctx, err)
	}
	req.Header["User-Agent"] = userAgent
	if what.body != nil {
		req.Header["Content-Type"] = jsonBody
		setBody(req, what.body)
	}
	// Allows the transport to repeat a POST on a new connection when an idle one
	// was closed before any byte of the answer (golang/go#19943). Without it one
	// call in six failed while the upstream closed its idle connections.
	req.Header["X-Idempotency-Key"] = nil
	for i := range c.beside {
		req.Header[c.beside[i].name] = c.beside[i].values
	}
	for name, value := range c.opts.Headers {
		req.Header.Set(name, value)
	}
	trace := traced(ctx, req)
	// The transport's ResponseHeaderTimeout starts after the request is written,
	// so it does not end a call whose upstream stops reading.
	watch := newWatch(c.opts.HeaderTimeout, cancel)
	if err := c.opts.Sign(guarded, req, key, what.body); err != nil {
		watch.stop()
		cancel()
		if _, told := errors.AsType[*providers.LogInError](err); !told {
			err = watch.explain(err)
		}
		return nil, c.unsigned(ctx, key, err)
	}
	via := c.connections.take()
	in := via.enter()
	resp, err := over(ctx, in).RoundTrip(req) //nolint:bodyclose // the body is closed through answer
	if err != nil && unsent(err) && ctx.Err() == nil {
		in.leave()
		via = c.connections.renew(via)
		in = via.enter()
		resp, err = over(ctx, in).RoundTrip(rewound(req)) //nolint:bodyclose // as above
	}
	watch.done()
	if err != nil {
		in.leave()
		watch.stop()
		cancel()
		if ctx.Err() == nil {
			c.connections.failed(via)
		}
		return nil, c.unanswered(ctx, watch.explain(err))
	}
	trace.setAnswer(resp.StatusCode, c.identified(ctx, resp))
	watch.setLimit(c.opts.IdleTimeout)
	answer := &body{src: resp.Body, size: resp.ContentLength, watch: watch}
	answer.src, answer.other = c.opts.Framing.unframed(resp)
	answer.in.Store(in)
	if isAnswer(resp) {
		return answer, nil
	}
	defer func() { _ = answer.Close() }()
	return nil, c.refused(ctx, resp, answer, key)
}

// Shared header values, which are never changed: a slice of each would cost an
// allocation per call.
var userAgent, jsonBody = []string{"modelgateway"}, []string{"application/json"}

// shortestSecret is how long a key is at least that is searched for in messages: a local
// server may have any word as its key, which is no secret and a part of other words.
const shortestSecret = 8

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
	if len(key) >= shortestSecret {
		refusal.Message = strings.ReplaceAll(refusal.Message, key, "[redacted]")
		refusal.Body = bytes.ReplaceAll(refusal.Body, []byte(key), []byte("[redacted]"))
	}
	if refusal.RetryAfter == 0 {
		refusal.RetryAfter = retryAfter(resp.Header, time.Now())
	}
	if resp.Header.Get("x-should-retry") == "false" {
		refusal.Final = true
	}
	return c.Refused(refusal)
}
