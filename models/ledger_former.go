package models

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"time"

	"gorm.io/gorm"
)

// The tables of the former release: calls, usage_days, usage_sums and usage_since. They stay, with
// what is in them, until the next release.

var callRows = newBulkInsert("calls",
	[]string{"id", "request_id", "user_id", "key_id", "model", "served", "provider", "outcome", "error_code", "upstream_request_id",
		"team_id", "dialect", "user_agent", "upstream_key", "detail"},
	[]string{"stream", "estimated", "priced", "summed"},
	[]string{"attempts", "status", "input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens",
		"cost", "began_at", "first_token_us", "duration_us", "overhead_us", "opened_us"},
	"")

// formerTables are what the tables of the former release are used for.
type formerTables struct {
	Written bool // calls are written to them: replicas of the former release may live, which know no others
	Stored  bool // they have rows of calls
}

// formerTables looks for the last row, which is moved last: before the first one there may be many deleted ones.
func (s *Store) formerTables(tx *gorm.DB) (t formerTables, err error) {
	query := `SELECT (SELECT id FROM calls ORDER BY id DESC LIMIT 1) IS NOT NULL AS stored,
		write_from * 1000000 > EXTRACT(EPOCH FROM statement_timestamp()) * 1000000
		OR EXISTS (SELECT 1 FROM replicas WHERE ledger_until <> alive_until AND alive_until >
		EXTRACT(EPOCH FROM statement_timestamp()) * 1000000) AS written FROM ledger_state`
	if s.embedded { // there is no other replica
		query = "SELECT EXISTS (SELECT 1 FROM calls) AS stored, write_from > CAST(strftime('%s', 'now') AS INTEGER) AS written FROM ledger_state"
	}
	return t, tx.Raw(query).Scan(&t).Error
}

// insertFormer inserts rows of calls, and their sums, into the tables of the former release.
func insertFormer(on connTx, calls []Call, sums *sums) error {
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
	if err != nil {
		return fmt.Errorf("calls: %w", err)
	}
	if err := sums.writeDays(on); err != nil {
		return err
	}
	return sums.writeMinutes(on.tx, formerSums, calls[0].ID)
}

var usageRows = newBulkInsert("usage_days",
	[]string{"day", "user_id", "key_id", "model", "provider"}, nil,
	[]string{"calls", "failed", "estimated", "unpriced",
		"input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens", "cost"},
	`ON CONFLICT (day, user_id, key_id, model, provider) DO UPDATE SET
	calls = usage_days.calls + excluded.calls,
	failed = usage_days.failed + excluded.failed,
	estimated = usage_days.estimated + excluded.estimated,
	unpriced = usage_days.unpriced + excluded.unpriced,
	input_tokens = usage_days.input_tokens + excluded.input_tokens,
	cached_tokens = usage_days.cached_tokens + excluded.cached_tokens,
	cache_write_tokens = usage_days.cache_write_tokens + excluded.cache_write_tokens,
	output_tokens = usage_days.output_tokens + excluded.output_tokens,
	reasoning_tokens = usage_days.reasoning_tokens + excluded.reasoning_tokens,
	cost = usage_days.cost + excluded.cost`)

// writeDays adds sums to those of the days.
func (s *sums) writeDays(on connTx) error {
	type key struct {
		day int64
		UsageGroup
	}
	days := map[key]*Sum{}
	for group, minutes := range s.usage {
		for _, m := range *minutes {
			k := key{m.minute / (hoursPerDay * minutesPerHour), group}
			if days[k] == nil {
				days[k] = &Sum{}
			}
			days[k].Add(&m.Sum)
		}
	}
	keys := slices.SortedFunc(maps.Keys(days), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.day, b.day), a.compare(b.UsageGroup))
	})
	err := usageRows.upsert(on, bulkRows{len(keys), func(i int, r *bulkRow) {
		k := keys[i]
		r.texts = append(r.texts, formatDay(k.day), k.User, k.Key, k.Model, k.Provider)
		numbers := days[k].numbers()
		for _, n := range numbers[:formerNumbers] {
			r.numbers = append(r.numbers, *n)
		}
	}})
	if err != nil {
		return fmt.Errorf("usage of days: %w", err)
	}
	return nil
}

// formerCalls are the calls of the former table for a page: those with ids of the former release, and
// those with ids of this one, which was waiting for former replicas to end.
func (s *Store) formerCalls(db *gorm.DB, f *CallFilter, p Page) (found []foundCalls, err error) {
	tables, err := s.formerTables(db)
	if err != nil || !tables.Stored || f.Session+f.Agent+f.Project != "" || f.CacheMiss != 0 { // which are not stored there
		return nil, err
	}
	for _, form := range []formerFilter{
		{f, "id >= 'call_1'", func(at time.Time) string { return formerID(at.UnixMicro(), "") }},
		{f, "id < 'call_1'", func(at time.Time) string { return callIDText(firstCallNumber(at)) }},
	} {
		one, err := form.calls(db, p)
		if err != nil {
			return nil, err
		}
		found = append(found, one)
	}
	return found, nil
}

// formerFilter selects rows of the former table whose ids have one form.
type formerFilter struct {
	*CallFilter
	form  string
	first func(time.Time) string // an id that is not greater than those of calls that begin at a time
}

