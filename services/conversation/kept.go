package conversation

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/providers"
	"modelgateway/services/auth"
	"modelgateway/services/pool"
	"modelgateway/services/routing"
)

// KeptAsk is a caller's request about a response that was kept.
type KeptAsk struct {
	Caller auth.Caller
	Method string // GET, DELETE or POST
	ID     string // as the client knows it
	Part   string // of the path after the id, as in /input_items; empty = the response itself

	Keeping *api.Keeping // which answers where the gateway keeps the response
	Query   url.Values
}

// Kept answers a request about a response in the JSON of the Responses API. It costs nothing
// and is booked nowhere. A response that is unknown, another caller's or not kept any more
// is api.ResponseNotFound, all alike.
func (s *Service) Kept(ctx context.Context, ask KeptAsk) ([]byte, routing.Route, error) {
	owner, upstreams := owner(&ask.Caller), s.Router().Upstreams
	kept, ok := s.Handles.Read(owner, ask.ID, upstreams.Keys())
	if !ok {
		answer, err := s.ofConversation(ctx, owner, &ask)
		return answer, routing.Route{}, err
	}
	route := routing.Route{Provider: kept.Provider}
	answer, requestID, err := upstreams[kept.Provider].Kept(ctx, providers.KeptAsk{
		Method: ask.Method, ID: kept.ID, Part: ask.Part, Query: ask.Query.Encode(),
		Name: func(id string) string {
			if id == kept.ID {
				return ask.ID // its handle may be of another team, or of before there were teams
			}
			return s.Handles.Make(owner, kept.Provider, kept.Key, id)
		},
	}, kept.Key)
	route.RequestID = requestID
	return answer, route, unkept(err)
}

// ofConversation answers a request about a response that the gateway keeps.
func (s *Service) ofConversation(ctx context.Context, owner models.KeptFor, ask *KeptAsk) ([]byte, error) {
	if ask.Method == http.MethodDelete {
		if err := s.Conversations.Erase(ctx, owner, ask.ID); err != nil {
			return nil, notThere(err)
		}
		return ask.Keeping.AppendDeleted(nil, ask.ID), nil
	}
	turn, err := s.Conversations.Turn(ctx, owner, ask.ID)
	switch {
	case err != nil:
		return nil, notThere(err)
	case ask.Method == http.MethodPost:
		return nil, api.Invalid(api.CodeUnsupportedValue, "", "only a response that is made in the background can be cancelled")
	case ask.Part != "":
		return ask.Keeping.AppendInput(nil, turn, ask.Query)
	}
	return turn.Answer, nil
}

// notThere is the error of a response that the gateway does not keep, or cannot read now.
func notThere(err error) error {
	if errors.Is(err, ErrUnknown) {
		return api.ResponseNotFound()
	}
	return api.Unavailable(fmt.Errorf("read a response: %w", err))
}

// unkept is an error of a provider. What it does not find is not kept any more.
func unkept(err error) error {
	r, ok := errors.AsType[*providers.Refusal](err)
	if errors.Is(err, pool.ErrNoKey) || ok && r.Status == http.StatusNotFound {
		return api.ResponseNotFound()
	}
	return err
}
