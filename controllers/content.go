package controllers

import (
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
	"modelgateway/middleware"
	"modelgateway/services/ledger"
	"modelgateway/services/prompts"
)

// Contents records and serves the requests and the answers of calls.
type Contents struct {
	Log   *prompts.Log
	Calls *ledger.Calls
}

// Record is middleware that records the body of a request and what its client is sent.
func (h *Contents) Record(c *gin.Context) {
	record := h.Log.Begin()
	c.Writer = &recorder{ResponseWriter: c.Writer, record: record}
	from := middleware.RequestOf(c)
	defer func() { record.End(from.Call, from.Body) }()
	c.Next()
}

// recorder passes an answer on and records it.
type recorder struct {
	gin.ResponseWriter

	record *prompts.Record
}

// Write implements io.Writer.
func (w *recorder) Write(text []byte) (int, error) {
	n, err := w.ResponseWriter.Write(text)
	w.record.Sent(text[:n])
	return n, err
}

// WriteString implements io.StringWriter.
func (w *recorder) WriteString(text string) (int, error) { return w.Write([]byte(text)) }

// Unwrap is for http.ResponseController.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Get answers GET /v1/calls/{id}/content and GET /admin/calls/{id}/content.
func (h *Contents) Get(c *gin.Context) error {
	of, err := callsOf(c, nil) // no route of a team has it
	if err != nil {
		return err
	}
	ctx, id := c.Request.Context(), c.Param("id")
	if _, err := h.Calls.Get(ctx, of, id); err != nil {
		return err
	}
	caller := middleware.RequestOf(c).Caller
	content, err := h.Log.Read(ctx, id, prompts.Reader{
		UserID: caller.UserID, KeyID: caller.KeyID, RequestID: middleware.RequestID(c), Address: c.ClientIP(),
	})
	if errors.Is(err, prompts.ErrNone) {
		return api.CallNotFound("the request and the answer of this call are not kept: LOG_PROMPTS did not apply to it, " +
			"or they were deleted")
	}
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, api.CallContent{
		Object: api.ObjectCallContent, Request: string(content.Request), RequestTruncated: content.RequestTruncated,
		Answer: string(content.Answer), AnswerTruncated: content.AnswerTruncated, ExpiresAt: content.ExpiresAt.Unix(),
	})
}
