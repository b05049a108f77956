package controllers

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
	"modelgateway/middleware"
	"modelgateway/services/inference"
	"modelgateway/services/inflight"
)

// Count serves the requests for the size of a prompt in one dialect.
type Count struct {
	Dialect     api.Counting
	Continue    Continue // as that of Generate
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
	r := reading{dialect: h.Dialect, decode: h.Dialect.DecodeCount, proceed: h.Continue, maxBytes: h.MaxBytes, now: time.Now}
	input, err := r.input(c, from, &slot)
	if err != nil {
		return err
	}
	from.Model = input.Request.Model
	counted, err := h.Service.Count(c.Request.Context(), input)
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
