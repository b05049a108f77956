package account

import (
	"context"
	"errors"
	"time"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/audit"
	"modelgateway/services/auth"
)

// PasswordChange is a request of a user for another password.
type PasswordChange struct {
	UserID  string
	Current string
	New     string
	Address string // of the client, as auth.Caller has it
}

// ChangePassword changes a user's password and returns a new token. The tokens of before
// end, as do links that would reset the password. Wrong passwords count as failed logins.
func (a *Service) ChangePassword(ctx context.Context, c PasswordChange) (auth.Token, error) {
	if c.Current == "" {
		return auth.Token{}, missingField("current_password")
	}
	if err := checkNewPassword(c.New); err != nil {
		return auth.Token{}, err
	}
	leave, err := a.hashing.join(c.Address)
	if err != nil {
		return auth.Token{}, err
	}
	defer leave()
	u, err := a.checkCurrent(ctx, c)
	if err != nil {
		return auth.Token{}, err
	}
	hash, err := a.hash(ctx, c.New)
	if err != nil {
		return auth.Token{}, err
	}
	changed, err := a.store.ChangeUser(ctx, u.ID, func(now *models.User) (*models.Audit, error) {
		if now.PasswordHash != u.PasswordHash || now.Generation != u.Generation || now.DisabledAt != 0 {
			return nil, api.Unauthorized(api.CodeInvalidCredentials,
				"the password was changed meanwhile, or the user was logged out: log in again")
		}
		now.PasswordHash, now.Generation = hash, now.Generation+1
		return nil, nil
	})
	if err != nil {
		return auth.Token{}, api.OrUnavailable("change a password", err)
	}
	return a.tokens.Issue(changed)
}

// checkCurrent returns the user if the current password is theirs. A wrong one counts as a failed
// login.
func (a *Service) checkCurrent(ctx context.Context, c PasswordChange) (*models.User, error) {
	u, err := a.store.User(ctx, c.UserID)
	if errors.Is(err, models.ErrNotFound) {
		return nil, auth.InvalidToken()
	}
	if err != nil {
		return nil, api.Unavailable(err)
	}
	tried := attempt{email: u.Email, address: c.Address}
	if err := a.failures.check(ctx, tried); err != nil {
		return nil, err
	}
	return u, ofCurrent(a.compare(ctx, u, tried, c.Current))
}

// recently is for how long a login shows that the user is there, and not only a token of theirs.
const recently = 5 * time.Minute

// Confirm checks that the user themselves asks for what a stolen token must not do: by the current
// password in c, or by a token of a login of the last minutes.
func (a *Service) Confirm(ctx context.Context, c PasswordChange, token string) error {
	if c.Current == "" {
		if a.tokens.Recent(token, recently) {
			return nil
		}
		return api.Forbidden(api.CodePasswordRequired, "current_password",
			"this needs your password, or a login of the last five minutes: send current_password, or log in again")
	}
	leave, err := a.hashing.join(c.Address)
	if err != nil {
		return err
	}
	defer leave()
	_, err = a.checkCurrent(ctx, c)
	return err
}

// Identities are those with which a user can log in.
func (a *Service) Identities(ctx context.Context, userID string) ([]api.Identity, error) {
	all, err := a.store.Identities(ctx, userID)
	if err != nil {
		return nil, api.OrUnavailable("list identities", err)
	}
	shown := make([]api.Identity, len(all))
	for i := range all {
		shown[i] = api.Identity{Issuer: all[i].Issuer, Email: api.Maybe(all[i].Email), CreatedAt: api.Seconds(all[i].CreatedAt)}
	}
	return shown, nil
}

// Rename changes the name of a user, who asks for it themselves.
func (a *Service) Rename(ctx context.Context, userID, name string) (*models.User, error) {
	name, err := UserName(name)
	if err != nil {
		return nil, err
	}
	if name == "" {
		return nil, missingField("name")
	}
	u, err := a.store.ChangeUser(ctx, userID, func(u *models.User) (*models.Audit, error) {
		u.Name = name
		return nil, nil
	})
	if errors.Is(err, models.ErrNotFound) {
		return nil, auth.InvalidToken()
	}
	if err != nil {
		return nil, api.OrUnavailable("change the name of a user", err)
	}
	return u, nil
}

// checkNewPassword is checkPassword for the member new_password.
func checkNewPassword(password string) error {
	if password == "" {
		return missingField("new_password")
	}
	return checkPassword("new_password", password)
}

// ofCurrent has an error of compare name the member current_password: the request has no
// e-mail address.
func ofCurrent(err error) error {
	if e, ok := errors.AsType[*api.Error](err); ok && e.Code == api.CodeInvalidCredentials {
		wrong := api.Unauthorized(e.Code, "current_password is wrong")
		wrong.Param = "current_password"
		return wrong
	}
	return err
}

// Logout ends one token of a user.
func (a *Service) Logout(ctx context.Context, token string) error { return a.tokens.End(ctx, token) }

// LogoutEverywhere ends all tokens of a user.
func (a *Service) LogoutEverywhere(ctx context.Context, userID string) error {
	_, err := a.store.ChangeUser(ctx, userID, func(u *models.User) (*models.Audit, error) {
		u.Generation++
		return nil, nil
	})
	if err != nil {
		return api.OrUnavailable("end all tokens of a user", err)
	}
	a.tokens.Forget(userID)
	return nil
}

// Unlink removes the identities of a user, who must have a password to log in with, and ends all
// tokens of the user if everywhere is set. from is the request, for the audit.
func (a *Service) Unlink(ctx context.Context, userID string, everywhere bool, from audit.Entry) error {
	removed, err := a.store.UnlinkIdentities(ctx, userID, func(u *models.User, all []models.Identity) (*models.Audit, error) {
		if everywhere {
			u.Generation++
		}
		if len(all) == 0 {
			return nil, nil
		}
		if u.PasswordHash == "" {
			return nil, api.Conflict(api.CodeLastLogin, "",
				"this account has no password, so that the identity provider is its only way to log in: "+
					"an administrator can make a link that sets a password")
		}
		from.Action = "identity.unlink"
		return audit.Identity(a.now(), from, u, all...)
	})
	switch {
	case errors.Is(err, models.ErrNotFound):
		return auth.InvalidToken()
	case err != nil:
		return api.OrUnavailable("remove identities", err)
	case everywhere:
		a.tokens.Forget(userID)
	case len(removed) == 0:
		return api.NotFound(api.CodeIdentityNotFound, "no identity is linked to this account")
	}
	return nil
}
