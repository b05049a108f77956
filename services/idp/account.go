package idp

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"modelgateway/models"
	"modelgateway/models/api"
)

// account is the user that a person is, made at their first login. Only the
// identity, which is issuer and subject, leads to a user who exists: an address
// never does, as whoever registered it may not be the one who owns it.
func (l *Login) account(ctx context.Context, p person) (*models.User, error) {
	if !plausible(p.subject) {
		return nil, rejected(errors.New("the subject is empty, too long or not text"))
	}
	if p.email == "" || !p.verified {
		return nil, notVerified(errors.New("no verified address"))
	}
	email, err := l.opts.NormalEmail(p.email)
	if err != nil {
		return nil, notVerified(err)
	}
	if !l.opts.Allowed(email) {
		return nil, forbidden(api.CodeDomainNotAllowed, "accounts with e-mail addresses of this domain are not allowed here")
	}
	user, err := l.known(ctx, p)
	if !errors.Is(err, models.ErrNotFound) {
		return user, err
	}
	return l.create(ctx, p, email)
}

// known is the user of an identity, or models.ErrNotFound.
func (l *Login) known(ctx context.Context, p person) (*models.User, error) {
	user, err := l.opts.Store.UserByIdentity(ctx, p.issuer, p.subject)
	switch {
	case errors.Is(err, models.ErrNotFound):
		return nil, err
	case err != nil:
		return nil, gone(err)
	case user.DisabledAt != 0:
		return nil, rejected(errors.New("the account is disabled"))
	}
	return user, nil
}

func (l *Login) create(ctx context.Context, p person, email string) (*models.User, error) {
	now := l.opts.Now().UnixMicro()
	user := &models.User{ID: "usr_" + rand.Text(), Email: email, Name: cleaned(p.name), CreatedAt: now}
	err := l.opts.Store.CreateUserWithIdentity(ctx, user, &models.Identity{
		Issuer: p.issuer, Subject: p.subject, UserID: user.ID, CreatedAt: now,
	})
	switch {
	case err == nil:
		return user, nil
	case !errors.Is(err, models.ErrTaken):
		return nil, gone(err)
	}
	// Either the address is another account's, or the same person has just
	// logged in for the first time elsewhere.
	user, err = l.known(ctx, p)
	if errors.Is(err, models.ErrNotFound) {
		return nil, accountExists()
	}
	return user, err
}

// gone says that our database is: the login cannot be finished once more.
func gone(err error) *api.Error {
	e := api.Unavailable(err)
	e.Final, e.RetryAfter = true, 0
	return e
}

// plausible is what a database takes and OpenID Connect allows of a subject:
// 255 characters of it.
func plausible(subject string) bool {
	return subject != "" && len(subject) <= 255 && utf8.ValidString(subject) &&
		strings.IndexFunc(subject, unicode.IsControl) < 0
}

// cleaned is a name for people to read: what has no look of its own, such as
// marks that turn the direction of writing, goes.
func cleaned(name string) string {
	const longest = 200 // bytes, as for those who register
	var b strings.Builder
	for _, r := range strings.TrimSpace(strings.ToValidUTF8(name, "")) {
		if b.Len()+utf8.RuneLen(r) > longest {
			break
		}
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		}
	}
	return b.String()
}
