package account

import (
	"context"
	"errors"

	"modelgateway/models"
	"modelgateway/models/api"
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
	u, err := a.store.User(ctx, c.UserID)
	if errors.Is(err, models.ErrNotFound) {
		return auth.Token{}, auth.InvalidToken()
	}
	if err != nil {
		return auth.Token{}, api.Unavailable(err)
	}
	tried := attempt{email: u.Email, address: c.Address}
	if err := a.failures.check(ctx, tried); err != nil {
		return auth.Token{}, err
	}
	leave, err := a.hashing.join(c.Address)
	if err != nil {
		return auth.Token{}, err
	}
	defer leave()
	if err := a.compare(ctx, u, tried, c.Current); err != nil {
		return auth.Token{}, ofCurrent(err)
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

// Logout ends the token of a user, or all of the user's tokens.
func (a *Service) Logout(ctx context.Context, userID, token string, everywhere bool) error {
	if !everywhere {
		return a.tokens.End(ctx, token)
	}
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
