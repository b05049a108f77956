package models

import (
	"context"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// Alert is an event that is told in one way. Event, About, Period and Way tell alerts apart. Times
// are Unix microseconds.
type Alert struct {
	ID        string // what receivers know it by
	Event     string
	About     string // the account, the provider or the model
	Period    string // what tells it from others about the same
	Way       string
	Text      string // for people
	Data      string // for programs, in JSON
	Attempts  int    // claims
	CreatedAt int64  `gorm:"autoCreateTime:false"`
	DueAt     int64  // 0: ended
	KeptUntil int64  // 0: for ever, so that it is not told again
	Error     string // of the last attempt; empty: it was accepted, or not tried
}

// AddAlerts adds those that are not there, and erases those that are kept no longer.
func (s *Store) AddAlerts(ctx context.Context, alerts []Alert, now int64) error {
	return s.inTx(ctx, func(tx *gorm.DB) error {
		const rows = 100
		if err := tx.Clauses(clause.OnConflict{DoNothing: true}).CreateInBatches(alerts, rows).Error; err != nil {
			return err
		}
		return tx.Where("due_at = 0 AND kept_until > 0 AND kept_until < ?", now).Delete(&Alert{}).Error
	})
}

// claimAlert is one statement, so that one replica gets the alert. On PostgreSQL a second
// claim waits for the first one's row and then sees that due_at has changed.
const claimAlert = `UPDATE alerts SET attempts = attempts + 1, due_at = @until
	WHERE due_at > 0 AND due_at <= @now AND id = (SELECT id FROM alerts WHERE due_at > 0 AND due_at <= @now
	ORDER BY due_at, id LIMIT 1) RETURNING *`

// ClaimAlert is an alert that is due. Other replicas get it only after until, if it is neither
// ended nor put off. ErrNotFound when none is due, or another replica has claimed it at this moment.
func (s *Store) ClaimAlert(ctx context.Context, now, until int64) (*Alert, error) {
	var claimed []Alert
	err := s.run(ctx, func(db *gorm.DB) error {
		return db.Raw(claimAlert, map[string]any{"now": now, "until": until}).Scan(&claimed).Error
	})
	if err != nil {
		return nil, err
	}
	if len(claimed) == 0 {
		return nil, ErrNotFound
	}
	return &claimed[0], nil
}

// PutOffAlert sets when a claimed alert is sent again, and why; 0 ends it. A claim that another
// replica has taken over since is left alone.
func (s *Store) PutOffAlert(ctx context.Context, a *Alert, due int64, why string) error {
	return s.run(ctx, func(db *gorm.DB) error {
		return db.Model(&Alert{}).Where("id = ? AND attempts = ?", a.ID, a.Attempts).
			UpdateColumns(map[string]any{"due_at": due, "error": why}).Error
	})
}

// NextAlert is when the next alert is due; 0 when none waits.
func (s *Store) NextAlert(ctx context.Context) (due int64, err error) {
	err = s.run(ctx, func(db *gorm.DB) error {
		return db.Raw("SELECT COALESCE(MIN(due_at), 0) FROM alerts WHERE due_at > 0").Scan(&due).Error
	})
	return due, err
}

// LastAlerts are the latest of some events, by what they are about.
func (s *Store) LastAlerts(ctx context.Context, events ...string) (map[string]Alert, error) {
	const query = `SELECT a.* FROM alerts a JOIN (SELECT about, MAX(created_at) AS at FROM alerts WHERE event IN ? GROUP BY about) l
		ON l.about = a.about AND l.at = a.created_at WHERE a.event IN ?`
	var rows []Alert
	err := s.run(ctx, func(db *gorm.DB) error { return db.Raw(query, events, events).Scan(&rows).Error })
	last := map[string]Alert{}
	for _, row := range rows {
		last[row.About] = row
	}
	return last, err
}

// Alerts lists alerts, the newest first. ErrNotFound when p.After is not the id of one.
func (s *Store) Alerts(ctx context.Context, p Page) (rows []Alert, err error) {
	err = s.run(ctx, func(db *gorm.DB) error {
		q := db
		if p.After != "" {
			last, err := take[Alert](db.Where("id = ?", p.After))
			if err != nil {
				return err
			}
			q = q.Where("(created_at, id) < (?, ?)", last.CreatedAt, last.ID)
		}
		return q.Order("created_at DESC, id DESC").Limit(p.Limit).Find(&rows).Error
	})
	return rows, err
}
