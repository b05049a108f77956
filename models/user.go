package models

import (
	"context"

	"gorm.io/gorm"
)

// User is somebody who may log in. Times are Unix microseconds.
type User struct {
	ID           string
	Email        string // normalised
	Name         string
	PasswordHash string // empty for one who comes from an identity provider
	CreatedAt    int64  `gorm:"autoCreateTime:false"`
	DisabledAt   int64  // 0 = may log in
}

// Identity ties a user to an account at an identity provider. The pair of
// issuer and subject is the identity; an e-mail address is not.
type Identity struct {
	Issuer    string `gorm:"primaryKey"`
	Subject   string `gorm:"primaryKey"`
	UserID    string
	CreatedAt int64 `gorm:"autoCreateTime:false"`
}

// CreateUser adds a user; ErrTaken when the e-mail address is another's.
func (s *Store) CreateUser(ctx context.Context, u *User) error {
	return s.do(ctx, func(db *gorm.DB) error { return db.Create(u).Error })
}

// CreateUserWithIdentity adds a user together with the identity they came by;
// ErrTaken when the e-mail address or the identity is another's.
func (s *Store) CreateUserWithIdentity(ctx context.Context, u *User, i *Identity) error {
	return s.unit(ctx, func(tx *gorm.DB) error {
		if err := tx.Create(u).Error; err != nil {
			return err
		}
		return tx.Create(i).Error
	})
}

// User is the user of this id, or ErrNotFound.
func (s *Store) User(ctx context.Context, id string) (*User, error) {
	var u User
	err := s.do(ctx, func(db *gorm.DB) error { return db.Where("id = ?", id).Take(&u).Error })
	return &u, err
}

// UserByEmail is the user of this normalised address, or ErrNotFound.
func (s *Store) UserByEmail(ctx context.Context, email string) (*User, error) {
	var u User
	err := s.do(ctx, func(db *gorm.DB) error { return db.Where("email = ?", email).Take(&u).Error })
	return &u, err
}

// UserByIdentity is the user who came by this identity, or ErrNotFound.
func (s *Store) UserByIdentity(ctx context.Context, issuer, subject string) (*User, error) {
	var u User
	err := s.do(ctx, func(db *gorm.DB) error {
		return db.Joins("JOIN identities ON identities.user_id = users.id").
			Where("identities.issuer = ? AND identities.subject = ?", issuer, subject).Take(&u).Error
	})
	return &u, err
}
