package ledger

// Stats are the figures of a ledger. All but Queued only grow.
type Stats struct {
	Queued   int   // rows that wait, or are being written
	Written  int64 // rows
	Dropped  int64 // rows that are lost: the queue was full, or the database refused them
	Failures int64 // transactions that failed and were tried again
}

// Stats returns the present figures.
func (l *Writer) Stats() Stats {
	l.mu.Lock()
	stats := l.stats
	l.mu.Unlock()
	queued, dropped := l.queue.counts()
	stats.Queued = queued
	stats.Dropped += dropped
	return stats
}

func (l *Writer) count(more Stats) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stats.Written += more.Written
	l.stats.Dropped += more.Dropped
	l.stats.Failures += more.Failures
}

func (l *Writer) failed(err error) {
	l.count(Stats{Failures: 1})
	l.logDropped()
	if now := l.opts.Now(); now.Sub(l.warnedAt) >= ledgerLogEvery {
		l.warned, l.warnedAt = true, now
		l.opts.Log.Warn("the ledger could not be written: the gateway tries again", "queued", l.Stats().Queued, "error", err)
	}
}

// logDropped logs, once in ledgerLogEvery, how many rows found the queue full.
func (l *Writer) logDropped() {
	_, dropped := l.queue.counts()
	if now := l.opts.Now(); dropped > l.droppedLogged && now.Sub(l.droppedLoggedAt) >= ledgerLogEvery {
		l.opts.Log.Error("calls are not in the ledger: its queue was full", "calls", dropped-l.droppedLogged)
		l.droppedLogged, l.droppedLoggedAt = dropped, now
	}
}

// idle reports whether no row waits and all dropped ones are logged.
func (l *Writer) idle() bool {
	rows, dropped := l.queue.counts()
	return rows == 0 && dropped == l.droppedLogged
}
