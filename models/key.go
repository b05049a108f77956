package models

import (
	"context"
	"maps"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// Key is a virtual API key. The secret itself is not stored, only its hash.
// Times are Unix microseconds.
type Key struct {
	ID         string
	UserID     string
	Name       string
	Hash       string // SHA-256 of the key's random bits, in hex
	Prefix     string // the first letters of the key, for display
	CreatedAt  int64  `gorm:"autoCreateTime:false"`
	LastUsedAt int64  // 0 = never
	RevokedAt  int64  // 0 = not revoked
	Limits     `gorm:"embedded"`
}

// TableName is the table of keys.
func (Key) TableName() string { return "api_keys" }

// CreateKey adds a key. ErrTooMany when its user has limit keys already that are
// not revoked, ErrNotFound when there is no such user.
func (s *Store) CreateKey(ctx context.Context, k *Key, limit int) error {
	return s.inTx(ctx, func(tx *gorm.DB) error {
		// The lock on the user makes the count exact when keys are created at the
		// same time. SQLite runs one transaction at a time and has no such clause.
		owner := tx
		if !s.embedded {
			owner = tx.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate})
		}
		if err := owner.Where("id = ?", k.UserID).Take(&User{}).Error; err != nil {
			return err
		}
		var live int64
		if err := tx.Model(&Key{}).Where("user_id = ? AND revoked_at = 0", k.UserID).Count(&live).Error; err != nil {
			return err
		}
		if live >= int64(limit) {
			return ErrTooMany
		}
		return tx.Create(k).Error
	})
}

// Keys are a user's keys that are not revoked, the newest first.
func (s *Store) Keys(ctx context.Context, userID string) ([]Key, error) {
	var keys []Key
	err := s.run(ctx, func(db *gorm.DB) error {
		return db.Where("user_id = ? AND revoked_at = 0", userID).Order("created_at DESC, id DESC").Find(&keys).Error
	})
	return keys, err
}

// RevokeKey revokes a user's key and returns it; ErrNotFound for a key that is
// unknown, revoked already or another user's. The change is committed when it
// returns.
func (s *Store) RevokeKey(ctx context.Context, userID, id string, at int64) (*Key, error) {
	var k Key
	err := s.inTx(ctx, func(tx *gorm.DB) error {
		if err := tx.Where("id = ? AND user_id = ? AND revoked_at = 0", id, userID).Take(&k).Error; err != nil {
			return err
		}
		done := tx.Model(&Key{}).Where("id = ? AND revoked_at = 0", id).UpdateColumn("revoked_at", at)
		if done.Error == nil && done.RowsAffected == 0 {
			return ErrNotFound // another request has revoked it in between
		}
		return done.Error
	})
	return &k, err
}

// KeyWithUser is a key and whether its user is disabled.
type KeyWithUser struct {
	Key
	UserDisabledAt int64
}

// KeyByHash is the key with this hash, revoked or not, or ErrNotFound.
func (s *Store) KeyByHash(ctx context.Context, hash string) (*KeyWithUser, error) {
	var h KeyWithUser
	err := s.run(ctx, func(db *gorm.DB) error {
		return db.Table("api_keys").Select("api_keys.*, users.disabled_at AS user_disabled_at").
			Joins("JOIN users ON users.id = api_keys.user_id").Where("api_keys.hash = ?", hash).Take(&h).Error
	})
	return &h, err
}

// TouchKeys records when keys were last used, by id. Replicas may do it at the
// same time: all of them lock the rows in the same order, and only a few in one
// transaction.
func (s *Store) TouchKeys(ctx context.Context, used map[string]int64) error {
	const perTransaction = 100
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(used)), perTransaction) {
		err := s.inTx(ctx, func(tx *gorm.DB) error {
			for _, id := range ids {
				at := used[id]
				err := tx.Model(&Key{}).Where("id = ? AND last_used_at < ?", id, at).UpdateColumn("last_used_at", at).Error
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
