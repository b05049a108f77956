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

// ErrRefused is when the database was there and would not have the content of
// a row: trying again cannot help.
var ErrRefused = errors.New("refused for its content")

// errWritten is when some rows of a batch are in the ledger already.
var errWritten = errors.New("written before")

var callRows = newBulkInsert("calls",
	[]string{"id", "request_id", "user_id", "key_id", "model", "served", "provider", "outcome", "error_code"},
	[]string{"stream", "estimated", "priced"},
	[]string{"attempts", "status", "input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens",
		"cost", "began_at", "first_token_us", "duration_us", "overhead_us"},
	"")

// WriteCalls enters calls in the ledger, in one transaction: their rows, what
// they add to the sums of their days and to what was spent, and what they take
// off this replica's holds. Nothing counts twice: a call whose id is there
// already changes nothing, so that a batch may be written again when nobody
// knows whether it was. ErrRefused when a row cannot be kept as it is.
func (s *Store) WriteCalls(ctx context.Context, replica string, calls []Call) error {
	err := s.inConnTx(ctx, func(on connTx) error { return enter(on, replica, calls) })
	// Once more is enough, unless the former try is still being committed.
	for tries := 3; errors.Is(err, errWritten) && tries > 0; tries-- {
		err = s.inConnTx(ctx, func(on connTx) error {
			missing, err := unwritten(on.tx, calls)
			if err != nil {
				return err
			}
			return enter(on, replica, missing)
		})
	}
	if refused(err) {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return err
}

func enter(on connTx, replica string, calls []Call) error {
	if len(calls) == 0 {
		return nil
	}
	if err := enterRows(on, calls); err != nil {
		return err
	}
	sums := sum(calls)
	if err := sums.write(on); err != nil {
		return err
	}
	if len(sums.moved) == 0 {
		return nil
	}
	if err := moveHolds(on.tx, replica, sums.moved); err != nil {
		return fmt.Errorf("holds: %w", err)
	}
	return nil
}

func enterRows(on connTx, calls []Call) error {
	add := callRows.copyRows
	if on.embedded() {
		add = callRows.insertRows
	}
	err := add(on, bulkRows{len(calls), func(i int, r *bulkRow) {
		c := &calls[i]
		r.texts = append(r.texts, c.ID, c.RequestID, c.UserID, c.KeyID, c.Model, c.Served, c.Provider, c.Outcome, c.ErrorCode)
		r.flags = append(r.flags, c.Stream, c.Estimated, c.Priced)
		r.numbers = append(r.numbers, int64(c.Attempts), int64(c.Status),
			c.InputTokens, c.CachedTokens, c.CacheWriteTokens, c.OutputTokens, c.ReasoningTokens,
			c.Cost, c.BeganAt, c.FirstTokenUS, c.DurationUS, c.OverheadUS)
	}})
	if errors.Is(named(err), ErrTaken) {
		return errWritten
	}
	if err != nil {
		return fmt.Errorf("calls: %w", err)
	}
	return nil
}

// unwritten are the calls that are not in the ledger, each once.
func unwritten(tx *gorm.DB, calls []Call) ([]Call, error) {
	ids := make([]string, len(calls))
	for i := range calls {
		ids[i] = calls[i].ID
	}
	var known []string
	if err := tx.Model(&Call{}).Where("id IN ?", ids).Pluck("id", &known).Error; err != nil {
		return nil, fmt.Errorf("calls: %w", err)
	}
	seen := make(map[string]bool, len(calls))
	for _, id := range known {
		seen[id] = true
	}
	var missing []Call
	for i := range calls {
		if !seen[calls[i].ID] {
			seen[calls[i].ID] = true
			missing = append(missing, calls[i])
		}
	}
	return missing, nil
}

// refused says whether the database was asked for what it cannot keep, rather
// than that it could not do it.
func refused(err error) bool {
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

// callIDTime is how many digits of microseconds an id begins with: digits, as
// they sort alike in every collation, and enough until the year 2286.
const callIDTime = 16

// CallID is a call's id, from when it began and a rest that makes it unique: ids
// sort by time. Without a rest it is less than those of all calls that begin
// then or later.
func CallID(at time.Time, rest string) string {
	const mark = "call_"
	id := append(make([]byte, 0, len(mark)+callIDTime+16), "call_0000000000000000"...)
	for at, i := max(at.UnixMicro(), 0), len(id); at > 0 && i > len(mark); at /= 10 {
		i--
		id[i] = '0' + byte(at%10)
	}
	return string(append(id, rest...))
}

// DeleteCallsBefore removes the rows of the oldest calls that began before at,
// and says how many: not more than most, and fewer only when no more are left
// or another replica is removing them. Their sums stay.
func (s *Store) DeleteCallsBefore(ctx context.Context, at time.Time, most int) (n int64, err error) {
	// An array, as PostgreSQL then looks its rows up by their ids whatever it
	// believes their number to be.
	query := "DELETE FROM calls WHERE id = ANY (ARRAY(SELECT id FROM calls WHERE id < ? ORDER BY id LIMIT ? FOR UPDATE SKIP LOCKED))"
	if s.embedded {
		query = "DELETE FROM calls WHERE id IN (SELECT id FROM calls WHERE id < ? ORDER BY id LIMIT ?)"
	}
	err = s.do(ctx, func(db *gorm.DB) error {
		done := db.Exec(query, CallID(at, ""), most)
		n = done.RowsAffected
		return done.Error
	})
	return n, err
}
