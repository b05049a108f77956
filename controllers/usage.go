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

// Show answers GET /v1/usage, GET /admin/usage and that of a team with the calls of the scope.
func (h *Usage) Show(c *gin.Context) error {
	var ask ledger.UsageRequest
	err := readQuery(c, map[string]*string{
		"from": &ask.From, "to": &ask.To, "group_by": &ask.GroupBy, "step": &ask.Step, "time_zone": &ask.TimeZone,
		"previous": &ask.Previous, "user_id": &ask.UserID, "key_id": &ask.KeyID, "team_id": &ask.TeamID, "model": &ask.Model,
		"provider": &ask.Provider,
	})
	if err != nil {
		return err
	}
	report, err := h.report(c, ask)
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

func (h *Usage) report(c *gin.Context, ask ledger.UsageRequest) (*ledger.UsageReport, error) {
	ctx, request := c.Request.Context(), middleware.RequestOf(c)
	switch request.Scope {
	case middleware.All:
		return h.Service.All(ctx, ask)
	case middleware.Team:
		by := actor(c)
		if err := h.Admin.CheckTeam(ctx, by); err != nil {
			return nil, err
		}
		return h.Service.Team(ctx, by.Team, ask)
	}
	return h.Service.Own(ctx, request.Caller.UserID, request.Caller.KeyID, ask)
}

// clip shortens a name that a client has sent.
func clip(name string) string {
	const longest = 50
	return string([]rune(name)[:min(len([]rune(name)), longest)])
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
