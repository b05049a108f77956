package controllers

import (
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
	"modelgateway/llm"
	"modelgateway/middleware"
	"modelgateway/services/registry"
)

// Models serves GET /v1/models.
type Models struct {
	Service func() *registry.Models
}

// List answers with the chat models of the catalogue and those that can be called, or with what
// kind, available and all say.
func (h *Models) List(c *gin.Context) error {
	q, err := queryOf(c)
	if err != nil {
		return err
	}
	models := h.Service()
	c.Header("x-gateway-prices-date", models.FactsDate())
	list := models.List(q)
	if c.Request.URL.Query().Has("client_version") {
		// Codex asks in this way, reads the models in its own form, and ignores the others.
		return writeJSON(c, http.StatusOK, codexList{list, codexModels(models.Offered(q))})
	}
	return writeJSON(c, http.StatusOK, list)
}

// Get answers with one model, whose id is the rest of the path.
func (h *Models) Get(c *gin.Context) error {
	model, err := h.Service().Get(strings.TrimPrefix(c.Param("id"), "/"), registry.Query{Refused: refused(c)})
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, model)
}

// refused says which models the caller may not use.
func refused(c *gin.Context) func(names ...string) bool {
	levels := middleware.RequestOf(c).Caller.Levels
	return func(names ...string) bool { return levels.Refusing(names...) != nil }
}

// queryOf is what a request asks for.
func queryOf(c *gin.Context) (registry.Query, error) {
	usual := string(llm.KindChat)
	if middleware.RequestOf(c).LiteLLM && !c.Request.URL.Query().Has("client_version") {
		usual = "all" // as a LiteLLM lists them
	}
	q := registry.Query{Refused: refused(c), Kind: llm.Kind(c.DefaultQuery("kind", usual))}
	switch {
	case q.Kind == "all":
		q.Kind = ""
	case !slices.Contains(llm.Kinds(), q.Kind):
		return q, api.Invalid(api.CodeInvalidValue, "kind", "kind must be %s, %s or all", llm.KindChat, llm.KindEmbedding)
	}
	for name, into := range map[string]*bool{"available": &q.Available, "all": &q.All} {
		switch c.Query(name) {
		case "", "false":
		case "true":
			*into = true
		default:
			return q, api.Invalid(api.CodeInvalidValue, name, "%s must be true or false", name)
		}
	}
	return q, nil
}
