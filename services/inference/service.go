// Package inference serves one call: it admits it, has it answered, and meters it.
package inference

import (
	"log/slog"
	"time"

	"modelgateway/models/catalog"
	"modelgateway/models/llm"
	"modelgateway/providers"
	"modelgateway/services/auth"
	"modelgateway/services/budget"
	"modelgateway/services/ledger"
	"modelgateway/services/metrics"
	"modelgateway/services/ratelimit"
	"modelgateway/services/routing"
	"modelgateway/services/tokens"
	"modelgateway/services/tracing"
)

// Simulated is the system fingerprint of every answer of a simulator.
const Simulated = "simulated"

// Service admits requests, has them answered, and books their usage.
type Service struct {
	Router    *routing.Router
	Images    map[string]providers.Images // token bounds of pictures, by provider
	Simulated bool                        // the upstreams are simulators, and every answer says so
	Metrics   *metrics.Metrics
	Tracer    *tracing.Tracer // nil = no tracing
	Log       *slog.Logger
	Now       func() time.Time

	Ledger       *ledger.Writer // nil = no ledger
	Budgets      *budget.Service
	Quotas       *ratelimit.Quotas
	Budget       *budget.Budget // of all calls together; nil = unlimited
	DefaultPrice catalog.Price  // of models without one

	estimator tokens.Estimator
}

// Input is one request with the options of its headers.
type Input struct {
	Request    *llm.Request
	Caller     auth.Caller
	RequestID  string
	Began      time.Time     // when the request came
	BodyTime   time.Duration // time that the client took to send the body
	Strict     bool          // refuse a request with fields that the provider cannot honour
	NoFallback bool          // no other model may answer
}
