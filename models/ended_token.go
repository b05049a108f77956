package models

import (
	"context"
	"errors"

	"gorm.io/gorm"
)

// EndedToken is a login's token that was ended before its expiry.
type EndedToken struct {
	ID        string // of the token
	UserID    string
	ExpiresAt int64 // Unix microseconds
}

// TokenUser is a user and the ids of their tokens that were ended before their expiry.
type TokenUser struct {
	User
	Ended []string `gorm:"-"`
}

// TokenUser returns the user with this id, or ErrNotFound.
func (s *Store) TokenUser(ctx context.Context, id string) (*TokenUser, error) {
	var u TokenUser
	err := s.run(ctx, func(db *gorm.DB) error {
		if err := db.Table("users").Where("id = ?", id).Take(&u).Error; err != nil {
			return err
		}
		return db.Model(&EndedToken{}).Where("user_id = ?", id).Pluck("id", &u.Ended).Error
	})
	return &u, err
}

// mostEndedTokens is how many ended tokens of one user are kept one by one. Each
// replica has them in memory.
const mostEndedTokens = 100

// EndToken ends a token, and removes the rows of those that expired before now. A user
// who has ended a hundred tokens that have not expired ends all tokens with the next
// one. To end a token twice is no error.
func (s *Store) EndToken(ctx context.Context, t EndedToken, now int64) error {
	err := s.inTx(ctx, func(tx *gorm.DB) error {
		if err := s.lockKeysAndUsers(tx); err != nil {
			return err
		}
		if err := tx.Where("expires_at < ?", now).Delete(&EndedToken{}).Error; err != nil {
			return err
		}
		var ended int64
		if err := tx.Model(&EndedToken{}).Where("user_id = ?", t.UserID).Count(&ended).Error; err != nil {
			return err
		}
		if ended < mostEndedTokens {
			return tx.Create(&t).Error
		}
		if err := tx.Where("user_id = ?", t.UserID).Delete(&EndedToken{}).Error; err != nil {
			return err
		}
		return tx.Model(&User{}).Where("id = ?", t.UserID).UpdateColumn("generation", gorm.Expr("generation + 1")).Error
	})
	if errors.Is(err, ErrTaken) {
		return nil
	}
	return err
}
