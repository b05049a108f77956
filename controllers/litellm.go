package controllers

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
	"modelgateway/middleware"
	"modelgateway/services/auth"
	"modelgateway/services/litellm"
	"modelgateway/services/registry"
)

// LiteLLM serves the routes that only LiteLLM has, in its form. Of its members an answer has those that mean something
// here.
type LiteLLM struct {
	Models func() *registry.Models
	Keys   *auth.Keys
}

// ShowModels answers GET /v1/model/info with the models that the caller can use, or with the one that litellm_model_id names.
func (h *LiteLLM) ShowModels(c *gin.Context) error {
	all, only := []any{}, c.Query("litellm_model_id")
	list := h.Models().List(registry.Query{Refused: refused(c), Available: true})
	for i := range list.Data {
		if m := &list.Data[i]; only == "" || m.ID == only {
			params := map[string]string{"model": m.OwnedBy + "/" + m.Root}
			all = append(all, map[string]any{"model_name": m.ID, "litellm_params": params, "model_info": liteLLMInfo(m)})
		}
	}
	return writeJSON(c, http.StatusOK, map[string]any{"data": all})
}

// liteLLMInfo are facts of a model; what is not known is null or absent.
func liteLLMInfo(m *api.Model) map[string]any {
	info := map[string]any{
		"id": m.ID, "litellm_provider": m.OwnedBy, "mode": m.Kind, "max_input_tokens": known(m.ContextWindow),
		"max_output_tokens": known(m.MaxOutputTokens), "max_tokens": known(m.MaxOutputTokens),
		"supports_function_calling": m.Tools, "supports_response_schema": m.Structured, "supports_reasoning": m.Reasoning,
	}
	if len(m.Input) > 0 {
		info["supports_vision"] = slices.Contains(m.Input, "image")
	}
	if m.Price != nil {
		const tokens = 1e12 // prices are micro-dollars for a million tokens
		info["input_cost_per_token"], info["output_cost_per_token"] = float64(m.Price.Input)/tokens, float64(m.Price.Output)/tokens
		if m.Price.CacheRead > 0 {
			info["cache_read_input_token_cost"] = float64(m.Price.CacheRead) / tokens
		}
	}
	return info
}

// ShowKey answers GET /key/info with the key that the request is sent with, and refuses every other one.
func (h *LiteLLM) ShowKey(c *gin.Context) error {
	caller, asked := middleware.RequestOf(c).Caller, c.Query("key")
	if caller.KeyID == "" {
		return api.Unauthorized(api.CodeMissingCredentials, "this path tells of the API key that the request is sent with: send one")
	}
	if asked != "" && !same(asked, cmp.Or(middleware.LoginToken(c), c.GetHeader("X-Api-Key"))) {
		return api.Forbidden(api.CodeAdminRequired, "key", "key may be only the API key that the request is sent with")
	}
	state, err := h.Keys.Get(c.Request.Context(), caller.UserID, caller.KeyID)
	if err != nil {
		return err
	}
	key := auth.ShowKey(state)
	info := map[string]any{
		"key_name": key.Prefix, "key_alias": key.Name, "user_id": api.Maybe(state.UserID), "team_id": key.TeamID,
		"spend": key.Spend, "max_budget": key.Budget, "budget_duration": nil, "budget_reset_at": nil,
		"tpm_limit": key.TPMLimit, "rpm_limit": key.RPMLimit, "max_parallel_requests": key.MaxParallel, "models": state.Models.List(),
		"blocked": key.RevokedAt != nil, "expires": moment(key.ExpiresAt), "created_at": moment(&key.CreatedAt),
	}
	if b := key.BudgetState; b != nil {
		info["spend"], info["max_budget"], info["budget_reset_at"] = b.Spent, b.Limit, moment(b.ResetsAt)
		info["budget_duration"] = api.Maybe(litellm.Duration(string(state.BudgetWindow)))
	}
	return writeJSON(c, http.StatusOK, map[string]any{"key": cmp.Or(asked, key.ID), "info": info})
}

// moment is a time in Unix seconds as LiteLLM writes it.
func moment(seconds *int64) *string {
	if seconds == nil {
		return nil
	}
	return new(time.Unix(*seconds, 0).UTC().Format(time.RFC3339))
}
