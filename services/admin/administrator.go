package admin

import (
	"context"
	"errors"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/account"
)

// CreateAdministrator makes an administrator of the user with the address that in
// names, or of a new one. The actor vouches for the address.
//
// A user with a password whose address was never verified may have been registered by
// another person. The password and the tokens of such a user end: what is left is the new
// password, or a link with which the owner of the address sets one. The keys are revoked only if the
// gateway sends mail: without mail users have no way to verify their addresses. Any other user keeps
// the keys, and the password unless in names a new one.
func (a *Service) CreateAdministrator(ctx context.Context, by Actor, in api.NewUser, sendsMail bool) (*CreatedUser, error) {
	email, err := account.NormalEmail(in.Email)
	if err != nil {
		return nil, err
	}
	u, err := a.store.UserByEmail(ctx, email)
	if errors.Is(err, models.ErrNotFound) {
		in.Admin = true
		return a.CreateUser(ctx, by, in)
	}
	if err != nil {
		return nil, api.OrUnavailable("look up user", err)
	}
	created := &CreatedUser{}
	if u, err = a.promote(ctx, by, u.ID, in.Password, sendsMail); err != nil {
		return nil, err
	}
	if u.PasswordHash == "" && u.LastUsedAt == 0 { // nor has an identity provider logged the user in
		if created.Link, err = a.ResetLink(ctx, by, u.ID); err != nil {
			return nil, err
		}
	}
	state, err := a.userState(ctx, u)
	if err != nil {
		return nil, err
	}
	created.UserState = *state
	return created, nil
}

// promote makes a user an administrator. An empty password changes none.
func (a *Service) promote(ctx context.Context, by Actor, userID, password string, sendsMail bool) (u *models.User, err error) {
	var hash string
	if password != "" {
		if hash, err = a.accounts.PasswordHash(ctx, password, by.Address); err != nil {
			return nil, err
		}
	}
	var keys []models.Key
	err = a.act(ctx, by, func(tx *models.Transaction, act action) (_ *models.Audit, err error) {
		if u, err = tx.User(userID); err != nil {
			return nil, err
		}
		if u.DisabledAt != 0 {
			return nil, api.Conflict(api.CodeInvalidValue, "email", "this user is disabled: enable them first")
		}
		before, now := *u, a.now().UnixMicro()
		claimed := u.VerifiedAt == 0 && u.PasswordHash != ""
		if claimed && sendsMail {
			if keys, err = tx.RevokeKeys(u.ID, now); err != nil {
				return nil, err
			}
		}
		if claimed || hash != "" {
			u.PasswordHash, u.Generation = hash, u.Generation+1
		}
		if u.VerifiedAt == 0 {
			u.VerifiedAt = now
		}
		if u.AdminAt == 0 {
			u.AdminAt = now
		}
		if err := tx.UpdateUser(&before, u); err != nil {
			return nil, err
		}
		return a.userRow(act, &before, u)
	})
	if err != nil {
		return nil, orNotFound("make an administrator", err, userNotFound)
	}
	a.invalidate(ctx, keys)
	return u, nil
}
