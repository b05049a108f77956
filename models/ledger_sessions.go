package models

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"gorm.io/gorm"
)

// Session is a session of agents: the calls of one owner that its client named alike.
type Session struct {
	First            NamedCall // its first call
	BeganAt, EndedAt int64     // Unix microseconds: of the first call, and the end of the one that began last
	Models           []string  // that answered, or were tried last
	Sum

	MissedTokens int64 // that its calls paid again: see CallCache
}

const sessionIDMark = "session_"

// SessionIDText is the id of the session with a number.
func SessionIDText(n int64) string { return sessionIDMark + strconv.FormatInt(n, 10) }

// SessionNumber is the number of an id, or not ok.
func SessionNumber(id string) (n int64, ok bool) {
	n, err := strconv.ParseInt(strings.TrimPrefix(id, sessionIDMark), 10, 32)
	return n, err == nil && n > 0 && SessionIDText(n) == id
}

// sessionsScanned is how many sessions are read for a page: those that a filter does not select
// are looked at call by call.
const sessionsScanned = 500

// Sessions lists the sessions that have calls of a filter, those that began last first, with the sums of
// all their calls that may be read. Next is the id of the session behind which others may follow, or empty.
func (s *Store) Sessions(ctx context.Context, may, only CallFilter, p Page) (all []Session, next string, err error) {
	err = s.run(ctx, func(db *gorm.DB) error {
		if err := only.findOwner(db); err != nil {
			return err
		}
		where, err := s.ledgerFilter(db, &only)
		if err != nil {
			return err
		}
		scanned := db.Table("ledger_names").Select("n").Where("owner <> ''").Order("n DESC")
		if only.UserID != "" || only.KeyID != "" {
			scanned = scanned.Where("owner = ?", CallerAccount(only.UserID, only.KeyID))
		}
		if n, ok := SessionNumber(p.After); ok {
			scanned = scanned.Where("n < ?", n)
		}
		scanned = scanned.Session(&gorm.Session{})
		var found []int64
		calls := where.others(db, where.indexed(db.Table("ledger"), "")).Select("id").Where("session_n = names.n").Limit(1)
		selected := db.Table("(?) AS names", scanned.Limit(sessionsScanned)).Where("(?) IS NOT NULL", calls)
		if err := selected.Order("n DESC").Limit(p.Limit+1).Pluck("n", &found).Error; err != nil {
			return err
		}
		var last int64
		if len(found) > p.Limit {
			found = found[:p.Limit]
			last = found[p.Limit-1]
		} else if err := scanned.Offset(sessionsScanned - 1).Limit(1).Scan(&last).Error; err != nil {
			return err
		}
		if last > 0 {
			next = SessionIDText(last)
		}
		all, err = s.sumSessions(db, &may, found)
		return err
	})
	return all, next, err
}

// sessionSum is the sum of the calls of one session that one model answered.
type sessionSum struct {
	SessionN, ServedN, FirstID, LastID int64
	Sum                                `gorm:"embedded"`
}

const sessionSums = `session_n, COALESCE(served_n, model_n) AS served_n, MIN(id) AS first_id, MAX(id) AS last_id, COUNT(*) AS calls,
	COUNT(CASE WHEN COALESCE(outcome_n, 0) NOT IN ? THEN 1 END) AS failed,
	COUNT(CASE WHEN COALESCE(flags, 0) & ? <> 0 THEN 1 END) AS estimated,
	COUNT(CASE WHEN COALESCE(flags, 0) & ? = 0 THEN 1 END) AS unpriced`

// sumSessions are the sessions with some numbers, in their order, without agents.
func (s *Store) sumSessions(db *gorm.DB, may *CallFilter, numbers []int64) ([]Session, error) {
	where, err := s.ledgerFilter(db, may)
	if err != nil || len(numbers) == 0 {
		return nil, err
	}
	columns := sessionSums
	for _, column := range [...]string{
		"cost", "input_tokens", "cached_tokens", "cache_write_tokens", "cache_write_hour_tokens", "output_tokens", "reasoning_tokens",
		"searches", "requests", "images", "seconds", "characters",
	} {
		columns += ", CAST(COALESCE(SUM(" + column + "), 0) AS BIGINT) AS " + column
	}
	var sums []sessionSum
	err = where.others(db, db.Table("ledger").Where("session_n IN ?", numbers)).
		Select(columns, where.answered(), flagEstimated, flagPriced).Group("session_n, COALESCE(served_n, model_n)").Find(&sums).Error
	if err != nil {
		return nil, err
	}
	sessions, ends, texts := make([]Session, len(numbers)), make([]int64, 2*len(numbers)), map[int64]string{}
	for i := range sums {
		of, n := &sums[i], slices.Index(numbers, sums[i].SessionN)
		sessions[n].Add(&of.Sum)
		if first := &ends[2*n]; *first == 0 || of.FirstID < *first {
			*first = of.FirstID
		}
		ends[2*n+1] = max(ends[2*n+1], of.LastID)
		texts[of.ServedN] = ""
	}
	if err := s.texts(db, texts); err != nil {
		return nil, err
	}
	for i := range sums {
		of := &sessions[slices.Index(numbers, sums[i].SessionN)]
		of.Models = append(of.Models, texts[sums[i].ServedN])
	}
	var rows []ledgerRow
	if err := db.Where("id IN ?", ends).Order("id").Find(&rows).Error; err != nil {
		return nil, err
	}
	calls, err := s.callsOf(db, rows)
	if err != nil {
		return nil, err
	}
	if err := s.addMisses(db, where, numbers, sessions); err != nil {
		return nil, err
	}
	named, err := s.named(db, calls)
	for i := range named {
		of := &sessions[slices.Index(numbers, named[i].SessionN)]
		if of.BeganAt == 0 {
			of.First, of.BeganAt = named[i], named[i].BeganAt
		}
		of.EndedAt = named[i].BeganAt + named[i].DurationUS
	}
	return sessions, err
}

