package models

import (
	"context"
	"time"

	"gorm.io/gorm"
)

// usageFill is the row of usage_since.
type usageFill struct {
	Since    int64
	FillFrom string
}

// FillUsage sums rows of the ledger that a former release has written, the latest first,
// limit of them in one transaction. It reports whether there are more. It waits until
// former replicas have ended, which write such rows.
func (s *Store) FillUsage(ctx context.Context, now time.Time, limit int) (more bool, err error) {
	err = s.inTx(ctx, func(tx *gorm.DB) error {
		if mine, err := s.tryLock(tx, "usage_since"); err != nil || !mine {
			return err
		}
		var state usageFill
		if err := tx.Table("usage_since").Where("id = 1").Take(&state).Error; err != nil || state.FillFrom == "" {
			return err
		}
		if ended, err := s.formerEnded(tx, now); err != nil || !ended {
			return err
		}
		var calls []Call
		if err := tx.Where("id < ? AND NOT summed", state.FillFrom).Order("id DESC").Limit(limit).Find(&calls).Error; err != nil {
			return err
		}
		more = len(calls) == limit
		since := dayBegin(now.Unix()) + secondsPerDay
		if len(calls) > 0 {
			last := &calls[len(calls)-1]
			sums := sum(calls, true)
			if err := sums.writeMinutes(tx, formerSums, last.ID); err != nil {
				return err
			}
			since = dayBegin(last.BeganAt/time.Second.Microseconds()) + secondsPerDay // more rows of its day may come
			state.FillFrom = last.ID
		}
		state.Since = min(state.Since, since)
		if !more {
			complete, err := completeDay(tx, state.Since-secondsPerDay)
			if err != nil {
				return err
			}
			if complete {
				state.Since -= secondsPerDay
			}
			state.FillFrom = ""
		}
		return tx.Table("usage_since").Where("id = 1").Updates(map[string]any{"since": state.Since, "fill_from": state.FillFrom}).Error
	})
	return more, err
}

// formerEnded says whether replicas of a former release must have ended: PostgreSQL may
// have some while they are replaced by this one.
func (s *Store) formerEnded(tx *gorm.DB, now time.Time) (bool, error) {
	const replaced = 10 * time.Minute
	if s.embedded {
		return true, nil
	}
	var applied int64
	err := tx.Raw("SELECT MAX(applied_at) FROM schema_migrations").Scan(&applied).Error
	return now.Unix() >= applied+int64(replaced/time.Second), err
}

// completeDay says whether all rows of a day are still there.
func completeDay(tx *gorm.DB, day int64) (bool, error) {
	micro := time.Second.Microseconds()
	var counts struct{ Summed, Stored int64 }
	err := tx.Raw(`SELECT (SELECT COALESCE(CAST(SUM(calls) AS BIGINT), 0) FROM usage_days WHERE day = ?) AS summed,
		(SELECT COUNT(*) FROM calls WHERE id >= ? AND id < ?) AS stored`, dayOf(day),
		formerID(day*micro, ""), formerID((day+secondsPerDay)*micro, "")).Scan(&counts).Error
	return counts.Summed == counts.Stored, err
}
