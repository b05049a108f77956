package models

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"gorm.io/gorm"
)

// UsageTime is the sum of calls of one group that began in a short time.
type UsageTime struct {
	At    int64 // Unix seconds: the beginning of the time
	Group UsageGroup
	Tally *Tally // of no other row, until the next one is read
}

// UsageRange selects usage by time, and what is done with it.
type UsageRange struct {
	From, To int64 // Unix seconds, To excluded

	// Whole says of an hour or a day whether its calls need not be told apart.
	Whole func(from, to int64) bool

	// Add receives all sums that the query selects. Its error ends the reading.
	Add func(UsageTime) error

	teams map[string]string // of keys: sums of the former release have no teams
}

// usageReadTimeout bounds the reading of all sums of a query.
const usageReadTimeout = 10 * time.Second

// UsageTimes reads the sums that q selects; its groups are not looked at. Times
// are as short as UsageMinutesKept and UsageQuartersKept say, unless r.Whole allows
// longer ones. Of days for which there are only sums of days, each has the time of its
// noon (UTC); before is the end of these days, or 0.
func (s *Store) UsageTimes(ctx context.Context, q *UsageQuery, r UsageRange) (before int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, usageReadTimeout)
	defer cancel()
	if r.teams, err = s.teamsOfKeys(ctx); err != nil {
		return 0, err
	}
	var since int64
	err = s.run(ctx, func(db *gorm.DB) error {
		return db.Table("usage_since").Select("since").Where("id = 1").Take(&since).Error
	})
	if err != nil {
		return 0, err
	}
	if since > r.From {
		before = min(since, dayBegin(r.To-1)+secondsPerDay)
		if err := s.readDays(ctx, q, r, before); err != nil {
			return 0, err
		}
	}
	for _, table := range []struct {
		name string
		from int64
	}{{formerSums, max(since, r.From)}, {ledgerSums, r.From}} {
		for from := dayBegin(table.from); from < r.To; {
			const most = 31 // days in one statement
			to, whole := from+secondsPerDay, r.Whole(from, from+secondsPerDay)
			for to < r.To && to-from < most*secondsPerDay && r.Whole(to, to+secondsPerDay) == whole {
				to += secondsPerDay
			}
			if err := s.readPacked(ctx, r, packedDays{table.name, from, to, whole, q, &before}); err != nil {
				return 0, err
			}
			from = to
		}
	}
	return before, nil
}

// wants says whether a query selects a group.
func (q *UsageQuery) wants(g UsageGroup) bool {
	is := func(only, value string) bool { return only == "" || only == value }
	return is(q.UserID, g.User) && is(q.KeyID, g.Key) && is(q.ModelID, g.Model) && is(q.Provider, g.Provider) &&
		is(q.TeamID, g.Team) && is(q.Agent, g.Agent) && is(q.Project, g.Project)
}

// packedDays are days whose sums one statement reads.
type packedDays struct {
	table    string
	from, to int64
	whole    bool // the times of a day need not be told apart
	query    *UsageQuery
	before   *int64 // the end of the days that have no times
}

// readPacked reads the packed sums of some days in one statement, since at the same time
// they may be merged.
func (s *Store) readPacked(ctx context.Context, r UsageRange, days packedDays) error {
	columns := "begins, hours, totals"
	if !days.whole {
		columns += ", details"
	}
	return s.rows(ctx, func(db *gorm.DB) *gorm.DB {
		return db.Table(days.table).Select(columns).Where("begins >= ? AND begins < ?", days.from, days.to)
	}, func(rows *sql.Rows) error {
		var begins, hours int64
		var totals, details sql.RawBytes
		into := []any{&begins, &hours, &totals}
		if !days.whole {
			into = append(into, &details)
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		p, first := packed{totals, details}, begins
		if r.Whole(begins, begins+hours*secondsPerHour) {
			p.details = nil
		} else if len(details) == 0 { // they are older than UsageQuartersKept
			first += hours * secondsPerHour / 2
			*days.before = max(*days.before, begins+hours*secondsPerHour)
		}
		wanted := func(g UsageGroup) bool {
			if days.table == formerSums {
				g.Team = r.teams[g.Key]
			}
			return days.query.wants(g)
		}
		for one, err := range p.each(wanted) {
			if err != nil {
				return err
			}
			at := first + one.minute*secondsPerMinute
			if days.table == formerSums {
				one.group.Team = r.teams[one.group.Key]
			}
			if at < r.From || at >= r.To {
				continue
			}
			if err := r.Add(UsageTime{At: at, Group: one.group, Tally: &one.tally}); err != nil {
				return err
			}
		}
		return nil
	})
}

func dayOf(at int64) string { return DayOf(time.Unix(at, 0)) }

// rows runs a query and reads its rows one by one.
func (s *Store) rows(ctx context.Context, query func(db *gorm.DB) *gorm.DB, read func(*sql.Rows) error) error {
	return s.run(ctx, func(db *gorm.DB) (err error) {
		rows, err := query(db).Rows()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
		for rows.Next() {
			if err := read(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}
