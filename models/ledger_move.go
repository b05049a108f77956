package models

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// MoveCalls moves rows of calls from the table of the former release into the ledger, the oldest
// first, limit of them in one transaction. It reports whether there may be more. It waits until
// former replicas have ended. A call that was booked for a replica that ended stays for an hour,
// since that replica may only have been suspended and look for it there.
//
// It goes on behind the last row that it has moved, and at the end looks once more from the beginning,
// for calls that were written late. From the beginning each time PostgreSQL would read past all that was
// moved since the last VACUUM: of 10 million rows 4,000 a second became 600.
func (s *Store) MoveCalls(ctx context.Context, now time.Time, limit int) (more bool, err error) {
	numbers := namesOf{}
	from, _ := s.movedTo.Load().(string)
	to := from
	//nolint:contextcheck // the transaction carries the context
	err = s.inConnTx(ctx, func(on connTx) error {
		if mine, err := s.tryLock(on.tx, "calls"); err != nil || !mine {
			return err
		}
		tables, err := s.formerTables(on.tx)
		if err != nil || tables.Written || !tables.Stored {
			return err
		}
		var filling string
		if err := on.tx.Raw("SELECT fill_from FROM usage_since WHERE id = 1").Scan(&filling).Error; err != nil || filling != "" {
			return err // FillUsage sums rows of a release before
		}
		var calls []Call
		rows := on.tx.Where("id > ?", from).Where("outcome <> ? OR began_at < ?", OutcomeLost, now.Add(-keepExpired).UnixMicro()).
			Order("id").Limit(limit)
		if !s.embedded { // from being deleted for their age
			rows = rows.Clauses(clause.Locking{Strength: "UPDATE"})
		}
		if err := rows.Find(&calls).Error; err != nil {
			return err
		}
		full := len(calls) == limit
		if more, to = full || from != "", ""; full {
			to = calls[limit-1].ID
		}
		if len(calls) == 0 {
			return nil
		}
		names, err := s.names.numberCalls(on.tx, calls, numbers)
		if err != nil {
			return fmt.Errorf("names: %w", err)
		}
		ids, err := freeNumbers(on.tx, calls)
		if err != nil {
			return err
		}
		if err := insertRows(on, calls, ids, names); err != nil {
			return fmt.Errorf("calls: %w", err)
		}
		formerIDs := make([]string, len(calls))
		for i := range calls {
			formerIDs[i] = calls[i].ID
		}
		return on.tx.Where("id IN ?", formerIDs).Delete(&Call{}).Error
	})
	if err != nil {
		return false, err
	}
	s.names.remember(numbers)
	s.movedTo.Store(to)
	return more, nil
}

// freeNumbers are the numbers of calls, or where another has it, those that follow.
func freeNumbers(tx *gorm.DB, calls []Call) ([]int64, error) {
	ids := make([]int64, len(calls))
	for i := range calls {
		ids[i] = numberOf(calls[i].ID)
	}
	var taken []int64
	if err := tx.Model(&ledgerRow{}).Where("id IN ?", ids).Pluck("id", &taken).Error; err != nil {
		return nil, err
	}
	used := make(map[int64]bool, len(ids))
	for _, id := range taken {
		used[id] = true
	}
	for i := range ids {
		for used[ids[i]] {
			ids[i]++
			var n int64
			if err := tx.Model(&ledgerRow{}).Where("id = ?", ids[i]).Count(&n).Error; err != nil {
				return nil, err
			}
			used[ids[i]] = used[ids[i]] || n > 0
		}
		used[ids[i]] = true
	}
	return ids, nil
}
