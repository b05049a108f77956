package idp

import (
	"context"
	"errors"
	"net/http"

	"modelgateway/models"
	"modelgateway/models/api"
	"modelgateway/services/auth"
)

// BeginLink starts a login that adds the identity to a user who is logged in already.
// The sealed cookie names the user: another browser cannot finish it, and a site that
// sends this browser to the callback has no cookie that names its own user.
func (l *Login) BeginLink(ctx context.Context, userID string) (redirect, cookie string, err error) {
	if !l.Configured() {
		return "", "", notConfigured()
	}
	u, err := l.opts.Store.User(ctx, userID)
	if errors.Is(err, models.ErrNotFound) {
		return "", "", auth.InvalidToken()
	}
	if err != nil {
		return "", "", api.Unavailable(err)
	}
	return l.begin(ctx, linkTo{userID: u.ID, generation: u.Generation})
}

// link adds a person's identity to the user of the attempt. A user whose tokens were
// ended since then has to begin again.
func (l *Login) link(ctx context.Context, to linkTo, p person, email string) (*models.User, error) {
	now := l.opts.Now().UnixMicro()
	identity := &models.Identity{Issuer: p.issuer, Subject: p.subject, UserID: to.userID, CreatedAt: now}
	u, err := l.opts.Store.LinkIdentity(ctx, identity, func(u *models.User) error {
		if u.DisabledAt != 0 || u.Generation != to.generation {
			return invalidState(errors.New("the user has logged out everywhere since, or is disabled"))
		}
		if u.VerifiedAt == 0 && u.Email == email {
			u.VerifiedAt = now
		}
		return nil
	})
	switch {
	case err == nil:
		return u, nil
	case errors.Is(err, models.ErrNotFound):
		return nil, invalidState(errors.New("the user was deleted"))
	case errors.Is(err, models.ErrTaken):
		return nil, linkedElsewhere()
	}
	if e, ok := errors.AsType[*api.Error](err); ok {
		return nil, e
	}
	return nil, databaseDown(err)
}

// Unlink removes the identities of a user, who must have a password to log in with.
func (l *Login) Unlink(ctx context.Context, userID string) error {
	removed, err := l.opts.Store.UnlinkIdentities(ctx, userID, func(u *models.User) error {
		if u.PasswordHash == "" {
			return &api.Error{
				Status: http.StatusConflict, Type: api.TypeInvalidRequest, Code: api.CodeLastLogin,
				Message: "this account has no password, so that the identity provider is its only way to log in: " +
					"an administrator can make a link that sets a password",
			}
		}
		return nil
	})
	switch {
	case errors.Is(err, models.ErrNotFound):
		return auth.InvalidToken()
	case err != nil:
		return api.OrUnavailable("remove identities", err)
	case removed == 0:
		return &api.Error{
			Status: http.StatusNotFound, Type: api.TypeInvalidRequest, Code: api.CodeIdentityNotFound,
			Message: "no identity is linked to this account",
		}
	}
	return nil
}
