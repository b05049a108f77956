package app

import (
	"context"
	"time"
)

// loadHandles reads the secret of the ids of responses. Without it the gateway makes ids that
// cannot be used again, and accepts none.
func (g *gateway) loadHandles(ctx context.Context) {
	if err := g.kept.Handles.Load(ctx); err != nil && ctx.Err() == nil {
		g.log.Error("the secret of the ids of responses cannot be read: previous_response_id and GET /v1/responses/{id} are refused",
			"error", err)
	}
}

// awaitHandles tries until the secret has been read.
func (g *gateway) awaitHandles(ctx context.Context) {
	const every = time.Minute
	for !g.kept.Handles.Ready() {
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
			g.loadHandles(ctx)
		}
	}
}
