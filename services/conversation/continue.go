package conversation

import (
	"context"

	"modelgateway/api"
	"modelgateway/llm"
	"modelgateway/models"
	"modelgateway/services/auth"
	"modelgateway/services/inference"
	"modelgateway/services/pool"
	"modelgateway/services/routing"
)

// Service connects the requests of callers with what is kept for them.
type Service struct {
	Handles       *Handles       // names of the responses that providers keep; nil: there are none
	Conversations *Conversations // that the gateway keeps itself; nil: it keeps none
	Router        func() *routing.Router
}

// anonymous owns the responses of callers without a credential, who are one caller: the
// gateway knows nothing by which it could tell them apart.
const anonymous = "anonymous"

// owner is who may use the responses of a caller again: the user, logged in, and with keys of
// the same team, or of none, as that which the response was made with: others of a team may hold
// keys that their members have there. Of a key that belongs to a team alone it is that key: a
// team has several, for programs that know nothing of each other.
func owner(c *auth.Caller) models.KeptFor {
	switch {
	case c.UserID != "":
		return models.KeptFor{Owner: models.UserAccount(c.UserID), TeamID: c.TeamID, All: c.KeyID == ""}
	case c.KeyID != "":
		return models.KeptFor{Owner: models.KeyAccount(c.KeyID)}
	}
	return models.KeptFor{Owner: anonymous}
}

// Continue gives a request of a dialect the names of what providers keep for its caller, finds
// what it goes on from, and has its answer kept for later requests, where both the client and
// the gateway want that. d is nil for a dialect whose conversations only providers keep.
func (s *Service) Continue(ctx context.Context, d *api.Keeping, input *inference.Input) {
	req := input.Request
	earlier := req.Earlier
	if earlier == nil {
		return
	}
	owner := owner(&input.Caller)
	if s.Handles.Ready() {
		req.Handle = func(provider, key, id string) string {
			return s.Handles.Make(owner, provider, pool.Fingerprint(key), id)
		}
	}
	if d == nil { // the provider knows whether other names are allowed
		req.Kept, req.Compared = s.named(owner, earlier.Previous), s.named(owner, earlier.Compared)
		return
	}
	asked := input.Asked
	if asked == nil {
		asked = req
	}
	req.Keep = s.Conversations.On() && earlier.Keeps && s.Conversations.Fits(len(asked.Raw)) && !s.keptByProvider(req.Model)
	if req.Keep {
		requestID := input.RequestID
		input.Keep = func(answer []byte) {
			if turn, ok := d.Turn(asked, answer); ok {
				s.Conversations.Keep(context.WithoutCancel(ctx), owner, requestID, &turn)
			}
		}
	}
	if earlier.Previous == "" {
		return
	}
	if req.Kept = s.named(owner, earlier.Previous); req.Kept == nil {
		input.Unknown = s.previousNotFound(req.Model)
	}
}

// named is what a provider keeps under a name for its owner; nil = nothing.
func (s *Service) named(owner models.KeptFor, name string) *llm.Kept {
	kept, ok := s.Handles.Read(owner, name, s.Router().Upstreams.Keys())
	if !ok {
		return nil
	}
	return &kept
}

// previousNotFound is the error of a response that cannot be gone on from. It depends on the
// model only.
func (s *Service) previousNotFound(name string) error {
	if s.Conversations.On() || s.keptByProvider(name) {
		return api.PreviousNotFound(api.ResendAll)
	}
	return api.PreviousNotFound("the model " + api.Quoted(name) + " keeps nothing, and the gateway keeps no conversations " +
		"(RESPONSES_STORE_HOURS is 0): send the whole conversation as input; with store:false your SDK does so. " +
		"An operator can have it keep them: ENCRYPTION_KEY, and RESPONSES_STORE_HOURS for how long")
}
