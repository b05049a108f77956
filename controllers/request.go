// Package controllers reads HTTP requests, hands them to a service, and writes
// the responses.
package controllers

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
	"modelgateway/llm"
	"modelgateway/middleware"
	"modelgateway/services/conversation"
	"modelgateway/services/inference"
	"modelgateway/services/inflight"
	"modelgateway/services/origin"
)

// reading is how a route reads its requests to a model.
type reading struct {
	dialect       *api.Dialect
	decode        func(*api.Incoming) (*llm.Request, error) // the dialect's for this kind of request
	conversations *conversation.Service
	origins       *origin.Service // nil: the requests are booked nowhere
	maxBytes      int64
	strict        bool // of requests without the header
	now           func() time.Time
	newID         func(time.Time) string // of a call
}

// strictHeader says whether fields that are not supported are refused.
const strictHeader = "X-Gateway-Strict-Params"

// input reads a request: what its headers say, and its body.
func (r *reading) input(c *gin.Context, from *middleware.Request, slot *inflight.Slot) (in inference.Input, err error) {
	began := r.now()
	in.ID = r.newID(began)
	in.Caller, in.RequestID, in.UserAgent = from.Caller, from.ID(c), c.GetHeader("User-Agent")
	in.NoFallback, in.Strict = isFalse(c.GetHeader(fallbackHeader)), r.strict
	if header := c.GetHeader(strictHeader); header != "" {
		in.Strict = isTrue(header)
	}
	in.Status = r.dialect.ErrorStatus
	if from.Body, err = readJSON(c, r.maxBytes, slot); err != nil {
		return in, err
	}
	asked := liteLLM{route: c.FullPath()}
	if from.LiteLLM {
		if from.Body, err = asked.take(from.Body, from.Deployment, slot); err != nil {
			return in, err
		}
	}
	incoming := api.Incoming{URL: c.Request.URL, Header: c.Request.Header, Body: from.Body, Memory: slot}
	if in.Request, err = r.decode(&incoming); err != nil {
		return in, err
	}
	if err := asked.apply(&in, c.GetHeader(strictHeader) != ""); err != nil {
		from.Model = in.Request.Model
		return in, err
	}
	if err := r.origin(c.Request, &in); err != nil {
		from.Model = in.Request.Model
		return in, err
	}
	if err := r.resume(c.Request.Context(), incoming, &in); err != nil {
		from.Model = in.Request.Model
		return in, err
	}
	r.conversations.Continue(c.Request.Context(), r.dialect.Keeping, &in)
	in.Began, in.BodyTime = began, r.now().Sub(began)
	return in, nil
}

// resume replaces a request that goes on from an answer which the gateway keeps by one with the
// whole conversation.
func (r *reading) resume(ctx context.Context, incoming api.Incoming, in *inference.Input) (err error) {
	if r.dialect.Keeping == nil {
		return nil
	}
	body, err := r.conversations.Resume(ctx, r.dialect.Keeping, in)
	switch {
	case err != nil || body == nil:
		return err
	case int64(len(body)) > r.maxBytes:
		return tooLarge(r.maxBytes)
	}
	if err := incoming.Memory.Reserve(int64(len(body))); err != nil {
		return err
	}
	incoming.Body = body
	whole, err := r.decode(&incoming)
	if err != nil {
		return err
	}
	whole.Continues = in.Request.Earlier.Previous
	in.Asked, in.Request = in.Request, whole
	return nil
}

func isFalse(header string) bool { return header == "0" || strings.EqualFold(header, "false") }

func isTrue(header string) bool { return header == "1" || strings.EqualFold(header, "true") }

// bodyTime is how long a client may take to send a body, beyond what it takes
// at slowest bytes a second.
const (
	bodyTime = 30 * time.Second
	slowest  = 16 << 10
)

