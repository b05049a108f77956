package controllers

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

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

// List answers GET /v1/calls, GET /admin/calls and that of a team with the calls of the scope.
func (h *Calls) List(c *gin.Context) error {
	of, err := callsOf(c, h.Admin)
	if err != nil {
		return err
	}
	var ask ledger.CallsRequest
	err = readQuery(c, map[string]*string{
		"from": &ask.From, "to": &ask.To, "time_zone": &ask.TimeZone, "model": &ask.Model, "provider": &ask.Provider,
		"dialect": &ask.Dialect, "outcome": &ask.Outcome, "status": &ask.Status, "request_id": &ask.RequestID, "q": &ask.Search,
		"after": &ask.After, "limit": &ask.Limit, "user_id": &ask.UserID, "key_id": &ask.KeyID, "team_id": &ask.TeamID,
		"agent": &ask.Agent, "project": &ask.Project, "session": &ask.Session,
		"cache_miss": &ask.CacheMiss,
	})
	if err != nil {
		return err
	}
	return answerCalls(c, "calls", &ask, func(ctx context.Context) (api.CursorPage[api.Call], error) {
		return h.Service.List(ctx, of, ask)
	})
}

// Refusals answers GET /v1/refusals, GET /admin/refusals and that of a team with the refused calls of the scope.
func (h *Calls) Refusals(c *gin.Context) error {
	of, err := callsOf(c, h.Admin)
	if err != nil {
		return err
	}
	var ask ledger.CallsRequest
	err = readQuery(c, map[string]*string{
		"from": &ask.From, "to": &ask.To, "time_zone": &ask.TimeZone, "model": &ask.Model, "reason": &ask.Reason,
		"request_id": &ask.RequestID, "q": &ask.Search, "after": &ask.After, "limit": &ask.Limit,
		"user_id": &ask.UserID, "key_id": &ask.KeyID, "team_id": &ask.TeamID,
	})
	if err != nil {
		return err
	}
	return answerCalls(c, "refusals", &ask, func(ctx context.Context) (api.CursorPage[api.Refusal], error) {
		return h.Service.Refusals(ctx, of, ask)
	})
}

// answerCalls answers with a page of a list, or with all of it where the client accepts a file.
func answerCalls[Row any](
	c *gin.Context, name string, ask *ledger.CallsRequest, list func(context.Context) (api.CursorPage[Row], error),
) error {
	ctx, as := c.Request.Context(), fileType(c)
	if as == "" {
		return answer(c, http.StatusOK)(list(ctx))
	}
	limited := ask.Limit != ""
	if !limited {
		ask.Limit = strconv.Itoa(ledger.LongestPage)
	}
	return sendFile(c, as, name, func(after string) ([]Row, string, error) {
		ask.After = cmp.Or(after, ask.After)
		page, err := list(ctx)
		if limited {
			page.NextAfter = ""
		}
		return page.Data, string(page.NextAfter), err
	})
}

// Get answers with one of the calls of List.
func (h *Calls) Get(c *gin.Context) error {
	of, err := callsOf(c, h.Admin)
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK)(h.Service.Get(c.Request.Context(), of, lastID(c)))
}

// Sessions answers GET /v1/sessions and GET /admin/sessions with the sessions that have calls of the scope.
func (h *Calls) Sessions(c *gin.Context) error {
	of, err := callsOf(c, h.Admin)
	if err != nil {
		return err
	}
	var ask ledger.CallsRequest
	err = readQuery(c, map[string]*string{
		"from": &ask.From, "to": &ask.To, "time_zone": &ask.TimeZone, "user_id": &ask.UserID, "key_id": &ask.KeyID,
		"agent": &ask.Agent, "project": &ask.Project, "after": &ask.After, "limit": &ask.Limit,
		"cache_miss": &ask.CacheMiss,
	})
	if err != nil {
		return err
	}
	return answerCalls(c, "sessions", &ask, func(ctx context.Context) (api.CursorPage[api.AgentSession], error) {
		return h.Service.Sessions(ctx, of, ask)
	})
}

// Session answers with one of the sessions of Sessions, and its agents.
func (h *Calls) Session(c *gin.Context) error {
	of, err := callsOf(c, h.Admin)
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK)(h.Service.Session(c.Request.Context(), of, lastID(c)))
}

// callsOf are the calls of a request's scope.
func callsOf(c *gin.Context, service *admin.Service) (ledger.CallsOf, error) {
	request := middleware.RequestOf(c)
	switch request.Scope {
	case middleware.All:
		return ledger.CallsOf{}, nil
	case middleware.Team:
		by := actor(c)
		return ledger.CallsOf{TeamID: by.Team}, service.CheckTeam(c.Request.Context(), by)
	}
	return ledger.OwnCalls(request.Caller.UserID, request.Caller.KeyID)
}

// readQuery reads each parameter of a query into its place. It reads strictly: with a misspelt
// name the client would get other rows than it asked for. What the scope of the route says
// already is no parameter of it.
func readQuery(c *gin.Context, params map[string]*string) error {
	switch middleware.RequestOf(c).Scope {
	case middleware.Own:
		delete(params, "user_id")
	case middleware.Team:
		delete(params, "team_id")
	}
	query, err := url.ParseQuery(c.Request.URL.RawQuery)
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
