package models

import (
	"context"
	"strings"

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
	DisabledBy   string // the administrator who disabled them; empty: not disabled, or disabled on the command line
	VerifiedAt   int64  // when the address was proven to be the user's; 0 = it was not
	AdminAt      int64  // when the user became an administrator by name; 0 = only the settings can make them one
	LastUsedAt   int64  // of a token; 0 = never
	Generation   int64  // from 1; a token of a lower one is not valid any more
	Limits       `gorm:"embedded"`
}

// Identity ties a user to an account at an identity provider. The pair of
// issuer and subject is the identity; an e-mail address is not.
type Identity struct {
	Issuer    string `gorm:"primaryKey"`
	Subject   string `gorm:"primaryKey"`
	UserID    string
	Email     string // that the provider had for it when it was added; empty for one of before that was kept
	CreatedAt int64  `gorm:"autoCreateTime:false"`
}

// CreateUser adds a user; ErrTaken when another user has the e-mail address.
func (s *Store) CreateUser(ctx context.Context, u *User) error {
	return s.run(ctx, func(db *gorm.DB) error { return create(db, u) })
}

// CreateUserWithIdentity adds a user and the identity with which they logged in;
// ErrTaken when another user has the e-mail address or the identity.
func (s *Store) CreateUserWithIdentity(ctx context.Context, u *User, i *Identity) error {
	return s.inTx(ctx, func(tx *gorm.DB) error {
		if err := create(tx, u); err != nil {
			return err
		}
		return tx.Create(i).Error
	})
}

func create(db *gorm.DB, u *User) error {
	u.Generation = max(u.Generation, 1)
	return db.Create(u).Error
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

// ChangeUser calls change, which may alter all of a user but the id, and inserts the
// row of the audit that it returns; nil inserts none. All of it is one transaction,
// and no other change of keys or users runs at the same time. ErrNotFound when there
// is no such user. An error of change is returned, and nothing is changed.
func (s *Store) ChangeUser(ctx context.Context, id string, change func(*User) (*Audit, error)) (*User, error) {
	var u User
	err := s.inTx(ctx, func(tx *gorm.DB) error {
		if err := s.lockKeysAndUsers(tx); err != nil {
			return err
		}
		if err := tx.Where("id = ?", id).Take(&u).Error; err != nil {
			return err
		}
		before := u
		row, err := change(&u)
		if err != nil {
			return err
		}
		if err := updateUser(tx, &before, &u); err != nil {
			return err
		}
		return insertAudit(tx, row)
	})
	return &u, err
}

// updateUser writes what differs. The update must not name the other columns: see
// keyChanges. With another password the links that would reset the former one end.
func updateUser(tx *gorm.DB, before, after *User) error {
	columns := columnChanges{}
	columns.compare("email", before.Email, after.Email)
	columns.compare("name", before.Name, after.Name)
	columns.compare("password_hash", before.PasswordHash, after.PasswordHash)
	columns.compare("disabled_at", before.DisabledAt, after.DisabledAt)
	columns.compare("disabled_by", before.DisabledBy, after.DisabledBy)
	columns.compare("verified_at", before.VerifiedAt, after.VerifiedAt)
	columns.compare("admin_at", before.AdminAt, after.AdminAt)
	columns.compare("generation", before.Generation, after.Generation)
	columns.compareLimits(&before.Limits, &after.Limits)
	if len(columns) == 0 {
		return nil
	}
	if err := tx.Model(&User{}).Where("id = ?", after.ID).UpdateColumns(map[string]any(columns)).Error; err != nil {
		return err
	}
	if before.PasswordHash == after.PasswordHash {
		return nil
	}
	return tx.Where("user_id = ? AND purpose = ? AND used_at = 0", after.ID, PurposeReset).Delete(&OneTimeToken{}).Error
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
		accounts := make([]string, len(ids))
		for i, id := range ids {
			accounts[i] = UserAccount(id)
		}
		return db.Table("spend").Select("account AS user_id, CAST(SUM(cost) AS BIGINT) AS n").
			Where("account IN ?", accounts).Group("account").Find(&spend).Error
	})
	sums := map[string]UserSums{}
	for _, row := range keys {
		sums[row.UserID] = UserSums{Keys: row.N}
	}
	for _, row := range spend {
		id := strings.TrimPrefix(row.UserID, UserAccount(""))
		of := sums[id]
		of.Spend = row.N
		sums[id] = of
	}
	return sums, err
}

// Unproven returns how many of the normalised addresses have no user with that address
// verified.
func (s *Store) Unproven(ctx context.Context, emails []string) (int, error) {
	var proven int64
	err := s.run(ctx, func(db *gorm.DB) error {
		return db.Model(&User{}).Where("email IN ? AND verified_at <> 0", emails).Count(&proven).Error
	})
	return len(emails) - int(proven), err
}
