package routing

import (
	"context"
	"errors"
	"time"

	"modelgateway/services/pool"
)

// Try is one request to a provider.
type Try struct {
	Provider  string
	Model     string // the catalogue's id
	Key       string // the last four characters of the provider's key
	Began     time.Time
	Took      time.Duration // until the first event of a stream or the whole answer came, or until it failed
	Err       error         // nil: it answered
	Abandoned bool          // its client left, or another request was quicker
}

// tried records a request that has ended, or whose answer has begun. late: another one has
// answered before.
func (p *Plan) tried(c *Candidate, l *pool.Lease, err error, late bool) {
	abandoned := late || errors.Is(err, context.Canceled) && pool.Canceled(err)
	p.Tries = append(p.Tries, Try{
		Provider: c.Model.Provider, Model: c.Model.ID, Key: l.Key.Ending(), Began: l.Sent, Took: l.Took, Err: err, Abandoned: abandoned,
	})
}
