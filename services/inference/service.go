// Package inference serves one call: it lets it in, has it answered, and books
// what it used.
package inference

import (
	"log/slog"
	"time"

	"modelgateway/models/catalog"
	"modelgateway/models/llm"
	"modelgateway/services/auth"
	"modelgateway/services/budget"
	"modelgateway/services/ledger"
	"modelgateway/services/metrics"
	"modelgateway/services/ratelimit"
	"modelgateway/services/routing"
	"modelgateway/services/tokens"
	"modelgateway/services/tracing"
)

// Simulated is the system fingerprint of every answer that a simulator gave.
const Simulated = "simulated"

// Service answers chat completion requests: it lets them in, has them
// answered, and books what they used.
type Service struct {
	Router    *routing.Router
	Simulated bool // the upstreams are simulators: say so in every answer
	Metrics   *metrics.Metrics
	Tracer    *tracing.Tracer // nil traces nothing
	Log       *slog.Logger
	Now       func() time.Time

	Ledger       *ledger.Writer // nil keeps nothing
	Budgets      *budget.Service
	Quotas       *ratelimit.Quotas
	Budget       *budget.Budget // of all calls together; nil = any amount
	DefaultPrice catalog.Price  // of models without one

	estimator tokens.Estimator
}

// Ask is one request with what its headers say.
type Ask struct {
	Request    *llm.Request
	Caller     auth.Caller
	RequestID  string
	Began      time.Time     // when the request came
	Reading    time.Duration // what its client took to send the body
	Strict     bool          // refuse what cannot be honoured, rather than name it
	NoFallback bool          // no other model is to answer
}
