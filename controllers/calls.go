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
	})
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK)(h.Service.List(c.Request.Context(), of, ask))
}

// Get answers with one of the calls of List.
func (h *Calls) Get(c *gin.Context) error {
	of, err := callsOf(c, h.Admin)
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK)(h.Service.Get(c.Request.Context(), of, lastID(c)))
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
