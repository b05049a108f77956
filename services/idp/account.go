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

// account returns the user of a person, created at the first login. Only the
// identity, which is issuer and subject, finds an existing user. The e-mail
// address does not: its registration may not have been its owner's.
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
	user, err := l.existing(ctx, p)
	if !errors.Is(err, models.ErrNotFound) {
		return user, err
	}
	return l.create(ctx, p, email)
}

// existing returns the user of an identity, or models.ErrNotFound.
func (l *Login) existing(ctx context.Context, p person) (*models.User, error) {
	user, err := l.opts.Store.UserByIdentity(ctx, p.issuer, p.subject)
	switch {
	case errors.Is(err, models.ErrNotFound):
		return nil, err
	case err != nil:
		return nil, databaseDown(err)
	case user.DisabledAt != 0:
		return nil, rejected(errors.New("the account is disabled"))
	}
	return user, nil
}

func (l *Login) create(ctx context.Context, p person, email string) (*models.User, error) {
	now := l.opts.Now().UnixMicro()
	user := &models.User{ID: "usr_" + rand.Text(), Email: email, Name: displayName(p.name), CreatedAt: now}
	err := l.opts.Store.CreateUserWithIdentity(ctx, user, &models.Identity{
		Issuer: p.issuer, Subject: p.subject, UserID: user.ID, CreatedAt: now,
	})
	switch {
	case err == nil:
		return user, nil
	case !errors.Is(err, models.ErrTaken):
		return nil, databaseDown(err)
	}
	// Either the address is another account's, or the same person's first login
	// has just ended on another replica.
	user, err = l.existing(ctx, p)
	if errors.Is(err, models.ErrNotFound) {
		return nil, accountExists()
	}
	return user, err
}

// databaseDown answers when our database failed. It is final: the state of the
// login is used up.
func databaseDown(err error) *api.Error {
	e := api.Unavailable(err)
	e.Final, e.RetryAfter = true, 0
	return e
}

// plausible reports whether a subject is valid for OpenID Connect, which allows
// 255 characters, and for the database.
func plausible(subject string) bool {
	return subject != "" && len(subject) <= 255 && utf8.ValidString(subject) &&
		strings.IndexFunc(subject, unicode.IsControl) < 0
}

// displayName returns the name without invisible characters, such as marks that
// change the direction of writing.
func displayName(name string) string {
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
