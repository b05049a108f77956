package models

import (
	"context"
	"errors"

	"gorm.io/gorm"
)

// TakeOver gives the account of an address that was never verified to the identity that
// proves the address, in one transaction: the password, the tokens, the keys, the other
// identities, the links, the memberships and the rights of an administrator end; limits and
// the ledger stay. The row that audit makes of the user as it was is added. ErrNotFound when
// no user has the address; ErrTaken when it is verified, or the identity has a user. An
// account of a verified address without a password and without an identity, as an
// administrator creates it, gets its first identity, and keeps all that it has. A
// disabled account is returned as it is.
func (s *Store) TakeOver(ctx context.Context, email string, i *Identity, audit func(before User) (*Audit, error)) (*User, error) {
	var u User
	err := s.inTx(ctx, func(tx *gorm.DB) error {
		if err := s.lockKeysAndUsers(tx); err != nil {
			return err
		}
		if err := tx.Where("email = ?", email).Take(&u).Error; err != nil {
			return err
		}
		if u.VerifiedAt != 0 {
			return joinCreated(tx, &u, i)
		}
		if u.DisabledAt != 0 {
			return nil
		}
		before := u
		u.PasswordHash, u.VerifiedAt = "", i.CreatedAt
		i.UserID = u.ID
		row, err := audit(before)
		if err != nil {
			return err
		}
		return errors.Join(
			takeOver(tx, &before, &u, i.CreatedAt), tx.Create(i).Error, acceptInvitations(tx, &u, i.CreatedAt), insertAudit(tx, row),
		)
	})
	return &u, err
}

// takeOver gives an account to the one who has proven its address first: what others have made in it
// before ends, which is its keys, identities, links, tokens, memberships and rights of an administrator.
// u has the new password and the verified address.
func takeOver(tx *gorm.DB, before, u *User, at int64) error {
	u.AdminAt, u.Generation = 0, before.Generation+1
	return errors.Join(
		updateUser(tx, before, u),
		tx.Model(&Key{}).Where("user_id = ? AND revoked_at = 0", u.ID).UpdateColumn("revoked_at", at).Error,
		unlink(tx, u.ID),
		tx.Where("user_id = ?", u.ID).Delete(&TeamMember{}).Error,
		tx.Where("(user_id = ? OR created_by = ?) AND used_at = 0", u.ID, u.ID).Delete(&OneTimeToken{}).Error,
	)
}

// joinCreated adds the first identity to an account that an administrator has created
// and that its user cannot log in to yet: it has neither a password nor an identity.
// Nothing of it ends. ErrTaken for every other account.
func joinCreated(tx *gorm.DB, u *User, i *Identity) error {
	var identities int64
	if err := tx.Model(&Identity{}).Where("user_id = ?", u.ID).Count(&identities).Error; err != nil {
		return err
	}
	if u.PasswordHash != "" || identities > 0 {
		return ErrTaken
	}
	if u.DisabledAt != 0 {
		return nil
	}
	i.UserID = u.ID
	return tx.Create(i).Error
}

// LinkIdentity adds an identity to the user that it names, and changes that user as
// change does; an error of change changes nothing, and its row of the audit is added with the
// identity. An identity that the user has already is no error. ErrNotFound when there is no such
// user, ErrTaken when another user has the identity.
func (s *Store) LinkIdentity(ctx context.Context, i *Identity, change func(*User) (*Audit, error)) (u *User, added bool, err error) {
	u = new(User)
	err = s.inTx(ctx, func(tx *gorm.DB) error {
		if err := s.lockKeysAndUsers(tx); err != nil {
			return err
		}
		if err := tx.Where("id = ?", i.UserID).Take(u).Error; err != nil {
			return err
		}
		before := *u
		row, err := change(u)
		if err != nil {
			return err
		}
		if err := updateUser(tx, &before, u); err != nil {
			return err
		}
		var linked Identity
		err = tx.Where("issuer = ? AND subject = ?", i.Issuer, i.Subject).Take(&linked).Error
		switch {
		case errors.Is(err, gorm.ErrRecordNotFound):
			added = true
			return errors.Join(tx.Create(i).Error, insertAudit(tx, row))
		case err == nil && linked.UserID != i.UserID:
			return ErrTaken
		}
		return err
	})
	return u, added && err == nil, err
}

// UnlinkIdentities removes all identities of a user, which it returns, and changes the user as change
// does; an error of change changes nothing, and its row of the audit is added.
func (s *Store) UnlinkIdentities(
	ctx context.Context, userID string, change func(*User, []Identity) (*Audit, error),
) (removed []Identity, err error) {
	err = s.inTx(ctx, func(tx *gorm.DB) error {
		if err := s.lockKeysAndUsers(tx); err != nil {
			return err
		}
		var u User
		if err := tx.Where("id = ?", userID).Take(&u).Error; err != nil {
			return err
		}
		if removed, err = identitiesOf(tx, userID); err != nil {
			return err
		}
		before := u
		row, err := change(&u, removed)
		if err != nil {
			return err
		}
		return errors.Join(updateUser(tx, &before, &u), unlink(tx, userID), insertAudit(tx, row))
	})
	return removed, err
}

func unlink(tx *gorm.DB, userID string) error {
	return tx.Where("user_id = ?", userID).Delete(&Identity{}).Error
}

// Identities are those of a user, the oldest first.
func (s *Store) Identities(ctx context.Context, userID string) (all []Identity, err error) {
	err = s.run(ctx, func(db *gorm.DB) error {
		all, err = identitiesOf(db, userID)
		return err
	})
	return all, err
}

func identitiesOf(db *gorm.DB, userID string) (all []Identity, err error) {
	return all, db.Where("user_id = ?", userID).Order("created_at, issuer, subject").Find(&all).Error
}
