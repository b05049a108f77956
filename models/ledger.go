package models

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// WriteCalls records calls in the ledger, in one transaction: it inserts their
// rows, adds them to the sums of their minutes and to what was spent, and deducts
// them from this replica's holds. A call whose id is in the ledger already changes
// nothing, so that a batch may be written again after a commit whose answer was
// lost; its cost becomes that in the ledger. A call without an id gets one. ErrRefused
// when the database rejects the content of a row.
func (s *Store) WriteCalls(ctx context.Context, replica string, calls []Call) error {
	for i := range calls {
		if c := &calls[i]; c.ID == "" {
			if c.ID = s.NewCallID(time.UnixMicro(c.BeganAt)); c.ID == "" {
				return ErrNotMigrated
			}
		}
	}
	write := func(again bool) error {
		numbers := namesOf{}
		err := s.inConnTx(ctx, func(on connTx) error { //nolint:contextcheck // the transaction carries the context
			return s.insertCalls(on, calls, insertion{replica: replica, again: again}, numbers)
		})
		if err == nil {
			s.names.remember(numbers)
		}
		return err
	}
	err := write(false)
	// A second try is enough, unless the transaction of a former call of this
	// function is still being committed.
	for tries := 3; errors.Is(err, errDuplicate) && tries > 0; tries-- {
		err = write(true)
	}
	if isRefused(err) {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return err
}

// insertion is how calls are inserted.
type insertion struct {
	replica string // from whose holds they are deducted
	again   bool   // some may be in the ledger already
	former  bool   // they are a former replica's, which knows only the former tables
}

// insertCalls adds to numbers those of the names of calls, which are to be remembered when the
// transaction is committed.
func (s *Store) insertCalls(on connTx, calls []Call, how insertion, numbers namesOf) error {
	tables, err := s.formerTables(on.tx)
	if err != nil {
		return err
	}
	former := tables.Written || how.former
	if how.again || former || tables.Stored {
		if calls, err = withoutDuplicates(on.tx, calls); err != nil {
			return err
		}
	}
	if len(calls) == 0 {
		return nil
	}
	sums := sum(calls, former)
	if former {
		err = insertFormer(on, calls, &sums)
	} else {
		err = s.insertLedger(on, calls, &sums, numbers)
	}
	if errors.Is(mapError(err), ErrTaken) {
		return errDuplicate
	}
	if err != nil {
		return err
	}
	if err := sums.writeSpent(on); err != nil {
		return err
	}
	if len(sums.moved) == 0 {
		return nil
	}
	if err := moveHolds(on.tx, how.replica, sums.moved); err != nil {
		return fmt.Errorf("holds: %w", err)
	}
	return nil
}

func (s *Store) insertLedger(on connTx, calls []Call, sums *sums, numbers namesOf) error {
	names, err := s.names.numberCalls(on.tx, calls, numbers)
	if err != nil {
		return fmt.Errorf("names: %w", err)
	}
	ids := make([]int64, len(calls))
	for i := range calls {
		ids[i] = numberOf(calls[i].ID)
	}
	if err := insertRows(on, calls, ids, names); err != nil {
		return fmt.Errorf("calls: %w", err)
	}
	return sums.writeMinutes(on.tx, ledgerSums, calls[0].ID)
}

// withoutDuplicates are the calls that are not in the ledger, each of them once. The
// others get the cost that the ledger has.
func withoutDuplicates(tx *gorm.DB, calls []Call) ([]Call, error) {
	ids := make([]string, len(calls))
	for i := range calls {
		ids[i] = calls[i].ID
	}
	costs, err := costsOf(tx, ids, "")
	if err != nil {
		return nil, err
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

// costsOf are the costs of those of some calls that are in the ledger, or in the table of the
// former release: of all, or of those with an outcome.
func costsOf(tx *gorm.DB, ids []string, outcome string) (map[string]int64, error) {
	costs := make(map[string]int64, len(ids))
	for part := range slices.Chunk(ids, idsPerStatement) {
		if err := addCosts(tx, part, outcome, costs); err != nil {
			return nil, fmt.Errorf("calls: %w", err)
		}
	}
	return costs, nil
}

func addCosts(tx *gorm.DB, ids []string, outcome string, costs map[string]int64) error {
	former := tx.Select("id", "cost").Where("id IN ?", ids)
	ledger := tx.Select("id", "cost", "rest")
	if outcome != "" {
		former = former.Where("outcome = ?", outcome)
		ledger = ledger.Where("outcome_n = (SELECT n FROM ledger_names WHERE owner = '' AND text = ?)", outcome)
	}
	var calls []Call
	if err := former.Find(&calls).Error; err != nil {
		return err
	}
	for i := range calls {
		costs[calls[i].ID] = calls[i].Cost
	}
	for _, where := range withIDs(tx, ids) {
		var rows []ledgerRow
		if err := ledger.Session(&gorm.Session{}).Where(where).Find(&rows).Error; err != nil {
			return err
		}
		for i := range rows {
			var c Call
			if err := c.readRest(rows[i].Rest, rows[i].ID); err != nil {
				return err
			}
			costs[c.ID] = rows[i].Cost
		}
	}
	return nil
}

// withIDs are conditions of the rows that may have one of some ids: those of a former release
// stand in the row, whose number has their time.
func withIDs(db *gorm.DB, ids []string) []*gorm.DB {
	const perCondition = 100
	var numbers []int64
	var former []string
	for _, id := range ids {
		if n, ok := callNumber(id); ok {
			numbers = append(numbers, n)
		} else {
			former = append(former, id)
		}
	}
	all := []*gorm.DB{db.Where("id IN ?", numbers)}
	for part := range slices.Chunk(former, perCondition) {
		either := db
		for _, id := range part {
			at := formerBegan(id)
			either = either.Or("id >= ? AND id < ?", firstCallNumber(at), firstCallNumber(at.Add(time.Millisecond)))
		}
		all = append(all, either)
	}
	return all
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

// DeleteCallsBefore deletes the rows of calls that began before at, the oldest
// first, and returns how many: at most limit, and fewer only when no more are left
// or another replica is deleting them. Their sums stay.
func (s *Store) DeleteCallsBefore(ctx context.Context, at time.Time, limit int) (n int64, err error) {
	for _, of := range []struct {
		table string
		bound any
	}{{"calls", formerID(at.UnixMicro(), "")}, {"ledger", firstCallNumber(at)}} {
		// With an array PostgreSQL always looks the rows up by their ids; with IN it may
		// scan the table, depending on how many rows it expects.
		query := "DELETE FROM %[1]s WHERE id = ANY (ARRAY(SELECT id FROM %[1]s WHERE id < ? ORDER BY id LIMIT ? FOR UPDATE SKIP LOCKED))"
		if s.embedded {
			query = "DELETE FROM %[1]s WHERE id IN (SELECT id FROM %[1]s WHERE id < ? ORDER BY id LIMIT ?)"
		}
		err = s.run(ctx, func(db *gorm.DB) error {
			done := db.Exec(fmt.Sprintf(query, of.table), of.bound, limit-int(n))
			n += done.RowsAffected
			return done.Error
		})
		if err != nil || n >= int64(limit) {
			return n, err
		}
	}
	return n, nil
}
