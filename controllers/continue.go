package controllers

import (
	"context"

	"modelgateway/api"
	"modelgateway/llm"
	"modelgateway/services/inference"
	"modelgateway/services/inflight"
)

// Continue prepares a request that may go on from an earlier answer. It replaces the Request
// of the input by one with the conversation before it, where the gateway keeps that. nil is
// for dialects without such requests.
type Continue func(ctx context.Context, slot *inflight.Slot, input *inference.Input) error

// Continuing makes a Continue for the requests of a dialect that decode reads, of at most
// maxBytes together with their conversation.
func Continuing(s *inference.Service, dialect api.Keeping, decode decoder, maxBytes int64) Continue {
	return func(ctx context.Context, slot *inflight.Slot, input *inference.Input) error {
		body, err := s.Resume(ctx, dialect, input)
		if err != nil {
			return err
		}
		if int64(len(body)) > maxBytes {
			return tooLarge(maxBytes)
		}
		if body != nil {
			if err := slot.Reserve(int64(len(body))); err != nil {
				return err
			}
			whole, err := decode(slot, body)
			if err != nil {
				return err
			}
			if source, ok := input.Request.Source.(llm.Continuing); ok {
				whole.Continues = source.Previous()
			}
			input.Asked, input.Request = input.Request, whole
		}
		s.Continue(ctx, dialect, input)
		return nil
	}
}

// Naming is a Continue for the requests of a dialect whose conversations only providers keep.
func Naming(s *inference.Service) Continue {
	return func(ctx context.Context, _ *inflight.Slot, input *inference.Input) error {
		s.Continue(ctx, nil, input)
		return nil
	}
}
