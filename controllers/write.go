package controllers

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/llm"
	"modelgateway/middleware"
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
	if h.Dialect.SetHeaders == nil {
		c.Header("Openai-Processing-Ms", strconv.FormatInt(h.Now().Sub(call.Began()).Milliseconds(), 10))
	}
	setTokenHeaders(c.Writer.Header(), call.TokenStatus())
}

// describeRoute sets the headers that name the model that answers and the ignored fields.
func describeRoute(c *gin.Context, dialect *api.Dialect, s routing.Route) {
	if s.Provider != "" {
		c.Header("X-Gateway-Provider", s.Provider)
	}
	if s.RequestID != "" {
		c.Header("X-Upstream-Request-Id", s.RequestID)
	}
	if dialect.SetHeaders != nil && s.Native && s.RequestID != "" {
		dialect.SetHeaders(c.Writer.Header(), s.RequestID)
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

// writeAnswer sends a whole answer.
func (h *Generate) writeAnswer(c *gin.Context, call *inference.Call, answer *llm.Answer) error {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	text, req := answer.Raw, call.Request()
	if text == nil || answer.RawDialect != req.Source.Dialect() {
		var err error
		if text, err = h.Dialect.AppendAnswer((*buffer)[:0], req, answer); err != nil {
			return err
		}
		if keep := call.Keep(); keep != nil {
			keep(text)
		}
		if cap(text) <= fullBuffer {
			*buffer = text[:0]
		}
	}
	call.Sent()
	return writeBody(c, http.StatusOK, text)
}

// write sends an answer that is no stream, whole or in the pieces in which it comes. After an
// error the connection is closed before the end of the body, so that no client mistakes the
// part for the whole.
func (h *Generate) write(c *gin.Context, call *inference.Call, answer llm.Stream) error {
	w := timedWriter{w: c.Writer, control: http.NewResponseController(c.Writer)}
	for event, err := range answer {
		switch {
		case err != nil:
			return err
		case event == nil:
			continue
		case event.Answer != nil:
			return h.writeAnswer(c, call, event.Answer)
		}
		if !c.Writer.Written() {
			call.Sent()
			c.Writer.Header()["Content-Type"] = jsonType
			if event.Head.Length > 0 {
				c.Header("Content-Length", strconv.FormatInt(event.Head.Length, 10))
			}
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

// writeTimeout is how long a client may take to accept one piece of an answer,
// not the whole: a slow client is served, and one that does not read is
// disconnected.
const (
	writeTimeout = 30 * time.Second
	piece        = 64 << 10
)

// timedWriter writes to a client that may be slow.
type timedWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timed   time.Time // when the last deadline was set
}

// write writes in pieces, each with its own deadline, which may be up to a
// second shorter: it is not set again for every event.
func (t *timedWriter) write(text []byte) error {
	for len(text) > 0 {
		n := min(len(text), piece)
		if now := time.Now(); now.Sub(t.timed) > time.Second {
			_ = t.control.SetWriteDeadline(now.Add(writeTimeout)) // some writers in tests have no deadlines
			t.timed = now
		}
		if _, err := t.w.Write(text[:n]); err != nil {
			return fmt.Errorf("%w: %w", inference.ErrClientGone, err)
		}
		text = text[n:]
		if len(text) == 0 {
			break
		}
		if err := t.flush(); err != nil { // otherwise the server joins the pieces
			return err
		}
	}
	return nil
}

func (t *timedWriter) flush() error {
	if err := t.control.Flush(); err != nil {
		return fmt.Errorf("%w: %w", inference.ErrClientGone, err)
	}
	return nil
}

// listed makes the value of a header from names that clients chose: printable
// ASCII, and no longer than clients accept.
func listed(names []string) string {
	const longest = 4 << 10
	var b strings.Builder
	for i, name := range names {
		name = strings.Trim(strconv.QuoteToASCII(name), `"`)
		if b.Len()+len(name) > longest {
			b.WriteString(", and more")
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
	body, err := json.Marshal(value, api.Lenient)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	return writeBody(c, status, body)
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
