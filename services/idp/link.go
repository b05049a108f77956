package idp

import (
	"context"
	"errors"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/audit"
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
	return l.beginFor(ctx, linkTo{userID: u.ID, generation: u.Generation})
}

// link adds a person's identity to the user of the attempt. A user whose tokens were
// ended since then has to begin again.
func (l *Login) link(ctx context.Context, to linkTo, p person, email string, from audit.Entry) (*models.User, error) {
	at := l.opts.Now()
	identity := &models.Identity{Issuer: p.issuer, Subject: p.subject, UserID: to.userID, Email: email, CreatedAt: at.UnixMicro()}
	from.Action = "identity.link"
	u, added, err := l.opts.Store.LinkIdentity(ctx, identity, func(u *models.User) (*models.Audit, error) {
		if u.DisabledAt != 0 || u.Generation != to.generation {
			return nil, invalidState(errors.New("the user has logged out everywhere since, or is disabled"))
		}
		if u.VerifiedAt == 0 && u.Email != email && l.opts.Mail { // the account may be a stranger's
			return nil, auth.EmailNotVerified("to link an identity with another address")
		}
		if u.VerifiedAt == 0 && u.Email == email {
			u.VerifiedAt = identity.CreatedAt
		}
		return audit.Identity(at, from, u, *identity)
	})
	switch {
	case err == nil:
		if added && l.opts.Linked != nil {
			l.opts.Linked(u, identity)
		}
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
