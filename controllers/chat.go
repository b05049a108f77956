package controllers

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"

	"modelgateway/middleware"
	"modelgateway/models/api"
	"modelgateway/services/inference"
	"modelgateway/services/inflight"
	"modelgateway/services/routing"
)

// Chat serves POST /v1/chat/completions.
type Chat struct {
	Service   *inference.Service
	Slots     *inflight.Slots
	MaxBytes  int64
	KeepAlive time.Duration // the silence of a stream that a comment breaks; 0 = never
	Now       func() time.Time
}

// Create answers a request, whole or as a stream.
func (h *Chat) Create(c *gin.Context) error {
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
	req, err := api.DecodeChatRequest(body)
	if err != nil {
		return err
	}
	ask := inference.Ask{
		Request: req, Caller: caller, RequestID: middleware.RequestID(c), Began: began,
		Strict: isTrue(c.GetHeader("X-Gateway-Strict-Params")), NoFallback: isFalse(c.GetHeader(fallbackHeader)),
	}
	ask.Reading = h.Now().Sub(began)
	call, err := h.Service.Admit(c.Request.Context(), ask)
	middleware.TokenHeaders(c.Writer.Header(), call.Standing())
	if err != nil {
		h.describe(c, call.Served(), began)
		middleware.Asked(c, call.Served().Model)
		return err
	}
	end := errPanicked
	defer func() { middleware.Booked(c, call.End(c.Request.Context(), end)) }() // whatever ends it
	end = h.answer(c, call, req)
	return end
}

var errPanicked = errors.New("the call was left by a panic")

func (h *Chat) answer(c *gin.Context, call *inference.Call, req *api.ChatRequest) error {
	ctx, began := c.Request.Context(), call.Began()
	if req.Stream {
		stream, err := call.Stream(ctx)
		h.describe(c, call.Served(), began)
		if err != nil {
			return err
		}
		usage := req.StreamOptions != nil && req.StreamOptions.IncludeUsage
		return writeStream(c, stream, streamOptions{usage: usage, keepAlive: h.KeepAlive})
	}
	answer, err := call.Complete(ctx)
	h.describe(c, call.Served(), began)
	if err != nil {
		return err
	}
	if answer.Raw != nil {
		call.Sent()
		return writeBody(c, http.StatusOK, answer.Raw)
	}
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	text, err := api.AppendCompletion((*buffer)[:0], answer)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	if cap(text) <= fullBuffer {
		*buffer = text[:0]
	}
	call.Sent()
	return writeBody(c, http.StatusOK, text)
}

// fallbackHeader names the model that stood in for the one that was asked; in a
// request it can say that none is to.
const fallbackHeader = "X-Gateway-Fallback"

func isFalse(header string) bool { return header == "0" || strings.EqualFold(header, "false") }

func isTrue(header string) bool { return header == "1" || strings.EqualFold(header, "true") }

// describe tells in headers who answered and how faithfully.
func (h *Chat) describe(c *gin.Context, s routing.Served, began time.Time) {
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
	c.Header("Openai-Processing-Ms", strconv.FormatInt(h.Now().Sub(began).Milliseconds(), 10))
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

func writeJSON(c *gin.Context, status int, value any) error {
	body, err := json.Marshal(value, api.Faithful)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	return writeBody(c, status, body)
}

// jsonType is the same for all; nobody changes it.
var jsonType = []string{"application/json"}

// writeBody sends JSON.
func writeBody(c *gin.Context, status int, body []byte) error {
	c.Writer.Header()["Content-Type"] = jsonType
	if len(body) > 1<<10 { // of less the server says it by itself
		c.Header("Content-Length", strconv.Itoa(len(body)))
	}
	c.Status(status)
	w := newTimedWriter(c.Writer)
	return w.write(body)
}

func size(bytes int64) string {
	if bytes >= 1<<20 && bytes%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	if bytes >= 1<<10 && bytes%(1<<10) == 0 {
		return fmt.Sprintf("%d KiB", bytes>>10)
	}
	return fmt.Sprintf("%d bytes", bytes)
}
