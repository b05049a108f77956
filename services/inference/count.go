package inference

import (
	"context"

	"modelgateway/llm"
	"modelgateway/services/routing"
)

// Counted is the size of a prompt.
type Counted struct {
	Tokens int64
	Exact  bool // its provider has counted it; else it is an estimate
	Route  routing.Route
	Raw    []byte // the provider's answer in the client's dialect; nil = none
}

// Count is the number of tokens of a request's prompt: its provider's own count, or an
// estimate where the provider does not answer in time, cannot count or is not configured.
// It costs nothing and is booked nowhere. It fails for a model that does not exist or that
// the caller may not use, and where the provider says that the prompt is at fault; with an
// error only the Route is filled.
func (s *Service) Count(ctx context.Context, input Input) (Counted, error) {
	router := s.Router()
	requested := router.Models.Meant(input.Request.Model)
	input.Request.Model = requested
	model, err := router.Models.Resolve(requested)
	if err != nil {
		return Counted{}, err
	}
	if level := routing.Refusing(input.Caller.Levels, requested, model); level != nil {
		return Counted{}, modelNotAllowed(level, requested)
	}
	if input.Unknown != nil {
		return Counted{}, input.Unknown
	}
	by, err := router.Count(ctx, routing.Input{Request: input.Request, Levels: input.Caller.Levels}, model)
	counted := Counted{Route: by.Route}
	switch {
	case err != nil:
		return counted, err
	case ctx.Err() != nil:
		return counted, context.Cause(ctx)
	case by.Count != nil:
		counted.Tokens, counted.Exact = by.Tokens, true
		if by.Dialect == input.Request.Source.Dialect() {
			counted.Raw = by.Raw
		}
		return counted, nil
	}
	if by.Failure != nil {
		s.Log.Debug("a provider has not counted a prompt: it is estimated", "request_id", input.RequestID,
			"provider", by.Route.Provider, "error", by.Failure)
	}
	of := vocabulary(router, by.Model)
	counted.Tokens, err = s.estimator.AtLeast(input.Request, of == llm.TokensClaude)
	if err == nil && of == llm.TokensOpenAI {
		counted.Tokens, err = s.estimator.ForOpenAI(input.Request, len(by.Model.Traits.Thinking) > 0)
	}
	if err != nil {
		s.Log.Error("estimating tokens failed", "request_id", input.RequestID, "error", err)
	}
	return counted, nil
}
