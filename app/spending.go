package app

import (
	"context"
	"sync"
	"time"

	"modelgateway/catalog"
	"modelgateway/config"
	"modelgateway/controllers"
	"modelgateway/models"
	"modelgateway/services/budget"
	"modelgateway/services/ledger"
	"modelgateway/services/metrics"
	"modelgateway/services/ratelimit"
)

// spending adds the ledger, the budgets and the quotas.
func (g *gateway) spending(cfg config.Spend, of *derived) {
	g.budgets = budget.New(budget.Options{Store: g.store, Log: g.log, Now: time.Now})
	const day = 24 * time.Hour
	g.ledger = ledger.NewWriter(ledger.Options{
		Store: g.store, Replica: g.budgets.Replica(), Retention: time.Duration(cfg.RetentionDays) * day,
		Log: g.log, Now: time.Now, Written: g.budgets.Written,
	})
	g.refusals = ledger.NewRefusals(g.store, g.log, time.Now)
	watch := budget.WatchOptions{
		Store: g.store, UserDefaults: of.userLimits, Log: g.log, Now: time.Now,
		Booked: func() int64 { return g.ledger.Stats().Written },
	}
	if g.alerts = g.newAlerts(); g.alerts.On() {
		watch.Reached = g.alerts.Reached
	}
	g.budgetWatch = budget.NewWatch(watch)
	g.quotas = ratelimit.NewQuotas(ratelimit.QuotaOptions{Redis: g.cache, Log: g.log, Now: time.Now})
	calls := g.calls
	calls.Ledger, calls.Budgets, calls.Quotas = g.ledger, g.budgets, g.quotas
	if cfg.MaxBudget >= 0 {
		calls.Budget = &budget.Budget{
			Account: models.GatewayAccount, Window: models.Window(cfg.BudgetWindow), Limit: cfg.MaxBudget, Name: "the gateway",
		}
	}
	calls.ReserveMost = models.Reserve(cfg.BudgetReserve) == models.ReserveWorst
	if p := cfg.DefaultPrice; p != nil {
		calls.DefaultPrice = catalog.Price{Known: true, Rates: catalog.Rates{catalog.InputTokens: p.Input, catalog.OutputTokens: p.Output}}
	}
}

// startSpending runs the parts that spending added until ctx ends. The budgets end
// last, because the ledger's last rows still change them.
func (g *gateway) startSpending(ctx context.Context, background *sync.WaitGroup) {
	written, done := context.WithCancel(context.WithoutCancel(ctx))
	background.Go(func() {
		defer done()
		g.ledger.Run(ctx)
	})
	background.Go(func() { g.budgets.Run(written) })
	background.Go(func() { g.refusals.Run(ctx) })
	background.Go(func() { g.quotas.Run(ctx) })
	background.Go(func() { g.budgetWatch.Run(ctx) })
	if g.alerts.On() {
		background.Go(func() { g.alerts.Run(ctx) })
		background.Go(func() { g.alerts.Watch(ctx) })
	}
}

// registerMetrics registers the metrics that read the state of the parts.
func (g *gateway) registerMetrics(cfg config.Config, chat *controllers.Generate, limits map[string]*ratelimit.Requests) {
	calls := func() float64 { n, _ := chat.Concurrency.InUse(); return float64(n) }
	bytes := func() float64 { _, n := chat.Concurrency.InUse(); return float64(n) }
	fixed := func(n float64) func() float64 { return func() float64 { return n } }
	stat := func(read func(ledger.Stats) int64) func() float64 {
		return func() float64 { return float64(read(g.ledger.Stats())) }
	}
	parts := metrics.Sources{
		Version:     Version(),
		ProviderUp:  func() map[string]float64 { return g.calls.Router().Upstreams.Up() },
		CircuitOpen: func() map[string]float64 { return g.calls.Router().Upstreams.CircuitsOpen() },
		DatabaseUp:  g.health.DatabaseUp, CacheUp: g.health.CacheUp,
		CallsInFlight: calls, CallsLimit: fixed(float64(cfg.MaxInFlight)),
		BodyBytes: bytes, BodyLimit: fixed(float64(bodyLimit(cfg))),
		LedgerQueue:    stat(func(s ledger.Stats) int64 { return int64(s.Queued) }),
		LedgerWritten:  stat(func(s ledger.Stats) int64 { return s.Written }),
		LedgerDropped:  stat(func(s ledger.Stats) int64 { return s.Dropped }),
		LedgerFailures: stat(func(s ledger.Stats) int64 { return s.Failures }),
		KeyCache:       func() float64 { return float64(g.keys.CacheSize()) },
		LogDropped:     g.logDropped,

		BudgetHolds:      func() float64 { return dollars(g.budgets.Stats().Held) },
		BudgetOverdrafts: func() float64 { return float64(g.budgets.Stats().Overdrawn) },

		BudgetsNearlySpent: g.budgetWatch.NearlySpent, BudgetsSpent: g.budgetWatch.Spent,
	}
	if g.cache != nil {
		parts.LimitShared = func() map[string]float64 { return g.shared(limits) }
	}
	if all := chat.Service.Budget; all != nil {
		parts.BudgetLimit = fixed(dollars(all.Limit))
		parts.BudgetLeft = func() float64 { return dollars(g.budgets.Left(*all)) }
	}
	g.metrics.Register(parts)
	g.metrics.CounterFunc("responses_lost_total", "Answers that should have been kept and were not, so that no request can go on from them.",
		func() float64 { return float64(g.kept.Conversations.Lost()) })
	g.metrics.CounterFunc("call_contents_lost_total", "Calls whose request and answer should have been kept by LOG_PROMPTS and were not.",
		func() float64 { return float64(g.prompts.Lost()) })
	if g.alerts.On() {
		g.alertMetrics()
	}
	if g.tracer != nil {
		g.metrics.CounterFunc("trace_spans_lost_total", "Spans that did not fit the queue, or that the collector did not accept.",
			func() float64 { return float64(g.tracer.Lost()) })
	}
}

func dollars(micro int64) float64 { return float64(micro) / 1e6 }

// shared is 1 for each limit that all replicas count together, else 0.
func (g *gateway) shared(limits map[string]*ratelimit.Requests) map[string]float64 {
	all := map[string]float64{"quotas": number(g.quotas.Shared())}
	for name, l := range limits {
		all[name] = number(l.Shared())
	}
	return all
}

func number(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
