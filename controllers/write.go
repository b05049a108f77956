package controllers

import (
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"modelgateway/middleware"
	"modelgateway/models/api"
	"modelgateway/models/llm"
	"modelgateway/services/inference"
	"modelgateway/services/ratelimit"
	"modelgateway/services/routing"
)

// fallbackHeader names the fallback that answered; in a request it can forbid
// fallbacks.
const fallbackHeader = "X-Gateway-Fallback"

// describe sets the headers that name the model that answers, the ignored
// fields, and the status of the token limit.
func (h *Generate) describe(c *gin.Context, call *inference.Call, route routing.Route) {
	describeRoute(c, h.Dialect, route)
	if _, own := h.Dialect.(api.Header); !own {
		c.Header("Openai-Processing-Ms", strconv.FormatInt(h.Now().Sub(call.Began()).Milliseconds(), 10))
	}
	setTokenHeaders(c.Writer.Header(), call.TokenStatus())
}

// describeRoute sets the headers that name the model that answers and the ignored fields.
func describeRoute(c *gin.Context, dialect any, s routing.Route) {
	if s.Provider != "" {
		c.Header("X-Gateway-Provider", s.Provider)
	}
	if s.RequestID != "" {
		c.Header("X-Upstream-Request-Id", s.RequestID)
	}
	if own, ok := dialect.(api.Header); ok && s.Native && s.RequestID != "" {
		own.SetHeaders(c.Writer.Header(), s.RequestID)
	}
	if len(s.Ignored) > 0 {
		c.Header("X-Gateway-Ignored-Params", listed(s.Ignored))
	}
	if s.Fallback != "" {
		c.Header(fallbackHeader, s.Fallback)
	}
	if s.Decoded != "" {
		c.Header("X-Gateway-Decoded-Tokens", s.Decoded)
	}
	if s.Alias != "" {
		c.Header("X-Gateway-Model-Alias", s.Alias)
	}
	if s.Redirected != "" {
		c.Header("X-Gateway-Model-Redirected", s.Redirected)
	}
	for _, of := range s.Headers {
		c.Header(of.Name, of.Value)
	}
}

// setTokenHeaders sets the headers with the status of the caller's limit of
// tokens; none without such a limit.
func setTokenHeaders(header http.Header, s ratelimit.TokenStatus) {
	if s.Limit <= 0 {
		return
	}
	values := middleware.LimitStatus(s.Limit, s.Remaining, s.Reset)
	header["X-Ratelimit-Limit-Tokens"] = values[0:1:1] // as middleware does for the limit of requests
	header["X-Ratelimit-Remaining-Tokens"] = values[1:2:2]
	header["X-Ratelimit-Reset-Tokens"] = values[2:3:3]
}

// answer writes the answer of the call, whole or as a stream.
func (h *Generate) answer(c *gin.Context, req *llm.Request, call *inference.Call) error {
	if req.Stream {
		return h.stream(c, req, call)
	}
	answer, pieces, err := call.Open(c.Request.Context())
	h.describe(c, call, call.Route())
	if err != nil {
		return err
	}
	if pieces != nil {
		return writePieces(c, pieces)
	}
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	text := answer.Raw
	if text == nil || answer.RawDialect != req.Source.Dialect() {
		if text, err = h.Dialect.AppendAnswer((*buffer)[:0], req, answer); err != nil {
			return err
		}
		if dialect, ok := h.Dialect.(api.Keeping); ok {
			call.Keep(c.Request.Context(), dialect, text)
		}
		if cap(text) <= fullBuffer {
			*buffer = text[:0]
		}
	}
	call.Sent()
	return writeBody(c, http.StatusOK, text)
}

// writePieces sends JSON as it comes. After an error the connection is closed before the
// end of the body, so that no client mistakes the part for the whole.
func writePieces(c *gin.Context, pieces llm.Stream) error {
	c.Writer.Header()["Content-Type"] = jsonType
	w := timedWriter{w: c.Writer, control: http.NewResponseController(c.Writer)}
	for event, err := range pieces {
		if err != nil {
			return err
		}
		if event == nil {
			continue
		}
		if !c.Writer.Written() && event.Head.Length > 0 {
			c.Header("Content-Length", strconv.FormatInt(event.Head.Length, 10))
		}
		if err := w.write(event.Raw); err != nil {
			return err
		}
	}
	return nil
}

// jsonType is shared by all answers and never changed.
var jsonType = []string{"application/json"}

// writeBody sends JSON.
func writeBody(c *gin.Context, status int, body []byte) error {
	c.Writer.Header()["Content-Type"] = jsonType
	return writeText(c, status, body)
}

// writeText sends a body whose type is in the header already.
func writeText(c *gin.Context, status int, body []byte) error {
	if len(body) > 1<<10 { // net/http sets the length of shorter bodies by itself
		c.Header("Content-Length", strconv.Itoa(len(body)))
	}
	c.Status(status)
	w := timedWriter{w: c.Writer, control: http.NewResponseController(c.Writer)}
	return w.write(body)
}