// addMisses adds what the calls of sessions missed in the caches of providers.
func (s *Store) addMisses(db *gorm.DB, where ledgerFilter, numbers []int64, sessions []Session) error {
	var rows []ledgerRow
	missed := where.others(db, db.Table("ledger").Where("session_n IN ? AND cache_miss > ?", numbers, CacheComplete))
	if err := missed.Select("id", "session_n", "cache_miss", "rest").Find(&rows).Error; err != nil {
		return err
	}
	for i := range rows {
		c := Call{CacheMiss: int(rows[i].CacheMiss)}
		if err := c.readRest(rows[i].Rest, rows[i].ID); err != nil {
			return err
		}
		of := &sessions[slices.Index(numbers, rows[i].SessionN)]
		tokens, cost := c.Missed()
		of.MissedTokens += tokens
		of.Add(&Sum{CacheMisses: 1, CacheMissCost: cost})
	}
	return nil
}

// Session is the session with a number, or ErrNotFound. The filter's ids select as for Calls.
func (s *Store) Session(ctx context.Context, may CallFilter, number int64) (one *Session, err error) {
	err = s.run(ctx, func(db *gorm.DB) error {
		found, err := s.sumSessions(db, &may, []int64{number})
		if err != nil {
			return err
		}
		if one = &found[0]; one.Calls == 0 {
			return ErrNotFound
		}
		return nil
	})
	return one, err
}

// SessionCalls are the next calls of a session behind a number, the oldest first. Last is the number to
// go on from; 0 when there are no others.
func (s *Store) SessionCalls(ctx context.Context, may CallFilter, number, after int64) (calls []Call, last int64, err error) {
	err = s.run(ctx, func(db *gorm.DB) error {
		where, err := s.ledgerFilter(db, &may)
		if err != nil {
			return err
		}
		var rows []ledgerRow
		behind := where.others(db, db.Table("ledger").Where("session_n = ? AND id > ?", number, after))
		if err := behind.Order("id").Limit(idsPerStatement).Find(&rows).Error; err != nil {
			return err
		}
		if len(rows) == idsPerStatement {
			last = rows[idsPerStatement-1].ID
		}
		calls, err = s.callsOf(db, rows)
		return err
	})
	return calls, last, err
}

// SessionsWithoutCalls are the numbers of the sessions without calls among the next behind a number. Last
// is the number to go on from; 0 when there are no others.
func (s *Store) SessionsWithoutCalls(ctx context.Context, after int64) (empty []int64, last int64, err error) {
	var rows []struct {
		N    int64
		Used bool
	}
	err = s.run(ctx, func(db *gorm.DB) error {
		return db.Table("ledger_names").Select("n, EXISTS (SELECT 1 FROM ledger WHERE session_n = n) AS used").
			Where("owner <> '' AND n > ?", after).Order("n").Limit(idsPerStatement).Find(&rows).Error
	})
	for _, row := range rows {
		if !row.Used {
			empty = append(empty, row.N)
		}
	}
	if len(rows) == idsPerStatement {
		last = rows[idsPerStatement-1].N
	}
	return empty, last, err
}

// DeleteSessions deletes those of some sessions that have no calls. They have to have been without calls
// for longer than NamesKept, since a process that remembers the number of one would write calls of it
// without asking the database; one that forgot it and asks again holds a lock on the table until its
// calls are written, for which this waits. The greatest number stays: SQLite would give it again.
func (s *Store) DeleteSessions(ctx context.Context, numbers []int64) error {
	return s.inTx(ctx, func(tx *gorm.DB) error {
		if !s.embedded {
			if err := tx.Exec("LOCK TABLE ledger_names IN SHARE ROW EXCLUSIVE MODE").Error; err != nil {
				return err
			}
		}
		return tx.Exec(`DELETE FROM ledger_names WHERE n IN ? AND owner <> '' AND n < (SELECT MAX(n) FROM ledger_names)
			AND NOT EXISTS (SELECT 1 FROM ledger WHERE session_n = ledger_names.n)`, numbers).Error
	})
}
