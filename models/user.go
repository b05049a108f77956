package models

import (
	"context"
	"slices"

	"gorm.io/gorm"
)

// User is an account that can log in. Times are Unix microseconds.
type User struct {
	ID           string
	Email        string // normalised
	Name         string
	PasswordHash string // empty for a user of an identity provider
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

// CreateUser adds a user; ErrTaken when another user has the e-mail address.
func (s *Store) CreateUser(ctx context.Context, u *User) error {
	return s.run(ctx, func(db *gorm.DB) error { return db.Create(u).Error })
}

// CreateUserWithIdentity adds a user and the identity with which they logged in;
// ErrTaken when another user has the e-mail address or the identity.
func (s *Store) CreateUserWithIdentity(ctx context.Context, u *User, i *Identity) error {
	return s.inTx(ctx, func(tx *gorm.DB) error {
		if err := tx.Create(u).Error; err != nil {
			return err
		}
		return tx.Create(i).Error
	})
}

// User is the user with this id, or ErrNotFound.
func (s *Store) User(ctx context.Context, id string) (*User, error) {
	var u User
	err := s.run(ctx, func(db *gorm.DB) error { return db.Where("id = ?", id).Take(&u).Error })
	return &u, err
}

// UserByEmail is the user with this normalised address, or ErrNotFound.
func (s *Store) UserByEmail(ctx context.Context, email string) (*User, error) {
	var u User
	err := s.run(ctx, func(db *gorm.DB) error { return db.Where("email = ?", email).Take(&u).Error })
	return &u, err
}

// UserByIdentity is the user with this identity, or ErrNotFound.
func (s *Store) UserByIdentity(ctx context.Context, issuer, subject string) (*User, error) {
	var u User
	err := s.run(ctx, func(db *gorm.DB) error {
		return db.Joins("JOIN identities ON identities.user_id = users.id").
			Where("identities.issuer = ? AND identities.subject = ?", issuer, subject).Take(&u).Error
	})
	return &u, err
}

// ChangeUser calls change, which may disable or enable the user, and inserts the
// row of the audit that it returns; nil inserts none. All of it is one
// transaction, and no other change of keys or users runs at the same time.
// ErrNotFound when there is no such user.
func (s *Store) ChangeUser(ctx context.Context, id string, change func(*User) (*Audit, error)) (*User, error) {
	var u User
	err := s.inTx(ctx, func(tx *gorm.DB) error {
		if err := s.lockKeysAndUsers(tx); err != nil {
			return err
		}
		if err := tx.Where("id = ?", id).Take(&u).Error; err != nil {
			return err
		}
		before := u.DisabledAt
		row, err := change(&u)
		if err != nil {
			return err
		}
		if u.DisabledAt != before {
			if err := tx.Model(&User{}).Where("id = ?", id).UpdateColumn("disabled_at", u.DisabledAt).Error; err != nil {
				return err
			}
		}
		return insertAudit(tx, row)
	})
	return &u, err
}

// Users lists users, the newest first: all, or the one with a normalised address.
// ErrNotFound when p.After is not the id of a user.
func (s *Store) Users(ctx context.Context, email string, p Page) ([]User, error) {
	var users []User
	err := s.run(ctx, func(db *gorm.DB) error {
		q := db
		if email != "" {
			q = q.Where("email = ?", email)
		}
		if p.After != "" {
			var last User
			if err := db.Where("id = ?", p.After).Take(&last).Error; err != nil {
				return err
			}
			q = q.Where("(created_at, id) < (?, ?)", last.CreatedAt, last.ID)
		}
		return q.Order("created_at DESC, id DESC").Limit(p.Limit).Find(&users).Error
	})
	return users, err
}

// UserSums are a user's totals.
type UserSums struct {
	Keys  int64 // not revoked
	Spend int64 // micro-dollars of all time, with any key or without one
}

// UserSums are the totals of users, by id.
func (s *Store) UserSums(ctx context.Context, ids []string) (map[string]UserSums, error) {
	type sum struct {
		UserID string
		N      int64
	}
	var keys, spend []sum
	err := s.run(ctx, func(db *gorm.DB) error {
		err := db.Table("api_keys").Select("user_id, COUNT(*) AS n").
			Where("user_id IN ? AND revoked_at = 0", ids).Group("user_id").Find(&keys).Error
		if err != nil {
			return err
		}
		return db.Table("usage_days").Select("user_id, SUM(cost) AS n").
			Where("user_id IN ?", ids).Group("user_id").Find(&spend).Error
	})
	sums := map[string]UserSums{}
	for _, row := range keys {
		sums[row.UserID] = UserSums{Keys: row.N}
	}
	for _, row := range spend {
		of := sums[row.UserID]
		of.Spend = row.N
		sums[row.UserID] = of
	}
	return sums, err
}

// Unregistered returns those of the normalised addresses that no user has.
func (s *Store) Unregistered(ctx context.Context, emails []string) ([]string, error) {
	var taken []string
	err := s.run(ctx, func(db *gorm.DB) error {
		return db.Model(&User{}).Where("email IN ?", emails).Pluck("email", &taken).Error
	})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(emails), func(email string) bool { return slices.Contains(taken, email) }), nil
}
