package ledger

// Stats is how a ledger stands. All but Queued only grow.
type Stats struct {
	Queued   int   // rows that wait or are being written
	Written  int64 // rows
	Dropped  int64 // rows that are lost: there was no room, or the database refused them
	Failures int64 // transactions that failed and are tried again
}

// Stats says how the ledger stands.
func (l *Writer) Stats() Stats {
	l.mu.Lock()
	stats := l.stats
	l.mu.Unlock()
	queued, dropped := l.queue.stands()
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
	l.tell()
	if now := l.opts.Now(); now.Sub(l.warnedAt) >= ledgerTold {
		l.warned, l.warnedAt = true, now
		l.opts.Log.Warn("the ledger is not written, and tried again", "queued", l.Stats().Queued, "error", err)
	}
}

// tell writes to the log, now and then, how many rows found no room.
func (l *Writer) tell() {
	_, dropped := l.queue.stands()
	if now := l.opts.Now(); dropped > l.told && now.Sub(l.toldAt) >= ledgerTold {
		l.opts.Log.Error("calls are not in the ledger: too many wait for the database", "calls", dropped-l.told)
		l.told, l.toldAt = dropped, now
	}
}
