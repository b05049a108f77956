package controllers

import (
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/gin-gonic/gin"

	"modelgateway/middleware"
	"modelgateway/models"
	"modelgateway/models/api"
	"modelgateway/services/ledger"
)

// Usage serves the tokens and the costs of calls.
type Usage struct {
	Service *ledger.Usage
}

// Own answers GET /v1/usage with the caller's own calls.
func (h *Usage) Own(c *gin.Context) error {
	ask, err := usageQuery(c.Request.URL.RawQuery, false)
	if err != nil {
		return err
	}
	caller := middleware.RequestOf(c).Caller
	report, err := h.Service.Own(c.Request.Context(), caller.UserID, caller.KeyID, ask)
	return writeUsage(c, report, err)
}

// All answers GET /admin/usage with the calls of all callers.
func (h *Usage) All(c *gin.Context) error {
	ask, err := usageQuery(c.Request.URL.RawQuery, true)
	if err != nil {
		return err
	}
	report, err := h.Service.All(c.Request.Context(), ask)
	return writeUsage(c, report, err)
}

// usageQuery reads a query strictly: with a misspelt name the client would get
// other sums than it asked for.
func usageQuery(raw string, everyone bool) (ask ledger.UsageRequest, err error) {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return ask, api.Invalid(api.CodeInvalidValue, "", "the query of the address is not well-formed").WithCause(err)
	}
	params := map[string]*string{"from": &ask.From, "to": &ask.To, "group_by": &ask.GroupBy}
	if everyone {
		params["user_id"], params["key_id"], params["model"] = &ask.UserID, &ask.KeyID, &ask.Model
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		into, values := params[name], query[name]
		switch {
		case into == nil:
			return ask, api.Invalid(api.CodeInvalidValue, clip(name), "there is no query parameter of this name")
		case len(values) > 1:
			return ask, api.Invalid(api.CodeInvalidValue, name, "%s is given %d times", name, len(values))
		case values[0] == "":
			return ask, api.Invalid(api.CodeInvalidValue, name, "%s is empty", name)
		}
		*into = values[0]
	}
	return ask, nil
}

// clip shortens a name that a client has sent.
func clip(name string) string {
	const longest = 50
	return string([]rune(name)[:min(len([]rune(name)), longest)])
}

func writeUsage(c *gin.Context, report *ledger.UsageReport, err error) error {
	if err != nil {
		return err
	}
	list := api.UsageList{
		Object: api.ObjectList, From: report.From, To: report.To,
		Data: make([]api.UsageRow, len(report.Rows)), Total: usageTotals(&report.Total),
	}
	grouped := map[models.UsageBy]bool{}
	for _, by := range report.By {
		list.GroupBy = append(list.GroupBy, string(by))
		grouped[by] = true
	}
	for i := range report.Rows {
		row := &report.Rows[i]
		out := &list.Data[i]
		*out = api.UsageRow{Day: row.Day, KeyName: row.KeyName, Model: row.Model, UsageTotals: usageTotals(&row.Sum)}
		out.UserID = maybe(row.UserID, grouped[models.ByUser])
		out.KeyID = maybe(row.KeyID, grouped[models.ByKey])
		out.Provider = maybe(row.Provider, grouped[models.ByModel])
	}
	return writeJSON(c, http.StatusOK, list)
}

func maybe(text string, there bool) *api.Maybe {
	if !there {
		return nil
	}
	m := api.Maybe(text)
	return &m
}

func usageTotals(s *models.Sum) api.UsageTotals {
	return api.UsageTotals{
		Calls: s.Calls, Failed: s.Failed, Estimated: s.Estimated, Unpriced: s.Unpriced,
		InputTokens: s.InputTokens, CachedTokens: s.CachedTokens, CacheWriteTokens: s.CacheWriteTokens,
		OutputTokens: s.OutputTokens, ReasoningTokens: s.ReasoningTokens,
		TotalTokens: s.InputTokens + s.OutputTokens, CostUSD: api.USD(s.Cost),
	}
}
