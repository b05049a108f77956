package models

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"gorm.io/gorm"
)

// Holding is a replica's hold as the replica counts it. Both numbers only ever
// grow by what is granted and written, and Granted falls by what is given back;
// the hold is their difference.
type Holding struct {
	Hold
	Granted int64 // in all
	Moved   int64 // of that, what the replica knows the ledger to have entered as spent
}

// Question asks for more of a budget in one of its windows.
type Question struct {
	Holding
	Until   string   // the first day after the window; empty = it does not end
	Wider   []string // first days of the windows that this one lies in
	Limit   int64
	Replica string
	Lease   Lease
	Needs   []int64 // of calls that wait, the first come first
	Spare   int64   // of Granted, what no call needs
	Enter   bool    // the database may have another Granted: it is to be entered whatever the answer
}

// Answer says what was granted on top, and what is left for anybody after
// that. Left is negative when a budget is overdrawn, or its limit was lowered.
type Answer struct {
	Granted int64
	Left    int64
}

// Share is the part of what is left, one in so many, that a replica is granted
// beyond its need, so that a busy budget is seldom asked for and nobody hoards
// near its end.
const Share = 32

// Grant answers a question, alone for its account. Those needs are granted that
// fit, and a little more. ErrLeaseOver when the holds of the
// replica do not count: nothing is granted or entered then.
func (s *Store) Grant(ctx context.Context, q Question) (Answer, error) {
	var answer Answer
	err := s.unit(ctx, func(tx *gorm.DB) error {
		if err := s.aloneFor(tx, q.Account); err != nil {
			return err
		}
		state, err := s.budget(tx, &q)
		if err != nil {
			return err
		}
		if !state.Alive {
			return ErrLeaseOver
		}
		// What the ledger has moved is in the same snapshot of spend.
		left := q.Limit - state.Spent - state.Others - (q.Granted - state.Moved)
		answer.Granted = q.fitting(left)
		answer.Left = left - answer.Granted
		if answer.Granted == 0 && !q.Enter {
			return nil
		}
		q.Granted += answer.Granted
		return hold(tx, q.Replica, q.Holding)
	})
	return answer, err
}

// fitting is how much of what is left is to be granted: none for a call that
// does not fit.
func (q *Question) fitting(left int64) int64 {
	rest, need := left+q.Spare, int64(0)
	for _, n := range q.Needs {
		if n <= rest {
			rest -= n
			need += n
		}
	}
	granted := max(need-q.Spare, 0)
	return granted + max((left-granted)/Share-max(q.Spare-need, 0), 0)
}

// aloneFor waits until nobody else is granted anything of the account. A replica
// that stops in the middle of it does not hold up the others for long.
func (s *Store) aloneFor(tx *gorm.DB, name string) error {
	if s.embedded {
		return nil // its transactions are immediate: they are the lock themselves
	}
	return tx.Exec("SELECT set_config('idle_in_transaction_session_timeout', '3000', true), "+
		"pg_advisory_xact_lock(hashtextextended(?, 6))", name).Error
}

// budgetState is one snapshot: the ledger moves money from holds to spend at
// any time.
type budgetState struct {
	Spent  int64
	Others int64
	Moved  int64
	Alive  bool
}

// A hold that went below nothing, as a call cost more than was thought, is
// spent already. Holds of windows that begin later lie in this one as well, and
// those of wider windows may be for calls of this one: a key's window may have
// been made longer, or shorter.
const (
	budgetSums = `SELECT
	(SELECT CAST(COALESCE(SUM(cost), 0) AS BIGINT) FROM spend
		WHERE account = @account AND day >= @since AND (@until = '' OR day < @until)) AS spent,
	(SELECT CAST(COALESCE(SUM(CASE WHEN h.amount > 0 THEN h.amount ELSE 0 END), 0) AS BIGINT) FROM budget_holds h
		WHERE h.account = @account AND (h.since >= @since AND (@until = '' OR h.since < @until) OR h.since IN @wider)
		AND NOT (h.replica = @replica AND h.since = @since)`
	budgetOwn = `) AS others,
	COALESCE((SELECT moved FROM budget_holds
		WHERE account = @account AND since = @since AND replica = @replica), @moved) AS moved, `
)

func (s *Store) budget(tx *gorm.DB, q *Question) (budgetState, error) {
	query := budgetSums + budgetOwn + "TRUE AS alive"
	if !s.embedded {
		query = replicaClock + budgetSums +
			" AND h.replica IN (SELECT id FROM replicas, clock WHERE alive_until > ended)" + budgetOwn +
			"EXISTS (SELECT FROM replicas, clock WHERE id = @replica AND alive_until > at) AS alive"
	}
	var state budgetState
	err := tx.Raw(query, map[string]any{
		"account": q.Account, "since": q.Since, "until": q.Until, "wider": q.Wider, "replica": q.Replica, "moved": q.Moved,
		"lease": q.Lease.Lasts.Microseconds(), "silence": q.Lease.Silence.Microseconds(),
	}).Scan(&state).Error
	return state, err
}

// hold sets what a replica holds. The ledger may take something off before
// and after it.
func hold(tx *gorm.DB, replica string, h Holding) error {
	return tx.Exec(`INSERT INTO budget_holds (account, since, replica, amount, moved) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (account, since, replica) DO UPDATE SET amount = ? - budget_holds.moved`,
		h.Account, h.Since, replica, h.Granted-h.Moved, h.Moved, h.Granted).Error
}

// EnterHolds sets what a replica holds to what it says. It may be repeated. A
// hold of nothing is removed.
func (s *Store) EnterHolds(ctx context.Context, replica string, held []Holding) error {
	slices.SortFunc(held, func(a, b Holding) int { return compareHolds(a.Hold, b.Hold) })
	return s.unit(ctx, func(tx *gorm.DB) error {
		for _, h := range held {
			if h.Granted != h.Moved {
				if err := hold(tx, replica, h); err != nil {
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

// moveHolds takes off a replica's holds what the same transaction enters as
// spent. A hold that is not there is none the less spent from.
func moveHolds(tx *gorm.DB, replica string, moved map[Hold]int64) error {
	const few = 100 // in one statement
	all := slices.DeleteFunc(slices.SortedFunc(maps.Keys(moved), compareHolds), func(h Hold) bool {
		return h.Account == "" || moved[h] == 0
	})
	for holds := range slices.Chunk(all, few) {
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

func compareHolds(a, b Hold) int {
	return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Since, b.Since))
}
