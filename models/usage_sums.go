package models

import (
	"cmp"
	"context"
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

// TableName is the table of the packed sums.
func (usageSums) TableName() string { return "usage_sums" }

// writeMinutes adds the sums of the minutes. part is different for each batch.
func (s *sums) writeMinutes(tx *gorm.DB, part string) error {
	byHour := map[int64]minutesOf{}
	for k, minutes := range s.usage {
		for i := range *minutes {
			m := &(*minutes)[i]
			hour := m.minute / minutesPerHour
			of := byHour[hour]
			if of == nil {
				of = minutesOf{}
				byHour[hour] = of
			}
			of[k.UsageGroup] = append(of[k.UsageGroup], *m)
		}
	}
	rows := make([]usageSums, 0, len(byHour))
	for hour, of := range byHour {
		rows = append(rows, packRow(hour*secondsPerHour, 1, part, of))
	}
	slices.SortFunc(rows, func(a, b usageSums) int { return cmp.Compare(a.Begins, b.Begins) })
	const perStatement = 500
	return tx.CreateInBatches(rows, perStatement).Error
}

func packRow(begins, hours int64, part string, of minutesOf) usageSums {
	p := pack(begins/secondsPerMinute, of)
	return usageSums{Begins: begins, Hours: hours, Part: part, Totals: p.totals, Details: p.details}
}

// mergedAtOnce is how many rows one transaction of MergeUsage reads.
const mergedAtOnce = 500

// MergeUsage merges the sums that the ledger has added to an hour since the last time, or
// the hours of a day that is older than UsageMinutesKept, in one transaction. It reports
// whether there may be more to merge.
func (s *Store) MergeUsage(ctx context.Context, now time.Time) (more bool, err error) {
	days := dayBegin(now.Add(-UsageMinutesKept).Unix()) // before: sums of days
	err = s.inTx(ctx, func(tx *gorm.DB) error {
		if mine, err := s.tryLock(tx, "usage_sums"); err != nil || !mine {
			return err
		}
		var next []int64
		err := tx.Model(&usageSums{}).Where("part <> '' OR hours = 1 AND begins < ?", days).
			Order("begins").Limit(1).Pluck("begins", &next).Error
		if err != nil || len(next) == 0 {
			return err
		}
		more = true
		if next[0] < days {
			return merge(tx, dayBegin(next[0]), hoursPerDay)
		}
		return merge(tx, next[0], 1)
	})
	return more, err
}

// merge merges rows of the time from begins on into one.
func merge(tx *gorm.DB, begins, hours int64) error {
	var rows []usageSums
	err := tx.Where("begins >= ? AND begins < ? AND hours <= ?", begins, begins+hours*secondsPerHour, hours).
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
		for one, err := range (packed{row.Totals, row.Details}).each(anyGroup) {
			if err != nil {
				return err
			}
			of := all[one.group]
			minute := row.Begins/secondsPerMinute + one.minute
			tallyOf(&of, minute-minute%grain).add(&one.tally)
			all[one.group] = of
		}
		at := [2]int64{row.Begins, row.Hours}
		parts[at] = append(parts[at], row.Part)
	}
	for at, of := range parts {
		if err := tx.Where("begins = ? AND hours = ? AND part IN ?", at[0], at[1], of).Delete(&usageSums{}).Error; err != nil {
			return err
		}
	}
	merged := packRow(begins, hours, "", all)
	return tx.Create(&merged).Error
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
		if err := tx.Where("begins < ?", day).Delete(&usageSums{}).Error; err != nil {
			return err
		}
		return tx.Exec("UPDATE usage_since SET since = ? WHERE since < ?", day, day).Error
	})
}
