package models

import (
	"context"

	"gorm.io/gorm"
)

// ChangeKey calls change, which may alter the name and the limits of a user's
// key, and returns the key with its changes. All of it is one transaction, and no
// other change of keys or users runs at the same time. ErrNotFound for a key that
// is unknown, revoked or another user's. An error of change is returned, and
// nothing is changed.
func (s *Store) ChangeKey(ctx context.Context, userID, id string, change func(*Key) error) (*Key, error) {
	var k *Key
	err := s.Change(ctx, func(tx *Transaction) error {
		var err error
		if k, err = tx.Key(id); err != nil {
			return err
		}
		if k.UserID != userID {
			return ErrNotFound
		}
		before := *k
		if err := change(k); err != nil {
			return err
		}
		return tx.UpdateKey(&before, k)
	})
	return k, err
}

// columnChanges are columns and their new values.
type columnChanges map[string]any

func (c columnChanges) compare(column string, was, now any) {
	if was != now {
		c[column] = now
	}
}

func (c columnChanges) compareLimits(was, now *Limits) {
	c.compare("expires_at", was.ExpiresAt, now.ExpiresAt)
	c.compare("models", string(was.Models), string(now.Models))
	c.compare("budget", was.Budget, now.Budget)
	c.compare("budget_window", string(was.BudgetWindow), string(now.BudgetWindow))
	c.compare("budget_extra", was.BudgetExtra, now.BudgetExtra)
	c.compare("budget_extra_until", was.BudgetExtraUntil, now.BudgetExtraUntil)
	c.compare("session_budget", was.SessionBudget, now.SessionBudget)
	c.compare("budget_reserve", string(was.BudgetReserve), string(now.BudgetReserve))
	before := was.All()
	for i, after := range now.All() {
		c.compare(after.Column, *before[i].Value, *after.Value)
	}
}

// keyChanges are the columns whose values differ. The update must not name the
// others: the trigger that counts revisions fires for the columns that are named,
// so that a new name alone would count.
func keyChanges(before, after *Key) map[string]any {
	c := columnChanges{}
	c.compare("name", before.Name, after.Name)
	c.compare("limited_by", before.LimitedBy, after.LimitedBy)
	c.compare("hash", before.Hash, after.Hash)
	c.compare("prefix", before.Prefix, after.Prefix)
	c.compare("previous_hash", before.PreviousHash, after.PreviousHash)
	c.compare("previous_expires_at", before.PreviousExpiresAt, after.PreviousExpiresAt)
	c.compare("revoked_at", before.RevokedAt, after.RevokedAt)
	c.compare("revoked_by", before.RevokedBy, after.RevokedBy)
	c.compareLimits(&before.Limits, &after.Limits)
	return c
}

// OwnedKey is a key with its user's e-mail address and its team's name, as far as it
// has them.
type OwnedKey struct {
	Key
	UserEmail string
	TeamName  string
}

// KeyFilter selects keys; an empty field selects all.
type KeyFilter struct {
	ID     string
	UserID string
	TeamID string
	State  KeysIn
	Prefix string // the beginning of the name, in any case, or of the key as it is shown
}

// KeysIn selects keys by their state.
type KeysIn string

// The states.
const (
	KeysLive    KeysIn = "" // not revoked; they may have expired
	KeysRevoked KeysIn = "revoked"
	KeysAll     KeysIn = "all"
)

// AllKeys lists keys, the newest first. ErrNotFound when p.After
// is not the id of a key.
func (s *Store) AllKeys(ctx context.Context, f KeyFilter, p Page) ([]OwnedKey, error) {
	var keys []OwnedKey
	err := s.run(ctx, func(db *gorm.DB) error {
		q := db.Table("api_keys").
			Select("api_keys.*, COALESCE(users.email, '') AS user_email, COALESCE(teams.name, '') AS team_name").
			Joins("LEFT JOIN users ON users.id = api_keys.user_id").Joins("LEFT JOIN teams ON teams.id = api_keys.team_id").
			Where(f.State.condition())
		q = equal(q, [][2]string{{"api_keys.id", f.ID}, {"api_keys.user_id", f.UserID}, {"api_keys.team_id", f.TeamID}})
		if f.Prefix != "" {
			begins := likeText(f.Prefix) + "%"
			q = q.Where(`(LOWER(api_keys.name) LIKE LOWER(?) ESCAPE '\' OR api_keys.prefix LIKE ? ESCAPE '\')`, begins, begins)
		}
		if p.After != "" {
			var last Key // it may have been revoked since the last page
			if err := db.Where("id = ?", p.After).Take(&last).Error; err != nil {
				return err
			}
			q = q.Where("(api_keys.created_at, api_keys.id) < (?, ?)", last.CreatedAt, last.ID)
		}
		return q.Order("api_keys.created_at DESC, api_keys.id DESC").Limit(p.Limit).Find(&keys).Error
	})
	return keys, err
}

func (s KeysIn) condition() string {
	switch s {
	case KeysRevoked:
		return "api_keys.revoked_at <> 0"
	case KeysAll:
		return "api_keys.revoked_at >= 0"
	}
	return "api_keys.revoked_at = 0"
}
