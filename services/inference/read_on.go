package inference

import (
	"context"

	"modelgateway/llm"
	"modelgateway/services/routing"
	"modelgateway/services/tokens"
)

// readOnBytes is how much of a stream is read after its client has left.
const readOnBytes = 1 << 20

// outlasts says whether the rest of a candidate's answer is read after the client has
// left. Of a model that reasons only the usage tells what it has written; of another
// one the text does, and the usage only where that is all that is missing.
func (c *Call) outlasts(by *routing.Candidate) bool {
	return tokens.Reasons(c.input.Request, by.Model.Traits) || c.unbilled.Load()
}

// finishing says whether the stream's provider has sent its end, but not its usage.
func (c *Call) finishing() bool {
	finishing, ok := c.counter.(llm.Finishing)
	return ok && !c.usage.Counts() && finishing.Finishing()
}

// readOn is the stream, which after its client has left is read for its usage.
func readOn(ctx context.Context, got *routing.Result, stream llm.Stream) llm.Stream {
	return func(yield func(*llm.Event, error) bool) {
		left, size := false, 0
		for event, err := range stream {
			if err != nil {
				if !left {
					yield(nil, err)
				}
				return
			}
			if !left && ctx.Err() == nil {
				if yield(event, nil) {
					continue
				}
				if !got.Leave() {
					return
				}
				left = true
			}
			if size += eventSize(event); size > readOnBytes {
				break
			}
		}
		if !left && ctx.Err() != nil {
			yield(nil, context.Cause(ctx))
		}
	}
}

// eventSize is about the bytes of an event in the upstream's stream.
func eventSize(e *llm.Event) int {
	const frame = 64
	if e == nil {
		return 0
	}
	size := frame + len(e.Text) + len(e.Raw)
	if e.Call != nil {
		size += len(e.Call.Arguments)
	}
	return size
}
