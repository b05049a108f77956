package models

import (
	"context"
	"time"

	"gorm.io/gorm"
)

// Transaction reads and changes keys, users and teams. What it has read stays true
// until it ends: no other transaction changes them at the same time.
type Transaction struct {
	db *gorm.DB
}

// Change runs change in a transaction, which is committed when change returns nil.
func (s *Store) Change(ctx context.Context, change func(tx *Transaction) error) error {
	return s.inTx(ctx, func(tx *gorm.DB) error {
		if err := s.lockKeysAndUsers(tx); err != nil {
			return err
		}
		return change(&Transaction{db: tx})
	})
}

// ChangeSlowly is Change with a minute in place of the longest time of a query, for what looks at
// every row of the audit. Other changes wait for it.
func (s *Store) ChangeSlowly(ctx context.Context, change func(tx *Transaction) error) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return mapError(s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if !s.embedded {
			if err := tx.Exec("SET LOCAL statement_timeout = 0").Error; err != nil {
				return err
			}
		}
		if err := s.lockKeysAndUsers(tx); err != nil {
			return err
		}
		return change(&Transaction{db: tx})
	}))
}

// Read runs read in a transaction that takes no lock: read must not change anything.
func (s *Store) Read(ctx context.Context, read func(tx *Transaction) error) error {
	return s.run(ctx, func(db *gorm.DB) error { return read(&Transaction{db: db}) })
}

// Audit adds a row of the audit; nil adds none.
func (t *Transaction) Audit(row *Audit) error { return insertAudit(t.db, row) }

// User is the user with this id, or ErrNotFound.
func (t *Transaction) User(id string) (*User, error) { return take[User](t.db.Where("id = ?", id)) }

// Key is the key with this id that is not revoked, or ErrNotFound.
func (t *Transaction) Key(id string) (*Key, error) {
	return take[Key](t.db.Where("id = ? AND revoked_at = 0", id))
}

// AnyKey is the key with this id, revoked or not, or ErrNotFound.
func (t *Transaction) AnyKey(id string) (*Key, error) { return take[Key](t.db.Where("id = ?", id)) }

// CreateKey adds a key, if CheckRoom finds a place for it.
func (t *Transaction) CreateKey(k *Key, limit int) error {
	if err := t.CheckRoom(k, limit); err != nil {
		return err
	}
	return mapError(t.db.Create(k).Error)
}

// CheckRoom returns ErrTooMany when the owner of a key has limit others already that are not
// revoked: its user, or its team for a key of a team alone. ErrNotFound when its user or
// its team does not exist.
func (t *Transaction) CheckRoom(k *Key, limit int) error {
	if k.UserID == "" && k.TeamID == "" {
		return ErrNotFound
	}
	if k.UserID != "" {
		if _, err := t.User(k.UserID); err != nil {
			return err
		}
	}
	if k.TeamID != "" {
		if _, err := t.Team(k.TeamID); err != nil {
			return err
		}
	}
	owned := t.db.Model(&Key{}).Where("user_id = ? AND revoked_at = 0", k.UserID)
	if k.UserID == "" {
		owned = owned.Where("team_id = ?", k.TeamID)
	}
	var live int64
	if err := owned.Count(&live).Error; err != nil {
		return err
	}
	if live >= int64(limit) {
		return ErrTooMany
	}
	return nil
}

// UpdateKey stores the differences between a key and what it was before.
func (t *Transaction) UpdateKey(before, after *Key) error {
	columns := keyChanges(before, after)
	if len(columns) == 0 {
		return nil
	}
	if after.RevokedAt != 0 && after.UserID == "" {
		if err := forgetOwners(t.db, KeyAccount(after.ID)); err != nil {
			return err
		}
	}
	return mapError(t.db.Model(&Key{}).Where("id = ?", after.ID).UpdateColumns(columns).Error)
}

// UpdateUser stores the differences between a user and what it was before.
func (t *Transaction) UpdateUser(before, after *User) error {
	return mapError(updateUser(t.db, before, after))
}

// take is the one row of a query, or ErrNotFound.
func take[T any](query *gorm.DB) (*T, error) {
	var row T
	err := mapError(query.Take(&row).Error)
	return &row, err
}

// UserByEmail is the user with this normalised address, or ErrNotFound.
func (t *Transaction) UserByEmail(email string) (*User, error) {
	return take[User](t.db.Where("email = ?", email))
}

// CreateUser adds a user; ErrTaken when another user has the e-mail address.
func (t *Transaction) CreateUser(u *User) error { return mapError(create(t.db, u)) }

// DeleteUser deletes a user with their identities, memberships, one-time tokens and
// conversations, and revokes their keys, which it returns. The rows and the sums of the ledger stay,
// and a DeletedUser.
func (t *Transaction) DeleteUser(id string, at int64) ([]Key, error) {
	const keep = "INSERT INTO deleted_users (id, email, deleted_at) SELECT id, email, CAST(? AS BIGINT) FROM users WHERE id = ?"
	if err := t.db.Exec(keep, at, id).Error; err != nil {
		return nil, err
	}
	if err := t.db.Where("user_id = ?", id).Delete(&OneTimeToken{}).Error; err != nil {
		return nil, err
	}
	if err := forgetOwners(t.db, UserAccount(id)); err != nil {
		return nil, err
	}
	if err := t.db.Where("id = ?", id).Delete(&User{}).Error; err != nil { // identities and memberships go with it
		return nil, err
	}
	return t.revoke(at, "user_id = ?", id)
}

// RevokeKeys revokes the keys of a user, and returns them.
func (t *Transaction) RevokeKeys(userID string, at int64) ([]Key, error) {
	return t.revoke(at, "user_id = ?", userID)
}

// OtherAdmins are the enabled users but one who were made administrators, or who have
// one of these normalised addresses.
func (t *Transaction) OtherAdmins(userID string, emails []string) ([]User, error) {
	var users []User
	err := t.db.Where("id <> ? AND disabled_at = 0 AND (admin_at <> 0 OR email IN ?)", userID, append([]string{""}, emails...)).
		Find(&users).Error
	return users, err
}

// revoke revokes the keys of a condition, and returns them.
func (t *Transaction) revoke(at int64, condition string, values ...any) ([]Key, error) {
	var keys []Key
	if err := t.db.Where("revoked_at = 0").Where(condition, values...).Find(&keys).Error; err != nil {
		return nil, err
	}
	if len(keys) == 0 {
		return nil, nil
	}
	var owners []string // of conversations
	for i := range keys {
		if keys[i].UserID == "" {
			owners = append(owners, KeyAccount(keys[i].ID))
		}
	}
	if err := forgetOwners(t.db, owners...); err != nil {
		return nil, err
	}
	return keys, t.db.Model(&Key{}).Where("revoked_at = 0").Where(condition, values...).UpdateColumn("revoked_at", at).Error
}