// readJSON reads a whole JSON body of at most limit bytes. The body has to be
// complete before anything is sent upstream: only then does the server notice
// that a client has disconnected. Its bytes are reserved in the slot; nil is
// for bodies that are always small.
func readJSON(c *gin.Context, limit int64, slot *inflight.Slot) ([]byte, error) {
	if !isJSON(c.GetHeader("Content-Type")) {
		return nil, &api.Error{
			Status: http.StatusUnsupportedMediaType, Type: api.TypeInvalidRequest, Code: api.CodeUnsupportedMediaType,
			Message: "the body must be JSON, with Content-Type: application/json",
		}
	}
	if encoding := c.GetHeader("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, &api.Error{
			Status: http.StatusUnsupportedMediaType, Type: api.TypeInvalidRequest, Code: api.CodeUnsupportedMediaType,
			Message: "the body must not be compressed",
		}
	}
	if c.Request.ContentLength > limit {
		c.Header("Connection", "close") // instead of reading a body that is refused
		return nil, tooLarge(limit)
	}
	body, err := readAll(c, limit, slot)
	if err == nil && len(body) == 0 {
		return nil, api.Invalid(api.CodeInvalidJSON, "", "the body is empty")
	}
	if err == nil {
		return body, nil
	}
	c.Header("Connection", "close") // and the rest of the body is not read
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge(limit)
	}
	if _, ok := errors.AsType[*api.Error](err); ok {
		return nil, err
	}
	if c.Request.Context().Err() != nil {
		return nil, c.Request.Context().Err()
	}
	return nil, api.Invalid(api.CodeInvalidJSON, "", "the body is incomplete").WithCause(err)
}

func isJSON(contentType string) bool {
	const media = "application/json"
	if contentType == media {
		return true
	}
	said, _, err := mime.ParseMediaType(contentType)
	return err == nil && said == media
}

func readAll(c *gin.Context, limit int64, slot *inflight.Slot) ([]byte, error) {
	control := http.NewResponseController(c.Writer)
	src := &slowReader{src: c.Request.Body, control: control, began: time.Now()}
	if c.Request.ContentLength < 0 { // otherwise the server itself ends the body at its announced length
		src.src = http.MaxBytesReader(c.Writer, c.Request.Body, limit)
	}
	const first = 32 << 10 // bytes that are allocated before any byte has arrived
	buf := make([]byte, 0, min(max(c.Request.ContentLength, 0)+1, first)+511)
	if err := slot.Reserve(int64(cap(buf))); err != nil {
		return nil, err
	}
	for {
		n, err := src.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if errors.Is(err, io.EOF) {
			// From now on the server reads only to notice that the client disconnects.
			_ = control.SetReadDeadline(time.Time{})
			return buf, nil
		}
		if err != nil {
			return nil, err
		}
		if len(buf) == cap(buf) {
			room := growth(len(buf), c.Request.ContentLength, limit)
			if err := slot.Reserve(int64(room - cap(buf))); err != nil {
				return nil, err
			}
			buf = append(make([]byte, 0, room), buf...)
		}
	}
}

// growth is the new size of a full buffer: the announced size, but at most four
// times what has arrived, since an announcement costs its sender nothing.
func growth(full int, announced, limit int64) int {
	size := min(4*int64(full), limit+1)
	if announced >= int64(full) {
		size = min(size, announced+1)
	}
	return max(int(size), full+1)
}

// slowReader waits for a body only as long as it arrives at a minimum rate: a
// client that sends one byte now and then would hold its connection for ever.
type slowReader struct {
	src     io.Reader
	control *http.ResponseController
	began   time.Time
	came    int64
}

func (p *slowReader) Read(b []byte) (int, error) {
	allowed := bodyTime + time.Duration(p.came)*time.Second/slowest
	_ = p.control.SetReadDeadline(p.began.Add(allowed)) // some writers in tests have no deadlines
	n, err := p.src.Read(b)
	p.came += int64(n)
	return n, err
}

func tooLarge(limit int64) error {
	return &api.Error{
		Status: http.StatusRequestEntityTooLarge, Type: api.TypeInvalidRequest, Code: api.CodeRequestTooLarge,
		Message: "the body is larger than " + size(limit),
	}
}
