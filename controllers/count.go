package controllers

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"modelgateway/middleware"
	"modelgateway/models/api"
	"modelgateway/services/inference"
	"modelgateway/services/inflight"
)

// Count serves the requests for the size of a prompt in one dialect.
type Count struct {
	Dialect     api.Counting
	Service     *inference.Service
	Concurrency *inflight.Limiter
	MaxBytes    int64
}

// Create answers with the number of tokens, and says in a header whether it is exact.
func (h *Count) Create(c *gin.Context) error {
	from := middleware.RequestOf(c)
	slot, err := h.Concurrency.Acquire(from.Caller)
	if err != nil {
		return err
	}
	defer slot.Release()
	body, err := readJSON(c, h.MaxBytes, &slot)
	if err != nil {
		return err
	}
	req, err := h.Dialect.DecodeCount(&slot, body)
	if err != nil {
		return err
	}
	if req, err = resumed(c, h.Service, resuming{h.Dialect, h.Dialect.DecodeCount, h.MaxBytes}, &slot, req); err != nil {
		return err
	}
	addBeside(c, h.Dialect, req)
	from.Model = req.Model
	counted, err := h.Service.Count(c.Request.Context(), inference.Input{Request: req, Caller: from.Caller, RequestID: from.ID(c)})
	describeRoute(c, h.Dialect, counted.Route)
	if err != nil {
		return err
	}
	c.Writer.Header()[tokenCountHeader] = tokenCountEstimate
	if counted.Exact {
		c.Writer.Header()[tokenCountHeader] = tokenCountExact
	}
	text := counted.Raw
	if text == nil {
		text = h.Dialect.AppendCount(nil, counted.Tokens)
	}
	return writeBody(c, http.StatusOK, text)
}

// tokenCountHeader says how the number of a prompt's tokens is known that an answer begins
// with.
const tokenCountHeader = "X-Gateway-Token-Count"

// The values of tokenCountHeader are shared by all answers and never changed.
var (
	tokenCountExact    = []string{"exact"}
	tokenCountEstimate = []string{"estimate"}
)
