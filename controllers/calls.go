package controllers

import (
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
	"modelgateway/middleware"
	"modelgateway/services/admin"
	"modelgateway/services/ledger"
)

// Calls serves the calls of the ledger.
type Calls struct {
	Service *ledger.Calls
	Admin   *admin.Service // authorizes managers
}

// ListOwn answers GET /v1/calls with the caller's own calls.
func (h *Calls) ListOwn(c *gin.Context) error {
	of, err := own(c)
	if err != nil {
		return err
	}
	return h.list(c, of, "key_id", "team_id")
}

// GetOwn answers GET /v1/calls/{id}.
func (h *Calls) GetOwn(c *gin.Context) error {
	of, err := own(c)
	if err != nil {
		return err
	}
	return h.get(c, of, c.Param("id"))
}

// ListAll answers GET /admin/calls with the calls of all callers.
func (h *Calls) ListAll(c *gin.Context) error {
	return h.list(c, ledger.CallsOf{}, "key_id", "team_id", "user_id")
}

// GetAny answers GET /admin/calls/{id}.
func (h *Calls) GetAny(c *gin.Context) error { return h.get(c, ledger.CallsOf{}, c.Param("id")) }

// ListTeams answers GET /auth/teams/{team_id}/calls with the calls of the team's keys.
func (h *Calls) ListTeams(c *gin.Context) error {
	of, err := h.team(c)
	if err != nil {
		return err
	}
	return h.list(c, of, "key_id", "user_id")
}

// GetTeams answers GET /auth/teams/{team_id}/calls/{id}.
func (h *Calls) GetTeams(c *gin.Context) error {
	of, err := h.team(c)
	if err != nil {
		return err
	}
	return h.get(c, of, c.Param("call"))
}

func own(c *gin.Context) (ledger.CallsOf, error) {
	caller := middleware.RequestOf(c).Caller
	return ledger.OwnCalls(caller.UserID, caller.KeyID)
}

// team is the team of the path, whose manager the user is.
func (h *Calls) team(c *gin.Context) (ledger.CallsOf, error) {
	by := manager(c)
	return ledger.CallsOf{TeamID: by.Team}, h.Admin.CheckTeam(c.Request.Context(), by)
}

func (h *Calls) list(c *gin.Context, of ledger.CallsOf, filters ...string) error {
	ask, err := callsQuery(c.Request.URL.RawQuery, filters...)
	if err != nil {
		return err
	}
	page, err := h.Service.List(c.Request.Context(), of, ask)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, page)
}

func (h *Calls) get(c *gin.Context, of ledger.CallsOf, id string) error {
	call, err := h.Service.Get(c.Request.Context(), of, id)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, call)
}

// callsQuery reads a query strictly: with a misspelt name the client would get other
// calls than it asked for. filters are those that not every list has.
func callsQuery(raw string, filters ...string) (ask ledger.CallsRequest, err error) {
	params := map[string]*string{
		"from": &ask.From, "to": &ask.To, "time_zone": &ask.TimeZone, "model": &ask.Model, "provider": &ask.Provider,
		"dialect": &ask.Dialect, "outcome": &ask.Outcome, "status": &ask.Status, "request_id": &ask.RequestID, "q": &ask.Search,
		"after": &ask.After, "limit": &ask.Limit,
	}
	all := map[string]*string{"user_id": &ask.UserID, "key_id": &ask.KeyID, "team_id": &ask.TeamID}
	for _, name := range filters {
		params[name] = all[name]
	}
	return ask, readQuery(raw, params)
}

// readQuery reads each parameter of a query, which must have one of these names, into its
// place.
func readQuery(raw string, params map[string]*string) error {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return api.Invalid(api.CodeInvalidValue, "", "the query of the address is not well-formed").WithCause(err)
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		into, values := params[name], query[name]
		switch {
		case into == nil:
			return api.Invalid(api.CodeInvalidValue, clip(name), "%s is not a query parameter of this path", api.Quoted(name))
		case len(values) > 1:
			return api.Invalid(api.CodeInvalidValue, name, "%s is given %d times", name, len(values))
		case values[0] == "":
			return api.Invalid(api.CodeInvalidValue, name, "%s is empty", name)
		}
		*into = values[0]
	}
	return nil
}
