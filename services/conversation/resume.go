package conversation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"modelgateway/api"
	"modelgateway/llm"
	"modelgateway/services/inference"
)

// Resume is the body of a request with the conversation that the gateway keeps for its caller
// and that the request goes on from, or refers to; nil where there is none. Its error is for
// the client. What OpenAI keeps stays in the request.
func (s *Service) Resume(ctx context.Context, d *api.Keeping, input *inference.Input) ([]byte, error) {
	req := input.Request
	if req.Earlier == nil || !s.Conversations.On() || s.keptByProvider(req.Model) {
		return nil, nil
	}
	owner, previous, refers := owner(&input.Caller), req.Earlier.Previous, d.Refers(req)
	var earlier []llm.Turn
	if previous != "" {
		if _, ok := s.Handles.Read(owner, previous, s.Router().Upstreams.Keys()); ok {
			return nil, nil // a provider keeps it
		}
		var err error
		if earlier, err = s.Conversations.Until(ctx, owner, previous); err != nil {
			return nil, unreadable(err)
		}
		for i := range earlier {
			refers = append(refers, d.TurnRefers(&earlier[i])...)
		}
	}
	if previous == "" && len(refers) == 0 {
		return nil, nil
	}
	slices.Sort(refers)
	referred, err := s.Conversations.WithItems(ctx, owner, slices.Compact(refers))
	if err != nil {
		return nil, unreadable(err)
	}
	return d.Resume(req, earlier, referred)
}

// keptByProvider says whether the provider of a model keeps its own responses.
func (s *Service) keptByProvider(name string) bool {
	router := s.Router()
	model, err := router.Models.Resolve(name)
	if err != nil {
		return false
	}
	u := router.Upstreams[model.Provider]
	return u != nil && u.Speaks(llm.Responses, model)
}

// unreadable is the error of a conversation that is not kept, or of a database that does not
// answer.
func unreadable(err error) error {
	if errors.Is(err, ErrUnknown) {
		return api.PreviousNotFound(api.ResendAll)
	}
	return api.Unavailable(fmt.Errorf("read a conversation: %w", err))
}
