package inference

import (
	"context"

	"modelgateway/models"
	"modelgateway/models/api"
	"modelgateway/models/llm"
	"modelgateway/services/auth"
	"modelgateway/services/pool"
)

// anonymous owns the responses of callers without a credential, who are one caller: the
// gateway knows nothing by which it could tell them apart.
const anonymous = "anonymous"

// owner is who may use the responses of a caller again: the user, with any of their keys
// and tokens. Of a key that belongs to a team alone it is that key: a team has several, for
// programs that know nothing of each other.
func owner(c *auth.Caller) string {
	switch {
	case c.UserID != "":
		return models.UserAccount(c.UserID)
	case c.KeyID != "":
		return models.KeyAccount(c.KeyID)
	}
	return anonymous
}

// Continue gives a request of a dialect the names of what providers keep for its caller, finds
// what it goes on from, and has its answer kept for later requests, where both the client and
// the gateway want that.
func (s *Service) Continue(ctx context.Context, d api.Keeping, input *Input) {
	req := input.Request
	source, ok := req.Source.(llm.Continuing)
	if !ok {
		return
	}
	owner, previous := owner(&input.Caller), source.Previous()
	if s.Handles.Ready() {
		req.Handle = func(provider, key, id string) string {
			return s.Handles.Make(owner, provider, pool.Fingerprint(key), id)
		}
	}
	asked := input.Asked
	if asked == nil {
		asked = req
	}
	req.Keep = s.Conversations.On() && source.Keeps() && s.Conversations.Fits(len(asked.Raw)) && !s.keptByProvider(req.Model)
	if req.Keep {
		requestID := input.RequestID
		input.Keep = func(answer []byte) {
			if turn, ok := d.Turn(asked, answer); ok {
				s.Conversations.Keep(context.WithoutCancel(ctx), owner, requestID, &turn)
			}
		}
	}
	if previous == "" {
		return
	}
	kept, ok := s.Handles.Read(owner, previous, s.Router().Upstreams.Keys())
	if !ok {
		input.Unknown = s.previousNotFound(req.Model)
		return
	}
	req.Kept = &kept
}

// previousNotFound is the error of a response that cannot be gone on from. It depends on the
// model only.
func (s *Service) previousNotFound(name string) error {
	if s.Conversations.On() || s.keptByProvider(name) {
		return api.PreviousNotFound(api.ResendAll)
	}
	return api.PreviousNotFound("the model " + api.Quoted(name) + " keeps nothing, and the gateway keeps no conversations " +
		"(RESPONSES_STORE_HOURS is 0): send the whole conversation as input; with store:false your SDK does so")
}
