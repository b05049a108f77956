package models

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// Refusal is a call with a known key that the gateway refused. Such calls are not in the ledger.
type Refusal struct {
	ID        string // of NewCallID: no call of the ledger has it
	At        int64  // Unix microseconds
	RequestID string
	Status    int    // HTTP
	Reason    string // the code of the error
	Model     string // as requested; empty where the request was not read so far
	Message   string // that the client got

	KeyID, UserID, TeamID string // the last two are empty for a key without one

	Of *NamedCall `gorm:"-"` // the names of those whose call it was, in a list
}

// RefusalCount is how many calls with a key were refused for a reason.
type RefusalCount struct {
	Begins                        int64 // Unix seconds, of a quarter of an hour
	KeyID, Reason, UserID, TeamID string
	Refused                       int64
}

// RefusalsPerMinute is how many rows there are of the refusals of a key in each minute: the first ones.
const RefusalsPerMinute = 10

// Clean changes a row so that every database accepts it.
func (r *Refusal) Clean() {
	const longestMessage = 500
	r.RequestID, r.Model = cleanText(r.RequestID), cleanText(r.Model)
	r.Message = clipped(strings.ReplaceAll(strings.ToValidUTF8(r.Message, ""), "\x00", ""), longestMessage)
}

// WriteRefusals adds rows, the oldest first, and adds counts to those of the database. Counts must be in the same order in all
// replicas, or their transactions could deadlock. ErrRefused when the database rejects the content of a row.
func (s *Store) WriteRefusals(ctx context.Context, rows []Refusal, counts []RefusalCount) error {
	add := clause.OnConflict{
		Columns:   []clause.Column{{Name: "begins"}, {Name: "key_id"}, {Name: "reason"}},
		DoUpdates: clause.Assignments(map[string]any{"refused": gorm.Expr("refusal_counts.refused + excluded.refused")}),
	}
	err := s.inTx(ctx, func(tx *gorm.DB) error {
		if err := tx.Clauses(add).CreateInBatches(counts, idsPerStatement).Error; err != nil || len(rows) == 0 {
			return err
		}
		if err := tx.Clauses(clause.OnConflict{DoNothing: true}).CreateInBatches(rows, idsPerStatement).Error; err != nil {
			return err
		}
		// Several replicas may have added to a minute.
		return tx.Exec(`DELETE FROM refusals WHERE id IN (SELECT id FROM (SELECT id, ROW_NUMBER() OVER
			(PARTITION BY key_id, at / 60000000 ORDER BY id) AS nth FROM refusals WHERE id >= ?) AS latest WHERE nth > ?)`,
			callIDText(firstCallNumber(time.UnixMicro(rows[0].At).Truncate(time.Minute))), RefusalsPerMinute).Error
	})
	if isRefused(err) {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return err
}

// equal selects rows that have these values in columns: those that are not empty.
func equal(rows *gorm.DB, columns [][2]string) *gorm.DB {
	for _, c := range columns {
		if c[1] != "" {
			rows = rows.Where(c[0]+" = ?", c[1])
		}
	}
	return rows
}

// Refusals lists refusals for a reason, if one is named, the newest first, and says whether there are more.
// Of the filter there count the owners, the model, the request, the search and the time.
func (s *Store) Refusals(ctx context.Context, f CallFilter, reason string, p Page) (rows []Refusal, more bool, err error) {
	err = s.run(ctx, func(db *gorm.DB) error {
		query := equal(db, [][2]string{
			{"user_id", f.UserID}, {"key_id", f.KeyID}, {"team_id", f.TeamID}, {"model", f.Model}, {"reason", reason},
			{"request_id", f.RequestID},
		}).Where("id >= ?", callIDText(firstCallNumber(time.UnixMicro(f.From))))
		if f.To > 0 {
			query = query.Where("id < ?", callIDText(firstCallNumber(time.UnixMicro(f.To))))
		}
		if p.After != "" {
			query = query.Where("id < ?", p.After)
		}
		if f.Search != "" {
			keys, users := f.searched(db)
			query = query.Where("(request_id = ? OR key_id IN (?) OR user_id IN (?))", f.Search, keys, users)
		}
		if err := query.Order("id DESC").Limit(p.Limit + 1).Find(&rows).Error; err != nil {
			return err
		}
		more, rows = len(rows) > p.Limit, rows[:min(len(rows), p.Limit)]
		calls := make([]Call, len(rows))
		for i, r := range rows {
			calls[i] = Call{UserID: r.UserID, KeyID: r.KeyID, TeamID: r.TeamID}
		}
		named, err := s.named(db, calls)
		for i := range named {
			rows[i].Of = &named[i]
		}
		return err
	})
	return rows, more, err
}

// Refused counts refusals by key and reason: of the owners and the time of the filter, and only of some keys,
// if any are named.
func (s *Store) Refused(ctx context.Context, f CallFilter, keys ...string) (counts []RefusalCount, err error) {
	err = s.run(ctx, func(db *gorm.DB) error {
		query := equal(db, [][2]string{{"user_id", f.UserID}, {"key_id", f.KeyID}, {"team_id", f.TeamID}}).
			Where("begins >= ? AND begins < ?", f.From/time.Second.Microseconds(), f.To/time.Second.Microseconds())
		if len(keys) > 0 {
			query = query.Where("key_id IN ?", keys)
		}
		return query.Select("key_id, reason, SUM(refused) AS refused").Group("key_id, reason").Find(&counts).Error
	})
	return counts, err
}

// DeleteRefusals deletes rows of before a time, the oldest first, and returns how many: at most limit. With the
// last of them it deletes the counts of before another time.
func (s *Store) DeleteRefusals(ctx context.Context, rows, counts time.Time, limit int) (n int64, err error) {
	err = s.run(ctx, func(db *gorm.DB) error {
		done := db.Exec("DELETE FROM refusals WHERE id IN (SELECT id FROM refusals WHERE id < ? ORDER BY id LIMIT ?)",
			callIDText(firstCallNumber(rows)), limit)
		if n = done.RowsAffected; done.Error != nil || n == int64(limit) {
			return done.Error
		}
		return db.Where("begins < ?", counts.Unix()).Delete(&RefusalCount{}).Error
	})
	return n, err
}
