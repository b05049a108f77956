package metrics

// Sources are functions that return values which other packages keep. What
// GaugeFunc says about read applies to all of them. A nil function has no
// metric.
type Sources struct {
	Version string

	ProviderUp  func() map[string]float64 // by provider: 1 healthy, 0.5 degraded, 0 unhealthy
	CircuitOpen func() map[string]float64 // by provider: the share of its keys
	DatabaseUp  func() float64            // 1 or 0
	CacheUp     func() float64

	CallsInFlight, CallsLimit func() float64
	BodyBytes, BodyLimit      func() float64

	LedgerQueue, LedgerWritten, LedgerDropped, LedgerFailures func() float64

	LimitShared func() map[string]float64 // by the name of the limit: 1 or 0; nil without Redis

	BudgetOverdrafts        func() float64
	BudgetHolds             func() float64            // US dollars, like the next two
	BudgetsNearlySpent      func() map[string]float64 // by kind: key, team, user
	BudgetsSpent            func() map[string]float64
	BudgetLimit, BudgetLeft func() float64 // of the whole gateway in the present window; nil without such a budget

	KeyCache   func() float64
	LogDropped func() float64
}

// Register adds the metrics of the sources. It is called once.
func (m *Metrics) Register(s Sources) {
	version := func() map[string]float64 { return map[string]float64{s.Version: 1} }
	m.GaugeVecFunc("build_info", "Always 1; the label is the version that is running.", "version", version)
	for _, f := range s.gaugeVecs() {
		if f.read != nil {
			m.GaugeVecFunc(f.name, f.help, f.label, f.read)
		}
	}
	for _, f := range s.gauges() {
		if f.read != nil {
			m.GaugeFunc(f.name, f.help, f.read)
		}
	}
	for _, f := range s.counters() {
		if f.read != nil {
			m.CounterFunc(f.name, f.help, f.read)
		}
	}
}

type source struct {
	name, help string
	read       func() float64
}

type sourceVec struct {
	name, label, help string
	read              func() map[string]float64
}

func (s Sources) gaugeVecs() []sourceVec {
	return []sourceVec{
		{"provider_up", "provider", "1 when the provider is healthy, 0.5 when it is degraded, 0 when it is unhealthy or not configured.",
			s.ProviderUp},
		{"circuit_open", "provider", "Share of the provider's keys whose circuit breaker is open, from 0 to 1.", s.CircuitOpen},
		{"limit_shared", "limit", "1 while the limit is counted in Redis for all replicas, 0 while each replica counts for itself.",
			s.LimitShared},
		{"budgets_nearly_spent", "kind", "Keys, users and teams that have spent 80 % of their budget or more in its present window, by kind, " +
			"as this replica last counted them.", s.BudgetsNearlySpent},
		{"budgets_spent", "kind", "Keys, users and teams that have spent all of their budget in its present window, by kind, " +
			"as this replica last counted them.", s.BudgetsSpent},
	}
}

func (s Sources) gauges() []source {
	return []source{
		{"database_up", "1 when the last check of the database succeeded, 0 when it failed.", s.DatabaseUp},
		{"cache_up", "1 when the last check of Redis succeeded, 0 when it failed; always 1 without Redis.", s.CacheUp},
		{"calls_in_flight", "Calls to models that are running now.", s.CallsInFlight},
		{"calls_in_flight_limit", "Most calls that may run at once (MAX_IN_FLIGHT).", s.CallsLimit},
		{"body_bytes_in_flight", "Bytes of request bodies in memory now.", s.BodyBytes},
		{"body_bytes_in_flight_limit", "Most bytes of request bodies that may be in memory at once.", s.BodyLimit},
		{"ledger_queue_rows", "Rows of the ledger that wait to be written.", s.LedgerQueue},
		{"budget_holds_usd", "Amount that this replica has reserved of all budgets, in US dollars: " +
			"for running calls, for calls that are not yet in the ledger, and for calls to come.", s.BudgetHolds},
		{"budget_limit_usd", "Budget of the whole gateway in each window (MAX_BUDGET_USD), in US dollars.", s.BudgetLimit},
		{"budget_left_usd", "Part of the whole gateway's budget that is neither spent nor reserved in the present window, " +
			"as this replica last read it, in US dollars.", s.BudgetLeft},
		{"key_cache_entries", "API keys in the cache of this replica.", s.KeyCache},
	}
}

func (s Sources) counters() []source {
	return []source{
		{"ledger_rows_written_total", "Rows of the ledger that were written to the database.", s.LedgerWritten},
		{"ledger_rows_dropped_total", "Rows of the ledger that were lost: calls that are missing from every bill.", s.LedgerDropped},
		{"ledger_write_failures_total", "Failed attempts to write a batch of rows; the batch is tried again.", s.LedgerFailures},
		{"budget_overdrafts_total", "Calls that cost more than the upper bound of their cost.", s.BudgetOverdrafts},
		{"log_lines_dropped_total", "Log lines that were dropped because the reader of the log was too slow.", s.LogDropped},
	}
}
