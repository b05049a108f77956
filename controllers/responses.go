package controllers

import (
	"net/http"
	"net/url"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
	"modelgateway/middleware"
	"modelgateway/services/conversation"
	"modelgateway/services/inflight"
)

// Responses serves what is asked of responses that were kept.
type Responses struct {
	Dialect     *api.Dialect
	Service     *conversation.Service
	Concurrency *inflight.Limiter
}

// Get answers with a response.
func (h *Responses) Get(c *gin.Context) error {
	if isTrue(c.Query("stream")) {
		return api.Invalid(api.CodeUnsupportedValue, "stream",
			"a response can be streamed again only while it is made in the background, which the gateway does not offer")
	}
	return h.ask(c, http.MethodGet, "", "include", "include[]")
}

// Delete erases a response.
func (h *Responses) Delete(c *gin.Context) error { return h.ask(c, http.MethodDelete, "") }

// InputItems answers with the input of the request that a response answers.
func (h *Responses) InputItems(c *gin.Context) error {
	return h.ask(c, http.MethodGet, "/input_items", "after", "before", "include", "include[]", "limit", "order")
}

// Cancel ends a response that is made in the background. The gateway makes none, so that the
// provider refuses it.
func (h *Responses) Cancel(c *gin.Context) error { return h.ask(c, http.MethodPost, "/cancel") }

// ask answers a request. Of its query the members with these names count.
func (h *Responses) ask(c *gin.Context, method, part string, members ...string) error {
	from := middleware.RequestOf(c)
	slot, err := h.Concurrency.Acquire(from.Caller)
	if err != nil {
		return err
	}
	defer slot.Release()
	given, query := c.Request.URL.Query(), url.Values{}
	for _, name := range members {
		if values := given[name]; len(values) > 0 {
			query[name] = values
		}
	}
	answer, route, err := h.Service.Kept(c.Request.Context(), conversation.KeptAsk{
		Caller: from.Caller, Method: method, ID: c.Param("id"), Part: part, Query: query, Keeping: h.Dialect.Keeping,
	})
	describeRoute(c, h.Dialect, route)
	if err != nil {
		return err
	}
	return writeBody(c, http.StatusOK, answer)
}
