package models

import (
	"context"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// BudgetAlert says that an account reached a share of its budget in a window. The columns
// of its primary key tell alerts apart: a budget that is changed can alert again. Money is in
// micro-dollars, times are Unix microseconds.
type BudgetAlert struct {
	Account   string `gorm:"primaryKey"`
	Span      Window `gorm:"primaryKey"`
	Period    string `gorm:"primaryKey"` // first day of the window; empty for Total
	Threshold int64  `gorm:"primaryKey"` // percent
	Budget    int64  `gorm:"primaryKey"`
	Spent     int64  // when the share was seen to be reached
	ID        string // what receivers know it by
	Attempts  int    // claims
	CreatedAt int64  `gorm:"autoCreateTime:false"`
	DueAt     int64  // 0: ended

	Name string `gorm:"->;-:migration"` // of the account; read by ClaimBudgetAlert
}

// Owner is the key, the user or the team that the account is of.
func (a *BudgetAlert) Owner() (kind BudgetKind, id string) {
	text, id, _ := strings.Cut(a.Account, ":")
	return BudgetKind(text), id
}

// budgetNames find the names of those that have budgets.
var budgetNames = map[BudgetKind]string{
	"key":  "SELECT name FROM api_keys WHERE id = ?",
	"team": "SELECT name FROM teams WHERE id = ?",
	"user": "SELECT email FROM users WHERE id = ?",
}

// AddBudgetAlerts adds those that are not there, and erases alerts of windows that ended
// long before.
func (s *Store) AddBudgetAlerts(ctx context.Context, alerts []BudgetAlert, before string) error {
	return s.inTx(ctx, func(tx *gorm.DB) error {
		const rows = 100
		err := tx.Clauses(clause.OnConflict{DoNothing: true}).Omit("Name").CreateInBatches(alerts, rows).Error
		if err != nil {
			return err
		}
		return tx.Where("period <> '' AND period < ?", before).Delete(&BudgetAlert{}).Error
	})
}

// claimAlert is one statement, so that one replica gets the alert. On PostgreSQL a second
// claim waits for the first one's row and then sees that due_at has changed.
const claimAlert = `UPDATE budget_alerts SET attempts = attempts + 1, due_at = @until
	WHERE due_at > 0 AND due_at <= @now AND id = (SELECT id FROM budget_alerts WHERE due_at > 0 AND due_at <= @now
	ORDER BY due_at, id LIMIT 1) RETURNING *`

// ClaimBudgetAlert is an alert that is due, with the name of its account. Other replicas get
// it only after until, if it is neither ended nor put off. ErrNotFound when none is due, or
// another replica has claimed it at this moment.
func (s *Store) ClaimBudgetAlert(ctx context.Context, now, until int64) (*BudgetAlert, error) {
	var claimed []BudgetAlert
	err := s.run(ctx, func(db *gorm.DB) error {
		return db.Raw(claimAlert, map[string]any{"now": now, "until": until}).Scan(&claimed).Error
	})
	if err != nil {
		return nil, err
	}
	if len(claimed) == 0 {
		return nil, ErrNotFound
	}
	a := &claimed[0]
	kind, id := a.Owner()
	err = s.run(ctx, func(db *gorm.DB) error { return db.Raw(budgetNames[kind], id).Scan(&a.Name).Error })
	return a, err
}

// PutOffBudgetAlert sets when a claimed alert is sent again; 0 ends it. A claim that another
// replica has taken over since is left alone.
func (s *Store) PutOffBudgetAlert(ctx context.Context, a *BudgetAlert, due int64) error {
	return s.run(ctx, func(db *gorm.DB) error {
		return db.Model(&BudgetAlert{}).Where("id = ? AND attempts = ?", a.ID, a.Attempts).Update("due_at", due).Error
	})
}

// NextBudgetAlert is when the next alert is due; 0 when none waits.
func (s *Store) NextBudgetAlert(ctx context.Context) (due int64, err error) {
	err = s.run(ctx, func(db *gorm.DB) error {
		return db.Raw("SELECT COALESCE(MIN(due_at), 0) FROM budget_alerts WHERE due_at > 0").Scan(&due).Error
	})
	return due, err
}
