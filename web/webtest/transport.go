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

// Transport wraps base so that every answer a client of the test gets is held
// against the document. The faults fail t when it ends. Nothing is added to
// what the client sees: an answer is judged once the client has read or closed
// it, so an answer that nobody reads is not judged, and of a stream that the
// client left early only what it read is.
func (v *Validator) Transport(t testing.TB, base http.RoundTripper) http.RoundTripper {
	tr := &transport{validator: v, base: base}
	t.Cleanup(func() {
		for _, err := range tr.taken() {
			t.Errorf("against the OpenAPI document: %v", err)
		}
	})
	return tr
}

type transport struct {
	validator *Validator
	base      http.RoundTripper

	mu     sync.Mutex
	faults []error
}

func (t *transport) taken() []error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.faults
}

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := t.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	body := &recorder{ReadCloser: res.Body, judge: func(body []byte, end error) {
		t.judge(req, res, body, end)
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

// errLeft is the end of a body that the client closed before it was over.
var errLeft = errors.New("left early")

func (t *transport) judge(req *http.Request, res *http.Response, body []byte, end error) {
	// A JSON decoder stops at the value's end and never meets the body's.
	whole := end == io.EOF || mediaType(res.Header) == typeJSON && jsontext.Value(body).IsValid()
	a := answer{res.StatusCode, res.Header, body, whole}
	failed := false
	if a.isStream() {
		var done bool
		done, failed = ending(body)
		a.whole = a.whole || done || failed
	}
	err := t.validator.check(req, a)
	if failed && end == io.EOF {
		err = errors.Join(err, errors.New("the connection was not cut after the error event: a client may take the stream for whole"))
	}
	if err == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.faults = append(t.faults, err)
}

// ending says how the last event of a body ends a stream, if it does.
func ending(body []byte) (done, failed bool) {
	var last []byte
	for _, block := range events(body) {
		last = block
	}
	data := bytes.TrimPrefix(last, []byte("data: "))
	return string(data) == streamEnd, bytes.HasPrefix(data, []byte(`{"error"`))
}

// recorder keeps what was read and hands it over once, at the body's end.
type recorder struct {
	io.ReadCloser
	judge func(body []byte, end error)

	mu   sync.Mutex // Close may come from another goroutine than Read
	body bytes.Buffer
	over bool
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
	r.finish(errLeft)
	return r.ReadCloser.Close()
}

func (r *recorder) finish(end error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	r.over = true
	r.judge(r.body.Bytes(), end)
}
