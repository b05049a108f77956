package controllers

import (
	"mime"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"modelgateway/middleware"
	"modelgateway/services/admin"
	"modelgateway/services/ledger"
)

// Usage serves the tokens and the costs of calls.
type Usage struct {
	Service *ledger.Usage
	Admin   *admin.Service // authorizes managers
}

// Own answers GET /v1/usage with the caller's own calls.
func (h *Usage) Own(c *gin.Context) error {
	ask, err := usageQuery(c.Request.URL.RawQuery, "key_id", "team_id", "model", "provider")
	if err != nil {
		return err
	}
	caller := middleware.RequestOf(c).Caller
	report, err := h.Service.Own(c.Request.Context(), caller.UserID, caller.KeyID, ask)
	return writeUsage(c, report, err)
}

// All answers GET /admin/usage with the calls of all callers.
func (h *Usage) All(c *gin.Context) error {
	ask, err := usageQuery(c.Request.URL.RawQuery, "user_id", "key_id", "team_id", "model", "provider")
	if err != nil {
		return err
	}
	report, err := h.Service.All(c.Request.Context(), ask)
	return writeUsage(c, report, err)
}

// Team answers GET /auth/teams/{team_id}/usage with the calls of the team's keys.
func (h *Usage) Team(c *gin.Context) error {
	ask, err := usageQuery(c.Request.URL.RawQuery, "user_id", "key_id", "model", "provider")
	if err != nil {
		return err
	}
	by := manager(c)
	if err := h.Admin.CheckTeam(c.Request.Context(), by); err != nil {
		return err
	}
	report, err := h.Service.Team(c.Request.Context(), by.Team, ask)
	return writeUsage(c, report, err)
}

// usageQuery reads a query strictly: with a misspelt name the client would get
// other sums than it asked for.
func usageQuery(raw string, filters ...string) (ask ledger.UsageRequest, err error) {
	params := map[string]*string{
		"from": &ask.From, "to": &ask.To, "group_by": &ask.GroupBy,
		"step": &ask.Step, "time_zone": &ask.TimeZone, "previous": &ask.Previous,
	}
	all := map[string]*string{
		"user_id": &ask.UserID, "key_id": &ask.KeyID, "team_id": &ask.TeamID, "model": &ask.Model, "provider": &ask.Provider,
	}
	for _, name := range filters {
		params[name] = all[name]
	}
	return ask, readQuery(raw, params)
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
	list := report.Show()
	if !wantsCSV(c.GetHeader("Accept")) {
		return writeJSON(c, http.StatusOK, list)
	}
	c.Header("Content-Type", "text/csv; charset=utf-8")
	c.Header("Content-Disposition", `attachment; filename="`+report.FileName()+`"`)
	return writeText(c, http.StatusOK, report.CSV(&list))
}

// wantsCSV says whether a client names CSV as a type that it accepts.
func wantsCSV(accept string) bool {
	for part := range strings.SplitSeq(accept, ",") {
		name, _, err := mime.ParseMediaType(part)
		if err == nil && name == "text/csv" {
			return true
		}
	}
	return false
}
