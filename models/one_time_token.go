package models

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// OneTimeToken is a secret that is valid once: an invitation, a reset of a password, a
// verification of an address, or the set-up of the first administrator. Times are Unix
// microseconds.
type OneTimeToken struct {
	ID          string
	Hash        string // SHA-256 of the token, in hex; the token itself is not stored
	Purpose     Purpose
	UserID      string // whose password or address it is; empty for an invitation or a set-up
	Email       string // normalised: the address that is invited, or to which the token was sent; empty = any
	ProvesEmail bool   // the use of the token verifies Email
	TeamID      string // of an invitation to a team
	Role        Role   // in that team
	CreatedBy   string // id of the user who asked for it; empty = the command line, or a start
	CreatedAt   int64  `gorm:"autoCreateTime:false"`
	ExpiresAt   int64
	UsedAt      int64 // 0 = it was not

	// TakesOver is set by a use of the token that is the first proof of its user's address: see takeOver.
	TakesOver bool `gorm:"-"`
	// Unlinks is set by a use of the token that removes the identities of its user.
	Unlinks bool `gorm:"-"`
}

// Purpose is what a one-time token is for.
type Purpose string

// The purposes.
const (
	PurposeInvite Purpose = "invite"
	PurposeReset  Purpose = "reset"
	PurposeVerify Purpose = "verify"
	PurposeSetup  Purpose = "setup"
)

// keptAfterExpiry is how long the row of a one-time token stays.
const keptAfterExpiry = 30 * 24 * time.Hour

// CreateOneTimeToken adds a token. ErrTooMany when its user has most tokens already for the
// same purpose that are neither used nor over; 0 is no limit.
func (t *Transaction) CreateOneTimeToken(token *OneTimeToken, most int64) error {
	if err := t.db.Where("expires_at < ?", token.CreatedAt-keptAfterExpiry.Microseconds()).Delete(&OneTimeToken{}).Error; err != nil {
		return err
	}
	if most > 0 {
		var n int64
		err := t.db.Model(&OneTimeToken{}).Where("user_id = ? AND purpose = ? AND used_at = 0 AND expires_at > ?",
			token.UserID, token.Purpose, token.CreatedAt).Count(&n).Error
		if err != nil {
			return err
		}
		if n >= most {
			return ErrTooMany
		}
	}
	return t.db.Create(token).Error
}

// TokenUse is a one-time token that was sent to the gateway.
type TokenUse struct {
	Hash    string
	Purpose Purpose
	At      int64 // Unix microseconds
}

// FindOneTimeToken returns a valid token without using it, or ErrNotFound.
func (s *Store) FindOneTimeToken(ctx context.Context, use TokenUse) (*OneTimeToken, error) {
	var t OneTimeToken
	err := s.run(ctx, func(db *gorm.DB) error {
		return db.Where("hash = ? AND purpose = ? AND used_at = 0 AND expires_at > ?", use.Hash, use.Purpose, use.At).Take(&t).Error
	})
	return &t, err
}

// UseOneTimeToken uses a token and changes or creates its user, in one transaction: of
// many uses at the same time one succeeds, and a use that fails leaves the token valid.
// It calls change with the token and its user, who of an invitation that proves its address is
// the one who has registered that address without proof; or with a new User that change fills.
// The user becomes a member of the token's team. The row that change returns is added to the
// audit; nil adds none. ErrNotFound for a token that is unknown, used or over, or whose
// user or team is gone; ErrTaken when another user has the new one's address.
func (s *Store) UseOneTimeToken(ctx context.Context, use TokenUse, change func(*OneTimeToken, *User) (*Audit, error)) (*User, error) {
	var u User
	err := s.inTx(ctx, func(tx *gorm.DB) error {
		if err := s.lockKeysAndUsers(tx); err != nil {
			return err
		}
		done := tx.Model(&OneTimeToken{}).
			Where("hash = ? AND purpose = ? AND used_at = 0 AND expires_at > ?", use.Hash, use.Purpose, use.At).
			UpdateColumn("used_at", use.At)
		if done.Error != nil {
			return done.Error
		}
		if done.RowsAffected == 0 {
			return ErrNotFound
		}
		var t OneTimeToken
		if err := tx.Where("hash = ?", use.Hash).Take(&t).Error; err != nil {
			return err
		}
		row, err := changeTokenUser(tx, &t, &u, change)
		if err != nil {
			return err
		}
		return insertAudit(tx, row)
	})
	return &u, err
}

