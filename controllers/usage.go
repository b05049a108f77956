package controllers

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
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
		"provider": &ask.Provider, "agent": &ask.Agent, "project": &ask.Project,
	})
	if err != nil {
		return err
	}
	report, err := h.report(c, ask)
	if err != nil {
		return err
	}
	list := report.Show()
	switch as := fileType(c); as {
	case api.CSV:
		startFile(c, as, report.FileName())
		return writeText(c, http.StatusOK, report.CSV(&list))
	case api.JSONLines:
		return sendFile(c, as, report.FileName(), func(string) ([]api.UsageRow, string, error) { return list.Data, "", nil })
	}
	return writeJSON(c, http.StatusOK, list)
}

// Statement answers GET /admin/statement with what was spent in a month.
func (h *Usage) Statement(c *gin.Context) error {
	var month, zone string
	if err := readQuery(c, map[string]*string{"month": &month, "time_zone": &zone}); err != nil {
		return err
	}
	s, err := h.Service.Statement(c.Request.Context(), month, zone)
	if err != nil {
		return err
	}
	name := "statement-" + s.Month
	switch as := fileType(c); as {
	case api.CSV:
		return sendFile(c, as, name, func(string) ([]api.StatementCells, string, error) { return ledger.StatementCells(s.Lines), "", nil })
	case api.JSONLines:
		return sendFile(c, as, name, func(string) ([]api.StatementLine, string, error) { return s.Lines, "", nil })
	}
	return writeJSON(c, http.StatusOK, s)
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
