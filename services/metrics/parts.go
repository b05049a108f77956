package metrics

// Parts are where the figures come from that the gateway's parts keep
// themselves. A part that is nil is not there, and neither is its figure. What
// Watch says of reading them holds here as well.
type Parts struct {
	Version string

	ProviderUp  func() map[string]float64 // by provider: 1 healthy, 0.5 degraded, 0 unhealthy
	CircuitOpen func() map[string]float64 // by provider: the share of its keys
	DatabaseUp  func() float64            // 1 or 0
	CacheUp     func() float64

	CallsInFlight, CallsLimit func() float64
	BodyBytes, BodyLimit      func() float64

	LedgerQueue, LedgerWritten, LedgerDropped, LedgerFailures func() float64

	LimitShared func() map[string]float64 // by the limit's name: 1 or 0; nil without Redis

	BudgetOverdrafts        func() float64
	BudgetHolds             func() float64 // dollars, like the next two
	BudgetLimit, BudgetLeft func() float64 // of the gateway, in its present window; nil without such a budget

	KeyCache   func() float64
	LogDropped func() float64
}

// WatchParts adds the figures of the parts. It is called once.
func (m *Metrics) WatchParts(p Parts) {
	version := func() map[string]float64 { return map[string]float64{p.Version: 1} }
	m.WatchEach("build_info", "1, of the version that runs.", "version", version)
	for _, f := range []struct {
		name, help, label string
		read              func() map[string]float64
	}{
		{"provider_up", "1 when the provider is healthy, 0.5 when it is degraded, 0 when it is unhealthy or not configured.", "provider", p.ProviderUp},
		{"circuit_open", "The share of the provider's keys that are not used because calls with them failed, from 0 to 1.", "provider", p.CircuitOpen},
		{"limit_shared", "1 while the limit is counted in Redis for all replicas, 0 while each counts for itself.", "limit", p.LimitShared},
	} {
		if f.read != nil {
			m.WatchEach(f.name, f.help, f.label, f.read)
		}
	}
	for _, f := range p.gauges() {
		if f.read != nil {
			m.Watch(f.name, f.help, f.read)
		}
	}
	for _, f := range p.counters() {
		if f.read != nil {
			m.WatchCounter(f.name, f.help, f.read)
		}
	}
}

type part struct {
	name, help string
	read       func() float64
}

func (p Parts) gauges() []part {
	return []part{
		{"database_up", "1 when the database answered when it was last asked, 0 when it did not.", p.DatabaseUp},
		{"cache_up", "1 when Redis answered when it was last asked, 0 when it did not; always 1 without Redis.", p.CacheUp},
		{"calls_in_flight", "Chat completions running now.", p.CallsInFlight},
		{"calls_in_flight_limit", "How many chat completions may run at once (MAX_IN_FLIGHT).", p.CallsLimit},
		{"body_bytes_in_flight", "Bytes of request bodies that are held now.", p.BodyBytes},
		{"body_bytes_in_flight_limit", "How many bytes of request bodies may be held at once.", p.BodyLimit},
		{"ledger_queue_rows", "Rows of the ledger that wait to be written.", p.LedgerQueue},
		{"budget_holds_usd", "What this replica holds of all budgets, in US dollars: for running calls, for calls that are not yet in the ledger, and for calls to come.", p.BudgetHolds},
		{"budget_limit_usd", "The whole gateway's budget in each window (MAX_BUDGET_USD), in US dollars.", p.BudgetLimit},
		{"budget_left_usd", "What is neither spent nor held of the whole gateway's budget in the present window, as this replica last heard, in US dollars.", p.BudgetLeft},
		{"key_cache_entries", "API keys that this replica remembers.", p.KeyCache},
	}
}

func (p Parts) counters() []part {
	return []part{
		{"ledger_rows_written_total", "Rows of the ledger that are in the database.", p.LedgerWritten},
		{"ledger_rows_dropped_total", "Rows of the ledger that are lost: calls that are in no bill.", p.LedgerDropped},
		{"ledger_write_failures_total", "Failed tries to write a batch of rows; it is tried again.", p.LedgerFailures},
		{"budget_overdrafts_total", "Calls that cost more than had been reserved for them.", p.BudgetOverdrafts},
		{"log_lines_dropped_total", "Lines of the log that found no room because nobody read it.", p.LogDropped},
	}
}