// changeTokenUser changes the user of a token, or creates one.
func changeTokenUser(tx *gorm.DB, t *OneTimeToken, u *User, change func(*OneTimeToken, *User) (*Audit, error)) (*Audit, error) {
	if err := tokenUser(tx, t, u); err != nil {
		return nil, err
	}
	if t.TeamID != "" {
		if err := tx.Where("id = ?", t.TeamID).Take(&Team{}).Error; err != nil {
			return nil, err
		}
	}
	before := *u
	row, err := change(t, u)
	if err != nil {
		return nil, err
	}
	switch {
	case before.ID == "":
		err = create(tx, u)
	case t.TakesOver:
		err = takeOver(tx, &before, u, t.UsedAt)
	default:
		err = updateUser(tx, &before, u)
	}
	if err == nil && t.Unlinks {
		err = unlink(tx, u.ID)
	}
	if err == nil {
		err = t.join(tx, u, t.UsedAt)
	}
	if err == nil && before.ID != "" && before.VerifiedAt == 0 && u.VerifiedAt != 0 {
		err = acceptInvitations(tx, u, t.UsedAt)
	}
	return row, err
}

// join makes a user a member of the token's team, if it has one.
func (t *OneTimeToken) join(tx *gorm.DB, u *User, at int64) error {
	if t.TeamID == "" {
		return nil
	}
	m := TeamMember{TeamID: t.TeamID, UserID: u.ID, Role: t.Role, CreatedAt: at}
	return tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&m).Error
}

// acceptInvitations uses the invitations to an address for the user who has just proven it: with the
// account that exists they are of no other use.
func acceptInvitations(tx *gorm.DB, u *User, at int64) error {
	open := func() *gorm.DB {
		return tx.Model(&OneTimeToken{}).Where("purpose = ? AND email = ? AND used_at = 0 AND expires_at > ?", PurposeInvite, u.Email, at)
	}
	var all []OneTimeToken
	if err := open().Order("created_at, id").Find(&all).Error; err != nil {
		return err
	}
	for i := range all {
		if err := all[i].join(tx, u, at); err != nil {
			return err
		}
	}
	return open().UpdateColumn("used_at", at).Error
}

// tokenUser loads the user of a token; a token that creates one leaves u as it is.
func tokenUser(tx *gorm.DB, t *OneTimeToken, u *User) error {
	if t.UserID != "" {
		return tx.Where("id = ?", t.UserID).Take(u).Error
	}
	if !t.ProvesEmail || t.Email == "" {
		return nil
	}
	return tx.Where("email = ? AND verified_at = 0", t.Email).Limit(1).Find(u).Error
}

// SetupToken returns the token with which the first administrator is created, as text.
// While one is valid that form makes of its id, each call returns the same text; else
// it adds a row, and the token of before is not valid any more. Replicas that start at
// the same time get the same token.
func (s *Store) SetupToken(ctx context.Context, at, expiresAt int64, form func(id string) (text, hash string)) (string, error) {
	var text string
	err := s.inTx(ctx, func(tx *gorm.DB) error {
		if err := s.lockKeysAndUsers(tx); err != nil {
			return err
		}
		var t OneTimeToken
		err := tx.Where("purpose = ? AND used_at = 0 AND expires_at > ?", PurposeSetup, at).Take(&t).Error
		if err == nil {
			var hash string
			if text, hash = form(t.ID); hash == t.Hash {
				return nil
			}
		} else if !errors.Is(err, gorm.ErrRecordNotFound) {
			return err
		}
		if err := tx.Where("purpose = ?", PurposeSetup).Delete(&OneTimeToken{}).Error; err != nil {
			return err
		}
		t = OneTimeToken{ID: "ott_" + rand.Text(), Purpose: PurposeSetup, CreatedAt: at, ExpiresAt: expiresAt}
		text, t.Hash = form(t.ID)
		return tx.Create(&t).Error
	})
	return text, err
}

// HasAdministrator reports whether there is one: an enabled user who was made one, or
// whose verified address is one of these normalised ones.
func (s *Store) HasAdministrator(ctx context.Context, emails []string) (bool, error) {
	_, err := s.Administrator(ctx, emails)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Administrator is the first one, as HasAdministrator counts them; ErrNotFound when there is
// none.
func (s *Store) Administrator(ctx context.Context, emails []string) (u *User, err error) {
	err = s.run(ctx, func(db *gorm.DB) error {
		u, err = take[User](administrators(db, emails).Order("created_at, id"))
		return err
	})
	return u, err
}
