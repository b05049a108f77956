package webtest

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// Transport wraps base and checks each answer that a client of the test receives
// against the document. The errors fail t when it ends. The client sees the answer
// as it is. The check happens once the client has read the body to its end or
// closed it: an answer that is never closed is not checked, and of a stream that
// the client closes early only what it has read.
func (v *Validator) Transport(t testing.TB, base http.RoundTripper) http.RoundTripper {
	tr := &transport{validator: v, base: base}
	t.Cleanup(func() {
		for _, err := range tr.errors() {
			t.Errorf("against the OpenAPI document: %v", err)
		}
	})
	return tr
}

type transport struct {
	validator *Validator
	base      http.RoundTripper

	mu   sync.Mutex
	errs []error
}

func (t *transport) errors() []error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.errs
}

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := t.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	body := &recorder{ReadCloser: res.Body, check: func(body []byte, end error) {
		t.check(req, res, body, end)
	}}
	if res.Body == http.NoBody {
		body.finish(io.EOF)
	}
	res.Body = body
	return res, nil
}

// CloseIdleConnections reaches base through http.Client.
func (t *transport) CloseIdleConnections() {
	(&http.Client{Transport: t.base}).CloseIdleConnections()
}

// errClosedEarly is the end of a body that the client closed before its end.
var errClosedEarly = errors.New("closed early")

func (t *transport) check(req *http.Request, res *http.Response, body []byte, end error) {
	// A JSON decoder stops at the end of the value and does not reach that of the body.
	complete := end == io.EOF || mediaType(res.Header) == typeJSON && jsontext.Value(body).IsValid()
	a := answer{res.StatusCode, res.Header, body, complete}
	failed := false
	if a.isStream() {
		var done bool
		done, failed = ending(body)
		a.complete = a.complete || done || failed
	}
	err := t.validator.check(req, a)
	if failed && end == io.EOF {
		err = errors.Join(err, errors.New("the connection was not cut after the error event: a client may take the stream for complete"))
	}
	if err == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.errs = append(t.errs, err)
}

// ending reports whether the last event of a body ends a stream, and how.
func ending(body []byte) (done, failed bool) {
	var last []byte
	for _, block := range events((*messageStream)(nil).plain(body)) {
		last = block
	}
	if name, _ := fields(last); name != "" {
		return name == "message_stop" || endsResponse(name), name == "error"
	}
	data := bytes.TrimPrefix(last, []byte("data: "))
	return string(data) == streamEnd, bytes.HasPrefix(data, []byte(`{"error"`))
}

// recorder keeps what was read and checks it once, at the end of the body.
type recorder struct {
	io.ReadCloser
	check func(body []byte, end error)

	mu       sync.Mutex // Close may come from another goroutine than Read
	body     bytes.Buffer
	finished bool
}

func (r *recorder) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.mu.Lock()
	r.body.Write(p[:n])
	r.mu.Unlock()
	if err != nil {
		r.finish(err)
	}
	return n, err
}

func (r *recorder) Close() error {
	r.finish(errClosedEarly)
	return r.ReadCloser.Close()
}

func (r *recorder) finish(end error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.finished {
		return
	}
	r.finished = true
	r.check(r.body.Bytes(), end)
}
