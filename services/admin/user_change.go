package admin

import (
	"context"
	"slices"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/account"
	"modelgateway/services/auth"
)

// ChangeUser changes a user: the name, the limits, whether they are disabled, and
// whether they are an administrator. Within a second every replica rejects the tokens
// and keys of a disabled user; requests that run already are not affected. The tokens
// of before are not valid again when the user is enabled. Administrators cannot disable
// themselves, nor take their own rights.
func (a *Service) ChangeUser(ctx context.Context, by Actor, userID string, in api.UserChange) (*UserState, error) {
	if !in.Name.Named && in.Disabled == nil && in.Admin == nil && !in.Any() {
		return nil, api.Invalid(api.CodeMissingField, "disabled", "nothing is to be changed: send name, disabled, admin or a limit")
	}
	apply, err := a.validateUserChange(by, &in)
	if err != nil {
		return nil, err
	}
	if !auth.LooksLikeID(userID) {
		return nil, userNotFound()
	}
	if userID == by.UserID {
		if err := checkSelf(&in); err != nil {
			return nil, err
		}
	}
	var u *models.User
	err = a.act(ctx, by, func(tx *models.Transaction, act action) (_ *models.Audit, err error) {
		if u, err = tx.User(userID); err != nil {
			return nil, err
		}
		before := *u
		if err := apply(u); err != nil {
			return nil, err
		}
		if a.isAdmin(&before) && !a.isAdmin(u) {
			if err := a.checkOtherAdmin(tx, u.ID); err != nil {
				return nil, err
			}
		}
		if err := tx.UpdateUser(&before, u); err != nil {
			return nil, err
		}
		return a.userRow(act, &before, u)
	})
	if err != nil {
		return nil, orNotFound("change user", err, userNotFound)
	}
	return a.userState(ctx, u)
}

// validateUserChange checks every rule that does not depend on the user, and returns
// the function that applies the change to one.
func (a *Service) validateUserChange(by Actor, in *api.UserChange) (apply func(*models.User) error, err error) {
	var name string
	if in.Name.Named {
		if in.Name.Value == nil {
			return nil, api.Invalid(api.CodeInvalidValue, "name", "name must be a string, not null")
		}
		if name, err = account.UserName(*in.Name.Value); err != nil {
			return nil, err
		}
	}
	limit, err := a.keys.ValidateUserLimits(&in.KeyLimits)
	if err != nil {
		return nil, err
	}
	return func(u *models.User) error {
		now := a.now().UnixMicro()
		if in.Name.Named {
			u.Name = name
		}
		if to := in.Disabled; to != nil && *to != (u.DisabledAt != 0) {
			u.DisabledAt, u.DisabledBy = 0, ""
			if *to {
				u.DisabledAt, u.DisabledBy, u.Generation = now, by.UserID, u.Generation+1
			}
		}
		if to := in.Admin; to != nil && *to != (u.AdminAt != 0) {
			u.AdminAt = 0
			if *to {
				if err := a.checkProven(u, "admin", "an administrator"); err != nil {
					return err
				}
				u.AdminAt = now
			}
		}
		if in.Admin != nil && !*in.Admin && slices.Contains(a.emails, u.Email) {
			return api.Conflict(api.CodeInvalidValue, "admin",
				"ADMIN_EMAILS names this user: they stay an administrator until the operator removes the address there")
		}
		return limit(&u.Limits)
	}, nil
}

// checkProven refuses to give rights to an account whose address is not verified, where the gateway sends
// mail: it may be a stranger's.
func (a *Service) checkProven(u *models.User, param, to string) error {
	if u.VerifiedAt != 0 || !a.accounts.SendsMail() {
		return nil
	}
	return api.Conflict(api.CodeEmailNotVerified, param,
		"the address of this account was never verified, and another person may have "+
			"registered it: have its owner open a link first (a reset sends one), which ends what others made in it, before it becomes "+to)
}

// checkSelf refuses what administrators cannot do to themselves.
func checkSelf(in *api.UserChange) error {
	switch {
	case in.Disabled != nil && *in.Disabled:
		return api.Conflict(api.CodeInvalidValue, "disabled", "an administrator cannot disable themselves: another one has to")
	case in.Admin != nil && !*in.Admin:
		return api.Conflict(api.CodeInvalidValue, "admin", "an administrator cannot take their own rights: another one has to")
	}
	return nil
}

// checkOtherAdmin refuses to end the last administrator's rights.
func (a *Service) checkOtherAdmin(tx *models.Transaction, userID string) error {
	others, err := tx.OtherAdmins(userID, a.emails)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(others, func(u models.User) bool { return a.isAdmin(&u) }) {
		return nil
	}
	return api.Conflict(api.CodeLastAdministrator, "", "this is the last administrator: make another user an administrator first")
}
