package controllers

import (
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"modelgateway/middleware"
	"modelgateway/models/api"
	"modelgateway/models/llm"
	"modelgateway/services/inference"
	"modelgateway/services/inflight"
)

// Generate serves the requests to a model in one dialect.
type Generate struct {
	Dialect     api.Dialect
	Service     *inference.Service
	Concurrency *inflight.Limiter
	MaxBytes    int64
	Strict      bool          // of requests without the header
	KeepAlive   time.Duration // after this silence of a stream a comment is sent; 0 = never
	Now         func() time.Time
}

// Create answers a request, whole or as a stream.
func (h *Generate) Create(c *gin.Context) error {
	began, from := h.Now(), middleware.RequestOf(c)
	slot, err := h.Concurrency.Acquire(from.Caller)
	if err != nil {
		return err
	}
	defer slot.Release()
	body, err := readJSON(c, h.MaxBytes, &slot)
	if err != nil {
		return err
	}
	from.Body = body
	req, err := h.Dialect.Decode(&slot, body)
	if err != nil {
		return err
	}
	asked := req
	req, err = resumed(c, h.Service, resuming{h.Dialect, h.Dialect.Decode, h.MaxBytes}, &slot, req)
	if err != nil {
		from.Model = asked.Model
		return err
	}
	addBeside(c, h.Dialect, req)
	status, _ := h.Dialect.(api.StatusTeller)
	call, err := h.Service.Admit(c.Request.Context(), inference.Input{
		Request: req, Asked: asked, Caller: from.Caller, RequestID: from.ID(c), UserAgent: c.GetHeader("User-Agent"),
		Began: began, BodyTime: h.Now().Sub(began),
		Strict: h.strict(c.GetHeader("X-Gateway-Strict-Params")), NoFallback: isFalse(c.GetHeader(fallbackHeader)), Status: status,
	})
	if err != nil {
		h.describe(c, call, call.Route())
		from.Model = req.Model
		return err
	}
	end := errPanicked
	defer func() { from.Call = call.End(c.Request.Context(), end) }() // also after a panic
	end = h.answer(c, req, call)
	return end
}

// addBeside adds to a request what came beside its body and travels with it.
func addBeside(c *gin.Context, dialect any, req *llm.Request) {
	forwarder, ok := dialect.(api.Forwarder)
	if !ok {
		return
	}
	var query url.Values
	if c.Request.URL.RawQuery != "" {
		query = c.Request.URL.Query()
	}
	beside, session := forwarder.Forwards(c.Request.Header, query)
	req.Beside = beside
	if session != "" { // else what the body says
		req.Session = session
	}
}

var errPanicked = errors.New("a panic ended the call")

func (h *Generate) strict(header string) bool {
	if header == "" {
		return h.Strict
	}
	return isTrue(header)
}

func isFalse(header string) bool { return header == "0" || strings.EqualFold(header, "false") }

func isTrue(header string) bool { return header == "1" || strings.EqualFold(header, "true") }
