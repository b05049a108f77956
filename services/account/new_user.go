package account

import (
	"context"
	"crypto/rand"
	"strings"

	"modelgateway/models"
)

// NewUser returns a user whom an administrator creates, who is not in the database yet.
// It checks what Register checks, except that a name is not required, and neither is a
// password: a user without one sets it with a link of ResetLink, or logs in through an
// identity provider. The administrator vouches for the address.
func (a *Service) NewUser(ctx context.Context, r Registration) (*models.User, error) {
	if r.Email == "" {
		return nil, missingField("email")
	}
	email, err := a.allowedEmail(r.Email)
	if err != nil {
		return nil, err
	}
	taken, err := a.store.UserByEmail(ctx, email)
	if err := a.checkFree(taken, err, false); err != nil {
		return nil, err
	}
	now := a.now().UnixMicro()
	u := &models.User{ID: "usr_" + rand.Text(), Email: email, CreatedAt: now, VerifiedAt: now, Generation: 1}
	if u.Name, err = UserName(r.Name); err != nil || r.Password == "" {
		return u, err
	}
	u.PasswordHash, err = a.PasswordHash(ctx, r.Password, r.Address)
	return u, err
}

// UserName returns the name of a user as it is stored, without spaces around it.
func UserName(name string) (string, error) {
	name = strings.TrimSpace(name)
	return name, checkName(name)
}

// EmailTaken answers for an address that another user has.
func EmailTaken() error { return emailTaken() }
