package models

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"gorm.io/gorm"
)

// Hold is a replica's hold as the replica counts it. The amount of the hold is
// Granted - Moved. Two growing totals, rather than that amount, let the replica
// save its hold while the ledger changes the same row, and save it again when the
// answer to a commit was lost.
type Hold struct {
	HoldKey
	Granted int64 // total of what was granted, less what was given back
	Moved   int64 // total of what was spent and the ledger is known to have recorded
}

// GrantRequest asks for more of a budget in one of its windows.
type GrantRequest struct {
	Hold
	Until   string   // the first day after the window; empty = it does not end
	Earlier []string // first days of the windows that began before this one and go on in it
	Limit   int64    // micro-dollars in the window
	Replica string
	Lease   Lease
	Needs   []int64 // amounts that waiting calls need, the one that has waited longest first
	Spare   int64   // the part of Granted that no call has reserved
	Upsert  bool    // save Granted even if nothing is granted: the database may have another value
}

// Grant is what was granted in addition, and what is left of the budget for all
// replicas after that. Left is negative when the budget is overdrawn or its limit
// was lowered. Unspent is the limit less what is spent: a part of it may be held. Moved is
// what the ledger had moved from the replica's hold then.
type Grant struct {
	Granted int64
	Left    int64
	Unspent int64
	Moved   int64
}

// SlackDivisor says how much slack a replica is granted beyond what its calls need:
// 1/SlackDivisor of what is left. A busy budget is then seldom asked for, and near
// its end little of it lies with a replica that does not need it.
const SlackDivisor = 32

// Grant grants the needs that fit into what is left, and some slack, in a
// transaction that has the account for itself. ErrLeaseExpired when the replica's
// lease has expired: nothing is granted or saved then.
func (s *Store) Grant(ctx context.Context, req GrantRequest) (Grant, error) {
	var grant Grant
	err := s.inTx(ctx, func(tx *gorm.DB) error {
		if err := s.advisoryLock(tx, req.Account); err != nil {
			return err
		}
		state, err := s.readBudget(tx, &req)
		if err != nil {
			return err
		}
		if !state.Alive {
			return ErrLeaseExpired
		}
		// state.Moved rather than req.Moved: it is of the same snapshot as state.Spent.
		left := req.Limit - state.Spent - state.Others - (req.Granted - state.Moved)
		grant.Granted = req.grantable(left)
		grant.Left = left - grant.Granted
		grant.Unspent, grant.Moved = req.Limit-state.Spent, state.Moved
		if grant.Granted == 0 && !req.Upsert {
			return nil
		}
		req.Granted += grant.Granted
		return upsertHold(tx, req.Replica, req.Hold)
	})
	return grant, err
}

// grantable is how much of what is left is granted: nothing for a call whose need
// does not fit, the needs of the others less what is spare, and slack unless there
// is enough to spare.
func (req *GrantRequest) grantable(left int64) int64 {
	rest, need := left+req.Spare, int64(0)
	for _, n := range req.Needs {
		if n <= rest {
			rest -= n
			need += n
		}
	}
	granted := max(need-req.Spare, 0)
	return granted + max((left-granted)/SlackDivisor-max(req.Spare-need, 0), 0)
}

// advisoryLock waits for the lock of this name and holds it until the transaction
// ends. A replica that hangs in the transaction loses the lock after three seconds,
// when the server ends its session.
func (s *Store) advisoryLock(tx *gorm.DB, name string) error {
	if s.embedded {
		return nil // SQLite's transactions are immediate: they are the lock themselves
	}
	return tx.Exec("SELECT set_config('idle_in_transaction_session_timeout', '3000', true), "+
		"pg_advisory_xact_lock(hashtextextended(?, 6))", name).Error
}

// budgetState is read in one statement, as one snapshot: the ledger moves money
// from holds to spend at any time.
type budgetState struct {
	Spent  int64 // in the window
	Others int64 // held by other replicas, or by this one in other windows
	Moved  int64 // of this replica's hold
	Alive  bool  // the replica's lease has not expired
}

