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
	return s.ChangeAnyKey(ctx, id, func(k *Key) (*Audit, error) {
		if k.UserID != userID {
			return nil, ErrNotFound
		}
		return nil, change(k)
	})
}

// ChangeAnyKey is ChangeKey for an administrator: the key may be any user's. The
// row of the audit that change returns is inserted in the transaction; nil
// inserts none.
func (s *Store) ChangeAnyKey(ctx context.Context, id string, change func(*Key) (*Audit, error)) (*Key, error) {
	var k Key
	err := s.inTx(ctx, func(tx *gorm.DB) error {
		if err := s.lockKeysAndUsers(tx); err != nil {
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
		return insertAudit(tx, row)
	})
	return &k, err
}

// keyChanges are the columns whose values differ. The update must not name the
// others: the trigger that counts revisions fires for the columns that are named,
// so that a new name alone would count.
func keyChanges(before, after *Key) map[string]any {
	columns := map[string]any{}
	compare := func(column string, was, now any) {
		if was != now {
			columns[column] = now
		}
	}
	compare("name", before.Name, after.Name)
	compare("expires_at", before.ExpiresAt, after.ExpiresAt)
	compare("models", string(before.Models), string(after.Models))
	compare("budget", before.Budget, after.Budget)
	compare("budget_window", string(before.BudgetWindow), string(after.BudgetWindow))
	compare("limited_by", before.LimitedBy, after.LimitedBy)
	compare("revoked_at", before.RevokedAt, after.RevokedAt)
	was := before.All()
	for i, now := range after.All() {
		compare(now.Column, *was[i].Value, *now.Value)
	}
	return columns
}

// RevokeAnyKey is RevokeKey for an administrator: the key may be any user's. The
// row that audit returns is inserted in the transaction.
func (s *Store) RevokeAnyKey(ctx context.Context, id string, at int64, audit func(before, after *Key) (*Audit, error)) (*Key, error) {
	return s.ChangeAnyKey(ctx, id, func(k *Key) (*Audit, error) {
		before := *k
		k.RevokedAt = at
		return audit(&before, k)
	})
}

// OwnedKey is a key and its user's e-mail address.
type OwnedKey struct {
	Key
	UserEmail string
}

// AllKeys lists keys that are not revoked, the newest first: a user's, or those of
// all users when userID is empty. ErrNotFound when p.After is not the id of a key.
func (s *Store) AllKeys(ctx context.Context, userID string, p Page) ([]OwnedKey, error) {
	var keys []OwnedKey
	err := s.run(ctx, func(db *gorm.DB) error {
		q := db.Table("api_keys").Select("api_keys.*, users.email AS user_email").
			Joins("JOIN users ON users.id = api_keys.user_id").Where("api_keys.revoked_at = 0")
		if userID != "" {
			q = q.Where("api_keys.user_id = ?", userID)
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