func (f *formerFilter) calls(db *gorm.DB, p Page) (found foundCalls, err error) {
	const sameTime = 200 // more than there are calls of the same millisecond, which are sorted by their numbers later
	scanned := f.ordered(f.indexed(db.Table("calls"), p.After)).Limit(f.scanned())
	newest := f.ordered(f.others(db, db.Table("(?) AS calls", scanned))).Limit(p.Limit + sameTime)
	if err := newest.Find(&found.calls).Error; err != nil {
		return found, err
	}
	var last string // of what was read, of whose millisecond there may be more
	if n := len(found.calls); n == p.Limit+sameTime {
		last = found.calls[n-1].ID
	} else if f.scans() {
		end := f.ordered(f.indexed(db.Table("calls"), p.After)).Offset(f.scanned() - 1).Limit(1)
		if err := end.Select("id").Scan(&last).Error; err != nil {
			return found, err
		}
	}
	if last != "" {
		found.all = firstCallNumber(CallBegan(last).Add(time.Millisecond))
	}
	if p.After != "" {
		after := numberOf(p.After)
		found.calls = slices.DeleteFunc(found.calls, func(c Call) bool { return numberOf(c.ID) >= after })
		found.all = min(found.all, after-1)
	}
	return found, nil
}

// ordered sorts by the index that selects the calls. Their ids begin with the time as well.
func (f *formerFilter) ordered(calls *gorm.DB) *gorm.DB {
	if f.owned() {
		return calls.Order("began_at DESC, id DESC")
	}
	return calls.Order("id DESC")
}

// indexed selects by time and by an owner. The conditions on the empty text let the databases
// use the indexes, which have only the calls of those who have one.
func (f *formerFilter) indexed(calls *gorm.DB, after string) *gorm.DB {
	calls = calls.Where(f.form)
	switch {
	case f.UserID != "":
		calls = calls.Where("user_id = ? AND user_id <> ''", f.UserID)
	case f.TeamID != "":
		calls = calls.Where("team_id = ? AND team_id <> ''", f.TeamID)
	}
	if after != "" {
		end := CallBegan(after).Add(time.Millisecond)
		calls = calls.Where("began_at < ? AND id < ?", end.UnixMicro(), f.first(end))
	}
	from, to := f.bounds()
	if from > 0 {
		calls = calls.Where("began_at >= ? AND id >= ?", from, f.first(time.UnixMicro(from)))
	}
	if to > 0 {
		calls = calls.Where("began_at < ? AND id < ?", to, f.first(time.UnixMicro(to).Add(time.Second)))
	}
	return calls
}

// others selects by what has no index.
func (f *formerFilter) others(db, calls *gorm.DB) *gorm.DB {
	for _, only := range []struct{ column, value string }{
		{"key_id", f.KeyID}, {"team_id", f.TeamID}, {"provider", f.Provider}, {"dialect", f.Dialect},
		{"outcome", f.Outcome}, {"request_id", f.RequestID},
	} {
		if only.value != "" {
			calls = calls.Where(only.column+" = ?", only.value)
		}
	}
	if f.Model != "" {
		calls = calls.Where("(served = ? OR served = '' AND model = ?)", f.Model, f.Model)
	}
	if f.Failed {
		calls = calls.Where("outcome NOT IN ?", []string{OutcomeOK, OutcomeClient})
	}
	if f.MaxStatus > 0 {
		calls = calls.Where("status BETWEEN ? AND ?", f.MinStatus, f.MaxStatus)
	}
	if f.Search != "" {
		keys, users := f.searched(db)
		calls = calls.Where("(request_id = ? OR key_id IN (?) OR user_id IN (?))", f.Search, keys, users)
	}
	return calls
}

// where selects the rows of the query, of any day.
func (q *UsageQuery) where(db *gorm.DB) *gorm.DB {
	for _, only := range q.columns() {
		if only.value != "" {
			db = db.Where(only.column+" = ?", only.value)
		}
	}
	if q.TeamID != "" {
		db = db.Where("key_id IN (SELECT id FROM api_keys WHERE team_id = ?)", q.TeamID)
	}
	return db
}

// columns are the columns that have to have a value.
func (q *UsageQuery) columns() []columnValue {
	return []columnValue{{"user_id", q.UserID}, {"key_id", q.KeyID}, {"model", q.ModelID}, {"provider", q.Provider}}
}

type columnValue struct{ column, value string }

// readDays reads the sums of the days before one.
func (s *Store) readDays(ctx context.Context, q *UsageQuery, r UsageRange, before int64) error {
	if q.Agent+q.Project != "" {
		return nil // they have none
	}
	const most = 31 * secondsPerDay
	for from := dayBegin(r.From); from < before; from += most {
		to := min(from+most, before)
		err := s.rows(ctx, func(db *gorm.DB) *gorm.DB {
			return q.where(db.Table("usage_days").Where("day >= ? AND day < ?", dayOf(from), dayOf(to))).
				Select(`day, user_id, key_id, model, provider, calls, failed, estimated, unpriced, input_tokens,
					cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens, cost`)
		}, func(rows *sql.Rows) error {
			var day string
			var g UsageGroup
			var t Tally
			into := []any{&day, &g.User, &g.Key, &g.Model, &g.Provider}
			numbers := t.numbers()
			for _, n := range numbers[:formerNumbers] {
				into = append(into, n)
			}
			if err := rows.Scan(into...); err != nil {
				return err
			}
			at, err := time.Parse(time.DateOnly, day)
			if err != nil {
				return err
			}
			t.Errors[ErrorOther] = t.Failed
			g.Team = r.teams[g.Key]
			noon := at.Unix() + secondsPerDay/2
			if noon < r.From || noon >= r.To {
				return nil
			}
			return r.Add(UsageTime{At: noon, Group: g, Tally: &t})
		})
		if err != nil {
			return err
		}
	}
	return nil
}
