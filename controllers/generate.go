package controllers

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
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
	Dialect   api.Dialect
	Service   *inference.Service
	Slots     *inflight.Slots
	MaxBytes  int64
	KeepAlive time.Duration // the silence of a stream that a comment breaks; 0 = never
	Now       func() time.Time
}

// Create answers a request, whole or as a stream.
func (h *Generate) Create(c *gin.Context) error {
	began := h.Now()
	caller := middleware.CallerOf(c.Request.Context())
	slot, err := h.Slots.Take(caller)
	if err != nil {
		return err
	}
	defer slot.Free()
	body, err := readJSON(c, h.MaxBytes, &slot)
	if err != nil {
		return err
	}
	req, err := h.Dialect.Decode(body)
	if err != nil {
		return err
	}
	call, err := h.Service.Admit(c.Request.Context(), inference.Ask{
		Request: req, Caller: caller, RequestID: middleware.RequestID(c), Began: began, Reading: h.Now().Sub(began),
		Strict: isTrue(c.GetHeader("X-Gateway-Strict-Params")), NoFallback: isFalse(c.GetHeader(fallbackHeader)),
	})
	middleware.TokenHeaders(c.Writer.Header(), call.Standing())
	if err != nil {
		h.describe(c, call)
		middleware.LogModel(c, call.Served().Model)
		return err
	}
	end := errPanicked
	defer func() { middleware.LogCall(c, call.End(c.Request.Context(), end)) }() // however it ends
	end = h.answer(c, req, call)
	return end
}

var errPanicked = errors.New("the call was left by a panic")

func (h *Generate) answer(c *gin.Context, req *llm.Request, call *inference.Call) error {
	answer, stream, err := call.Open(c.Request.Context())
	h.describe(c, call)
	if err != nil {
		return err
	}
	if stream != nil {
		return writeStream(c, stream, h.Dialect.NewWriter(req), h.KeepAlive)
	}
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	text := answer.Raw
	if text == nil {
		if text, err = h.Dialect.AppendAnswer((*buffer)[:0], req, answer); err != nil {
			return err
		}
		if cap(text) <= fullBuffer {
			*buffer = text[:0]
		}
	}
	call.Sent()
	return writeBody(c, http.StatusOK, text)
}

// fallbackHeader names the fallback that answered; in a request it can say that
// none may.
const fallbackHeader = "X-Gateway-Fallback"

func isFalse(header string) bool { return header == "0" || strings.EqualFold(header, "false") }

func isTrue(header string) bool { return header == "1" || strings.EqualFold(header, "true") }

// describe tells in headers which model answered and what was left out.
func (h *Generate) describe(c *gin.Context, call *inference.Call) {
	s := call.Served()
	if s.Provider != "" {
		c.Header("X-Gateway-Provider", s.Provider)
	}
	if len(s.Ignored) > 0 {
		c.Header("X-Gateway-Ignored-Params", listed(s.Ignored))
	}
	if s.Fallback != "" {
		c.Header(fallbackHeader, s.Fallback)
	}
	if s.Redirected != "" {
		c.Header("X-Gateway-Model-Redirected", s.Redirected)
	}
	c.Header("Openai-Processing-Ms", strconv.FormatInt(h.Now().Sub(call.Began()).Milliseconds(), 10))
}

// listed makes a header of names that clients chose: printable ASCII, and no
// longer than clients read.
func listed(names []string) string {
	const longest = 4 << 10
	var b strings.Builder
	for i, name := range names {
		name = strings.Trim(strconv.QuoteToASCII(name), `"`)
		if b.Len()+len(name) > longest {
			fmt.Fprintf(&b, ", and %d more", len(names)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(name)
	}
	return b.String()
}
