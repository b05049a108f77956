package models

import (
	"context"

	"gorm.io/gorm"
)

// ChangeKey lets change alter the name and the limits of a user's live key, in
// one transaction, in which nobody else changes it, and returns the key as it is
// then. ErrNotFound for one that is unknown, revoked or somebody else's. An
// error of change leaves everything as it was and is returned.
func (s *Store) ChangeKey(ctx context.Context, userID, id string, change func(*Key) error) (*Key, error) {
	return s.ChangeAnyKey(ctx, id, func(k *Key) (*Audit, error) {
		if k.UserID != userID {
			return nil, ErrNotFound
		}
		return nil, change(k)
	})
}

// ChangeAnyKey is ChangeKey for an administrator, whoever's the key is. The row
// that change returns becomes part of the transaction; it returns none when it
// changes nothing.
func (s *Store) ChangeAnyKey(ctx context.Context, id string, change func(*Key) (*Audit, error)) (*Key, error) {
	var k Key
	err := s.unit(ctx, func(tx *gorm.DB) error {
		if err := s.alone(tx); err != nil {
			return err
		}
		if err := tx.Where("id = ? AND revoked_at = 0", id).Take(&k).Error; err != nil {
			return err
		}
		before := k
		row, err := change(&k)
		if err != nil {
			return err
		}
		if columns := keyChanges(&before, &k); len(columns) > 0 {
			if err := tx.Model(&Key{}).Where("id = ?", k.ID).UpdateColumns(columns).Error; err != nil {
				return err
			}
		}
		return recordAct(tx, row)
	})
	return &k, err
}

// keyChanges are the columns that differ. The others are not named in the
// update, or a new name would count as a revision.
func keyChanges(before, after *Key) map[string]any {
	columns := map[string]any{}
	for _, c := range []struct {
		name     string
		was, now any
	}{
		{"name", before.Name, after.Name},
		{"expires_at", before.ExpiresAt, after.ExpiresAt},
		{"models", string(before.Models), string(after.Models)},
		{"rpm_limit", before.RPMLimit, after.RPMLimit},
		{"tpm_limit", before.TPMLimit, after.TPMLimit},
		{"max_parallel", before.MaxParallel, after.MaxParallel},
		{"budget", before.Budget, after.Budget},
		{"budget_window", string(before.BudgetWindow), string(after.BudgetWindow)},
		{"limited_by", before.LimitedBy, after.LimitedBy},
		{"revoked_at", before.RevokedAt, after.RevokedAt},
	} {
		if c.was != c.now {
			columns[c.name] = c.now
		}
	}
	return columns
}

// RevokeAnyKey is RevokeKey for an administrator, whoever's the key is. The row
// that audit makes of it becomes part of the transaction.
func (s *Store) RevokeAnyKey(ctx context.Context, id string, at int64, audit func(before, after *Key) (*Audit, error)) (*Key, error) {
	return s.ChangeAnyKey(ctx, id, func(k *Key) (*Audit, error) {
		before := *k
		k.RevokedAt = at
		return audit(&before, k)
	})
}

// OwnedKey is a key together with its user's address.
type OwnedKey struct {
	Key
	UserEmail string
}

// AllKeys lists live keys, a user's or, with an empty userID, everybody's, the
// newest first. ErrNotFound when the page is to come after a key that never was.
func (s *Store) AllKeys(ctx context.Context, userID string, p Page) ([]OwnedKey, error) {
	var keys []OwnedKey
	err := s.do(ctx, func(db *gorm.DB) error {
		q := db.Table("api_keys").Select("api_keys.*, users.email AS user_email").
			Joins("JOIN users ON users.id = api_keys.user_id").Where("api_keys.revoked_at = 0")
		if userID != "" {
			q = q.Where("api_keys.user_id = ?", userID)
		}
		if p.After != "" {
			var last Key // revoked or not: it may have been since
			if err := db.Where("id = ?", p.After).Take(&last).Error; err != nil {
				return err
			}
			q = q.Where("(api_keys.created_at, api_keys.id) < (?, ?)", last.CreatedAt, last.ID)
		}
		return q.Order("api_keys.created_at DESC, api_keys.id DESC").Limit(p.Limit).Find(&keys).Error
	})
	return keys, err
}
