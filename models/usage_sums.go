package models

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"
)

// UsageMinutesKept is how long usage has sums of minutes. Older ones are of quarter hours.
const UsageMinutesKept = 4 * 24 * time.Hour

// UsageQuartersKept is how long usage has sums of quarter hours, with distributions of
// times and kinds of errors: for two periods of a year. Older ones are of days.
const UsageQuartersKept = 800 * 24 * time.Hour

const (
	minutesPerHour    = 60
	minutesPerQuarter = 15
	hoursPerDay       = 24
	secondsPerMinute  = 60
	secondsPerHour    = 3600
	secondsPerDay     = hoursPerDay * secondsPerHour
)

// usageSums is a row with the sums of an hour or a day.
type usageSums struct {
	Begins  int64 // Unix seconds
	Hours   int64 // 1 or 24
	Part    string
	Totals  []byte
	Details []byte
}

// The tables of packed sums.
const (
	ledgerSums = "ledger_sums"
	formerSums = "usage_sums"
)

// formOf is the form of the sums in a table.
func formOf(table string) byte {
	if table == formerSums {
		return formerForm
	}
	return packedForm
}

// writeMinutes adds the sums of the minutes to a table. part is different for each batch.
func (s *sums) writeMinutes(tx *gorm.DB, table, part string) error {
	byHour := map[int64]minutesOf{}
	for group, minutes := range s.usage {
		for _, m := range *minutes {
			hour := m.minute / minutesPerHour
			of := byHour[hour]
			if of == nil {
				of = minutesOf{}
				byHour[hour] = of
			}
			of[group] = append(of[group], m)
		}
	}
	rows := make([]usageSums, 0, len(byHour))
	for hour, of := range byHour {
		rows = append(rows, packRow(formOf(table), usageSums{Begins: hour * secondsPerHour, Hours: 1, Part: part}, of))
	}
	slices.SortFunc(rows, func(a, b usageSums) int { return cmp.Compare(a.Begins, b.Begins) })
	const perStatement = 500
	if err := tx.Table(table).CreateInBatches(rows, perStatement).Error; err != nil {
		return fmt.Errorf("usage of minutes: %w", err)
	}
	return nil
}

func packRow(form byte, row usageSums, of minutesOf) usageSums {
	p := pack(form, row.Begins/secondsPerMinute, of)
	row.Totals, row.Details = p.totals, p.details
	return row
}

// mergedAtOnce is how many rows one transaction of MergeUsage reads.
const mergedAtOnce = 500

// MergeUsage merges the sums that the ledger has added to an hour since the last time, or
// the hours of a day that is older than UsageMinutesKept, in one transaction. It reports
// whether there may be more to merge.
func (s *Store) MergeUsage(ctx context.Context, now time.Time) (more bool, err error) {
	days := dayBegin(now.Add(-UsageMinutesKept).Unix()) // before: sums of days
	for _, table := range []string{ledgerSums, formerSums} {
		err = s.inTx(ctx, func(tx *gorm.DB) error {
			if mine, err := s.tryLock(tx, table); err != nil || !mine {
				return err
			}
			var next []int64
			err := tx.Table(table).Where("part NOT IN ('', ?) OR hours = 1 AND begins < ?", takenPart, days).
				Order("begins").Limit(1).Pluck("begins", &next).Error
			if err != nil || len(next) == 0 {
				return err
			}
			more = true
			if next[0] < days {
				return merge(tx, table, dayBegin(next[0]), hoursPerDay)
			}
			return merge(tx, table, next[0], 1)
		})
		if err != nil {
			return more, err
		}
	}
	return more, nil
}

// merge merges rows of the time from begins on into one.
func merge(tx *gorm.DB, table string, begins, hours int64) error {
	var rows []usageSums
	end := begins + hours*secondsPerHour
	err := tx.Table(table).Where("part <> ? AND begins >= ? AND begins < ? AND hours <= ?", takenPart, begins, end, hours).
		Order("hours DESC, begins, part").Limit(mergedAtOnce).Find(&rows).Error
	if err != nil {
		return err
	}
	grain := int64(1)
	if hours == hoursPerDay {
		grain = minutesPerQuarter
	}
	all := minutesOf{}
	parts := map[[2]int64][]string{}
	for i := range rows {
		row := &rows[i]
		if err := row.addTo(all, grain); err != nil {
			return err
		}
		at := [2]int64{row.Begins, row.Hours}
		parts[at] = append(parts[at], row.Part)
	}
	for at, of := range parts {
		err := tx.Table(table).Where("begins = ? AND hours = ? AND part IN ?", at[0], at[1], of).Delete(&usageSums{}).Error
		if err != nil {
			return err
		}
	}
	merged := packRow(formOf(table), usageSums{Begins: begins, Hours: hours}, all)
	return tx.Table(table).Create(&merged).Error
}

// addTo adds the sums of a row to others, by times of so many minutes.
func (r *usageSums) addTo(all minutesOf, grain int64) error {
	for one, err := range (packed{r.Totals, r.Details}).each(anyGroup) {
		if err != nil {
			return err
		}
		of := all[one.group]
		minute := r.Begins/secondsPerMinute + one.minute
		tallyOf(&of, minute-minute%grain).add(&one.tally)
		all[one.group] = of
	}
	return nil
}

func anyGroup(UsageGroup) bool { return true }

func dayBegin(at int64) int64 { return at - at%secondsPerDay }

// tryLock takes the lock of this name until the transaction ends, unless another has it.
func (s *Store) tryLock(tx *gorm.DB, name string) (mine bool, err error) {
	if s.embedded {
		return true, nil // SQLite's transactions are immediate: they are the lock themselves
	}
	err = tx.Raw("SELECT pg_try_advisory_xact_lock(hashtextextended(?, 6))", name).Scan(&mine).Error
	return mine, err
}

// DeleteUsageBefore deletes the sums of minutes and quarter hours of the days before one.
// Those of days stay.
func (s *Store) DeleteUsageBefore(ctx context.Context, at time.Time) error {
	day := dayBegin(at.Unix())
	return s.inTx(ctx, func(tx *gorm.DB) error {
		err := tx.Table(ledgerSums).Where("begins < ? AND hours = ? AND part = '' AND LENGTH(details) > 0", day, hoursPerDay).
			UpdateColumn("details", []byte{}).Error
		if err != nil {
			return err
		}
		if err := tx.Table(formerSums).Where("begins < ?", day).Delete(&usageSums{}).Error; err != nil {
			return err
		}
		return tx.Exec("UPDATE usage_since SET since = ? WHERE since < ? AND EXISTS (SELECT 1 FROM usage_days)", day, day).Error
	})
}