// A hold is below zero when a call cost more than was reserved for it: that money
// is spent, and frees nothing. Holds of windows that begin inside this one count,
// and so do those of windows that began before and go on in it: calls of this window may be
// paid from them, as a key's window may have been changed.
const (
	budgetSums = `SELECT
	(SELECT CAST(COALESCE(SUM(cost), 0) AS BIGINT) FROM spend
		WHERE account = @account AND day >= @since AND (@until = '' OR day < @until)) AS spent,
	(SELECT CAST(COALESCE(SUM(CASE WHEN h.amount > 0 THEN h.amount ELSE 0 END), 0) AS BIGINT) FROM budget_holds h
		WHERE h.account = @account AND (h.since >= @since AND (@until = '' OR h.since < @until) OR h.since IN @earlier)
		AND NOT (h.replica = @replica AND h.since = @since)`
	budgetOwn = `) AS others,
	COALESCE((SELECT moved FROM budget_holds
		WHERE account = @account AND since = @since AND replica = @replica), @moved) AS moved, `
)

func (s *Store) readBudget(tx *gorm.DB, req *GrantRequest) (budgetState, error) {
	query := budgetSums + budgetOwn + "TRUE AS alive"
	if !s.embedded {
		query = replicaClock + budgetSums +
			" AND (h.replica IN (SELECT id FROM replicas, clock WHERE alive_until > ended)" +
			" OR h.replica IN (SELECT replica FROM running_calls))" + budgetOwn + // they are booked from the hold
			"EXISTS (SELECT FROM replicas, clock WHERE id = @replica AND alive_until > at) AS alive"
	}
	var state budgetState
	err := tx.Raw(query, map[string]any{
		"account": req.Account, "since": req.Since, "until": req.Until, "earlier": req.Earlier,
		"replica": req.Replica, "moved": req.Moved,
		"lease": req.Lease.Duration.Microseconds(), "silence": req.Lease.MaxSilence.Microseconds(),
	}).Scan(&state).Error
	return state, err
}

// upsertHold sets a replica's hold. The ledger may have deducted something from the
// row that the replica does not know of yet: the row's own total is subtracted.
func upsertHold(tx *gorm.DB, replica string, h Hold) error {
	return tx.Exec(`INSERT INTO budget_holds (account, since, replica, amount, moved) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (account, since, replica) DO UPDATE SET amount = ? - budget_holds.moved`,
		h.Account, h.Since, replica, h.Granted-h.Moved, h.Moved, h.Granted).Error
}

// SaveHolds saves a replica's holds, in one transaction, and deletes those of
// nothing. Repeating it changes nothing.
func (s *Store) SaveHolds(ctx context.Context, replica string, held []Hold) error {
	slices.SortFunc(held, func(a, b Hold) int { return compareHolds(a.HoldKey, b.HoldKey) })
	return s.inTx(ctx, func(tx *gorm.DB) error {
		for _, h := range held {
			if h.Granted != h.Moved {
				if err := upsertHold(tx, replica, h); err != nil {
					return err
				}
				continue
			}
			err := tx.Exec("DELETE FROM budget_holds WHERE account = ? AND since = ? AND replica = ?", h.Account, h.Since, replica).Error
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// moveHolds deducts from a replica's holds what the same transaction adds to what
// is spent. Where a hold has no row, nothing is deducted.
func moveHolds(tx *gorm.DB, replica string, moved map[HoldKey]int64) error {
	const perStatement = 100
	all := slices.DeleteFunc(slices.SortedFunc(maps.Keys(moved), compareHolds), func(h HoldKey) bool {
		return h.Account == "" || moved[h] == 0
	})
	for holds := range slices.Chunk(all, perStatement) {
		var rows []string
		var values []any
		for _, h := range holds {
			rows = append(rows, "(?, ?, CAST(? AS BIGINT))")
			values = append(values, h.Account, h.Since, moved[h])
		}
		err := tx.Exec("UPDATE budget_holds SET amount = amount - m.column3, moved = moved + m.column3 FROM (VALUES "+
			strings.Join(rows, ", ")+") AS m WHERE account = m.column1 AND since = m.column2 AND replica = ?",
			append(values, replica)...).Error
		if err != nil {
			return err
		}
	}
	return nil
}

func compareHolds(a, b HoldKey) int {
	return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Since, b.Since))
}
