package models

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/gorm"
	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"
)

// ErrRefused means that the database rejected the content of a row: trying again
// cannot help.
var ErrRefused = errors.New("refused for its content")

// errDuplicate means that some rows of a batch are in the ledger already.
var errDuplicate = errors.New("in the ledger already")

var callRows = newBulkInsert("calls",
	[]string{"id", "request_id", "user_id", "key_id", "model", "served", "provider", "outcome", "error_code", "upstream_request_id",
		"team_id", "dialect", "user_agent", "upstream_key", "detail"},
	[]string{"stream", "estimated", "priced", "summed"},
	[]string{"attempts", "status", "input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens",
		"cost", "began_at", "first_token_us", "duration_us", "overhead_us", "opened_us"},
	"")

// WriteCalls records calls in the ledger, in one transaction: it inserts their
// rows, adds them to the sums of their minutes and days and to what was spent, and deducts
// them from this replica's holds. A call whose id is in the ledger already changes
// nothing, so that a batch may be written again after a commit whose answer was
// lost; its cost becomes that in the ledger. ErrRefused when the database rejects the content of a row.
func (s *Store) WriteCalls(ctx context.Context, replica string, calls []Call) error {
	//nolint:contextcheck // the transaction carries the context
	err := s.inConnTx(ctx, func(on connTx) error { return insertCalls(on, replica, calls) })
	// A second try is enough, unless the transaction of a former call of this
	// function is still being committed.
	for tries := 3; errors.Is(err, errDuplicate) && tries > 0; tries-- {
		err = s.inConnTx(ctx, func(on connTx) error { //nolint:contextcheck // as above
			missing, err := withoutDuplicates(on.tx, calls)
			if err != nil {
				return err
			}
			return insertCalls(on, replica, missing)
		})
	}
	if isRefused(err) {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return err
}

func insertCalls(on connTx, replica string, calls []Call) error {
	if len(calls) == 0 {
		return nil
	}
	if err := insertCallRows(on, calls); err != nil {
		return err
	}
	sums := sum(calls)
	if err := sums.write(on); err != nil {
		return err
	}
	if err := sums.writeMinutes(on.tx, calls[0].ID); err != nil {
		return fmt.Errorf("usage of minutes: %w", err)
	}
	if len(sums.moved) == 0 {
		return nil
	}
	if err := moveHolds(on.tx, replica, sums.moved); err != nil {
		return fmt.Errorf("holds: %w", err)
	}
	return nil
}

func insertCallRows(on connTx, calls []Call) error {
	add := callRows.copyRows
	if on.embedded() {
		add = callRows.insertRows
	}
	err := add(on, bulkRows{len(calls), func(i int, r *bulkRow) {
		c := &calls[i]
		r.texts = append(r.texts, c.ID, c.RequestID, c.UserID, c.KeyID, c.Model, c.Served, c.Provider, c.Outcome, c.ErrorCode,
			c.UpstreamRequestID, c.TeamID, c.Dialect, c.UserAgent, c.UpstreamKey, c.Detail)
		r.flags = append(r.flags, c.Stream, c.Estimated, c.Priced, true)
		r.numbers = append(r.numbers, int64(c.Attempts), int64(c.Status),
			c.InputTokens, c.CachedTokens, c.CacheWriteTokens, c.OutputTokens, c.ReasoningTokens,
			c.Cost, c.BeganAt, c.FirstTokenUS, c.DurationUS, c.OverheadUS, c.OpenedUS)
	}})
	if errors.Is(mapError(err), ErrTaken) {
		return errDuplicate
	}
	if err != nil {
		return fmt.Errorf("calls: %w", err)
	}
	return nil
}

// withoutDuplicates are the calls that are not in the ledger, each of them once. The
// others get the cost that the ledger has.
func withoutDuplicates(tx *gorm.DB, calls []Call) ([]Call, error) {
	ids := make([]string, len(calls))
	for i := range calls {
		ids[i] = calls[i].ID
	}
	var known []Call
	if err := tx.Select("id", "cost").Where("id IN ?", ids).Find(&known).Error; err != nil {
		return nil, fmt.Errorf("calls: %w", err)
	}
	costs := make(map[string]int64, len(known))
	for i := range known {
		costs[known[i].ID] = known[i].Cost
	}
	seen := make(map[string]bool, len(calls))
	var missing []Call
	for i := range calls {
		if cost, ok := costs[calls[i].ID]; ok {
			calls[i].Cost = cost // another replica may have booked an estimate
		} else if !seen[calls[i].ID] {
			seen[calls[i].ID] = true
			missing = append(missing, calls[i])
		}
	}
	return missing, nil
}

// isRefused says whether the database rejected the content of a statement, rather
// than failed to execute it.
func isRefused(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		// Data exceptions, integrity constraints and program limits:
		// https://www.postgresql.org/docs/current/errcodes-appendix.html
		return strings.HasPrefix(e.Code, "22") || strings.HasPrefix(e.Code, "23") || strings.HasPrefix(e.Code, "54")
	}
	if e, ok := errors.AsType[*driver.Error](err); ok {
		const primary = 0xff // of an extended code
		switch e.Code() & primary {
		case codes.SQLITE_CONSTRAINT, codes.SQLITE_TOOBIG, codes.SQLITE_MISMATCH:
			return true
		}
	}
	return false
}

// CallID is a call's id: the time at which it began, in 16 digits of microseconds,
// and a suffix that makes it unique. Digits sort alike in every collation, and 16
// are enough until the year 2286, so ids sort by time. An id without a suffix is
// less than the ids of all calls that begin at that time or later.
func CallID(at time.Time, suffix string) string {
	return callID(at.UnixMicro(), suffix)
}

// DeleteCallsBefore deletes the rows of calls that began before at, the oldest
// first, and returns how many: at most limit, and fewer only when no more are left
// or another replica is deleting them. Their sums stay.
func (s *Store) DeleteCallsBefore(ctx context.Context, at time.Time, limit int) (n int64, err error) {
	// With an array PostgreSQL always looks the rows up by their ids; with IN it may
	// scan the table, depending on how many rows it expects.
	query := "DELETE FROM calls WHERE id = ANY (ARRAY(SELECT id FROM calls WHERE id < ? ORDER BY id LIMIT ? FOR UPDATE SKIP LOCKED))"
	if s.embedded {
		query = "DELETE FROM calls WHERE id IN (SELECT id FROM calls WHERE id < ? ORDER BY id LIMIT ?)"
	}
	err = s.run(ctx, func(db *gorm.DB) error {
		done := db.Exec(query, CallID(at, ""), limit)
		n = done.RowsAffected
		return done.Error
	})
	return n, err
}
