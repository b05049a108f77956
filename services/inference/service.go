// Package inference serves one call: it admits it, has it answered, and meters it.
package inference

import (
	"log/slog"
	"sync/atomic"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/services/auth"
	"modelgateway/services/budget"
	"modelgateway/services/history"
	"modelgateway/services/ledger"
	"modelgateway/services/metrics"
	"modelgateway/services/origin"
	"modelgateway/services/promptcache"
	"modelgateway/services/ratelimit"
	"modelgateway/services/routing"
	"modelgateway/services/tokens"
	"modelgateway/services/tracing"
)

// Simulated is the system fingerprint of every answer of a simulator.
const Simulated = "simulated"

// Service admits requests, has them answered, and books their usage.
type Service struct {
	Simulated bool // the upstreams are simulators, and every answer says so
	Metrics   *metrics.Metrics
	Tracer    *tracing.Tracer // nil = no tracing
	Log       *slog.Logger
	Now       func() time.Time
	Answer    Answer // of Answered

	Ledger       *ledger.Writer // nil = no ledger
	Budgets      *budget.Service
	Quotas       *ratelimit.Quotas
	Budget       *budget.Budget       // of all calls together; nil = unlimited
	DefaultPrice catalog.Price        // of models without one
	ReserveMost  bool                 // the most that calls can cost is reserved, not what they are expected to cost
	History      history.History      // from which follows what calls are expected to cost
	Corrections  tokens.Corrections   // of estimates
	PromptCache  *promptcache.Service // nil = prompts of sessions are not followed

	estimator tokens.Estimator
	router    atomic.Pointer[routing.Router]
}

// Router routes new calls.
func (s *Service) Router() *routing.Router { return s.router.Load() }

// Use sets the router of new calls, also while calls are running: they keep the one that
// they began with.
func (s *Service) Use(r *routing.Router) { s.router.Store(r) }

// NewID makes the id of a call that begins at a time; empty without a ledger.
func (s *Service) NewID(at time.Time) string {
	if s.Ledger == nil {
		return ""
	}
	return s.Ledger.NewCallID(at)
}

// Input is one request with the options of its headers.
type Input struct {
	Request    *llm.Request
	Asked      *llm.Request // as the client sent it, where Request has the conversation before it; nil = Request
	Caller     auth.Caller
	ID         string // of the call: see NewID
	RequestID  string
	UserAgent  string               // of the client
	Origin     origin.Origin        // of the call
	Ignored    []string             // fields of the request that are left out before a provider sees it
	Began      time.Time            // when the request came
	BodyTime   time.Duration        // time that the client took to send the body
	Strict     bool                 // refuse a request with fields that the provider does not support
	NoFallback bool                 // no other model may answer
	Fallbacks  []string             // the client's own fallbacks, at most a few; nil: the gateway's
	Status     func(*api.Error) int // of the client's dialect; nil: the status of an error is its own

	// Unknown is the error of a request that goes on from a response that cannot be found.
	// The client gets it where it may call the model; nil = none.
	Unknown error
	// Keep stores the whole answer, in the JSON of the client's dialect, for later requests;
	// nil: it is not stored. It returns when that is done or has failed.
	Keep func(answer []byte)
}
