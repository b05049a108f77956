package controllers

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/dialects/messages"
	"modelgateway/middleware"
	"modelgateway/services/registry"
)

// Page answers clients of Anthropic's API with one page of the models that the caller can
// use.
func (h *Models) Page(c *gin.Context) error {
	all := h.Service().Offered(registry.Query{Refused: refused(c)})
	if middleware.RequestOf(c).Caller.SignIn != "" {
		for i := range all {
			if name := registry.Via(all[i].ID); name != all[i].ID {
				named := *all[i].Model
				named.ID, named.Upstream = name, named.ID
				all[i].Model = &named
			}
		}
	}
	from, to, err := page(c, all)
	if err != nil {
		return err
	}
	list := messages.ModelList{Data: make([]messages.ModelInfo, 0, to-from), HasMore: to < len(all)}
	if c.Query("before_id") != "" {
		list.HasMore = from > 0
	}
	for _, model := range all[from:to] {
		list.Data = append(list.Data, modelInfo(model))
	}
	if n := len(list.Data); n > 0 {
		list.FirstID, list.LastID = &list.Data[0].ID, &list.Data[n-1].ID
	}
	return writeJSON(c, http.StatusOK, list)
}

// page is the part of all models that the query asks for.
func page(c *gin.Context, all []registry.Offered) (from, to int, err error) {
	const usual, most = 20, 1000
	limit := usual
	if text := c.Query("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > most {
			return 0, 0, api.Invalid(api.CodeInvalidValue, "limit", "limit must be an integer between 1 and %d", most)
		}
	}
	after, before := c.Query("after_id"), c.Query("before_id")
	switch {
	case after != "" && before != "":
		return 0, 0, api.Invalid(api.CodeInvalidValue, "before_id", "send before_id or after_id, not both")
	case after != "":
		at, err := indexOf(all, "after_id", after)
		return at + 1, min(at+1+limit, len(all)), err
	case before != "":
		at, err := indexOf(all, "before_id", before)
		return max(at-limit, 0), at, err
	}
	return 0, min(limit, len(all)), nil
}

func indexOf(all []registry.Offered, param, id string) (int, error) {
	at := slices.IndexFunc(all, func(m registry.Offered) bool { return m.ID == id })
	if at < 0 {
		return 0, api.Invalid(api.CodeInvalidValue, param, "%s must be the id of a model in the list", param)
	}
	return at, nil
}

// Info answers clients of Anthropic's API with one model, whose id is the rest of the path.
func (h *Models) Info(c *gin.Context) error {
	models := h.Service()
	model, err := models.Offer(models.Meant(strings.TrimPrefix(c.Param("id"), "/")), registry.Query{Refused: refused(c)})
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, modelInfo(model))
}

// modelInfo is a model in the form of Anthropic's API.
func modelInfo(m registry.Offered) messages.ModelInfo {
	info := messages.ModelInfo{
		Type: "model", ID: m.ID, DisplayName: displayName(m), CreatedAt: time.Unix(m.Created, 0).UTC().Format(time.RFC3339),
		MaxInputTokens: known(m.Context), MaxTokens: known(m.MaxOutput), Lifecycle: m.State, Capabilities: capabilities(m),
	}
	if !m.Ends.IsZero() {
		ends := m.Ends.UTC().Format(time.RFC3339)
		info.RetiresAt = &ends
	}
	return info
}

// displayName has the model behind an alias as well.
func displayName(m registry.Offered) string {
	if m.Upstream == m.ID || m.Upstream == "" {
		return m.ID
	}
	return m.ID + " (" + m.Upstream + ")"
}

// known is a number of tokens; nil where it is not known.
func known(tokens int64) *int64 {
	if tokens <= 0 {
		return nil
	}
	return &tokens
}

// capabilities are what a model can do for clients of Anthropic's API. What runs at
// Anthropic only its own models have; batches the gateway does not serve.
func capabilities(m registry.Offered) messages.ModelCapabilities {
	is := func(yes bool) messages.Supported { return messages.Supported{Supported: yes} }
	effort := func(level string) messages.Supported { return is(slices.Contains(m.Traits.Efforts, level)) }
	own, thinks := m.Can.RunsTools, len(m.Traits.Thinking) > 0
	return messages.ModelCapabilities{
		Citations: is(own), CodeExecution: is(own), ImageInput: is(takesInput(m, "image")), PDFInput: is(takesInput(m, "pdf")),
		StructuredOutputs: is(m.Traits.Structured),
		ContextManagement: messages.ContextManagement{Supported: own, ClearThinking: is(own), ClearToolUses: is(own), Compact: is(own)},
		ServerTools:       messages.ServerTools{Supported: own, CodeExecution: is(own), WebSearch: is(own)},
		Effort: messages.EffortCapability{
			Supported: len(m.Traits.Efforts) > 0, Low: effort("low"), Medium: effort("medium"), High: effort("high"),
			XHigh: effort("xhigh"), Max: effort("max"),
		},
		Thinking: messages.Thinking{Supported: thinks, Types: messages.ThinkingTypes{
			// For other providers all ways are translated.
			Adaptive:     is(thinks && !own || m.Traits.Thinks(catalog.ThinkAdaptive)),
			BetweenTools: is(thinks && !own),
			Disabled:     is(!own || m.Traits.ThinkingBy != catalog.ThinkAlways),
			Enabled:      is(thinks && !own || m.Traits.Thinks(catalog.ThinkBudget)),
		}},
	}
}

// takesInput says whether a prompt for a model may have something: pictures or PDFs.
func takesInput(m registry.Offered, modality string) bool {
	if len(m.Input) == 0 {
		return m.Can.TakesMedia
	}
	return slices.Contains(m.Input, modality)
}
