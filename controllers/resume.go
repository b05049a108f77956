package controllers

import (
	"github.com/gin-gonic/gin"

	"modelgateway/middleware"
	"modelgateway/models/api"
	"modelgateway/models/llm"
	"modelgateway/services/inference"
	"modelgateway/services/inflight"
)

// resuming is how a request is read again that has a conversation before it.
type resuming struct {
	dialect  any
	decode   func(memory api.Memory, body []byte) (*llm.Request, error)
	maxBytes int64
}

// resumed is a request with the conversation that the gateway keeps and that it goes on from;
// the request itself where there is none.
func resumed(c *gin.Context, s *inference.Service, r resuming, slot *inflight.Slot, req *llm.Request) (*llm.Request, error) {
	keeping, ok := r.dialect.(api.Keeping)
	if !ok {
		return req, nil
	}
	body, err := s.Resume(c.Request.Context(), keeping, req, &middleware.RequestOf(c).Caller)
	if err != nil || body == nil {
		return req, err
	}
	if int64(len(body)) > r.maxBytes {
		return nil, tooLarge(r.maxBytes)
	}
	if err := slot.Reserve(int64(len(body))); err != nil {
		return nil, err
	}
	whole, err := r.decode(slot, body)
	if err != nil {
		return nil, err
	}
	if source, ok := req.Source.(llm.Continuing); ok {
		whole.Continues = source.Previous()
	}
	return whole, nil
}

// keeping has the whole answer of a stream kept before its end is sent, so that the next
// request finds it.
func (h *Generate) keeping(c *gin.Context, call *inference.Call, out *eventWriter) {
	dialect, ok := h.Dialect.(api.Keeping)
	if _, whole := out.format.(api.Whole); ok && whole {
		out.keep = func(answer []byte) { call.Keep(c.Request.Context(), dialect, answer) }
	}
}
