package idp

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/audit"
)

// address returns the normal form of a person's address if the person may log in.
func (l *Login) address(p person) (string, error) {
	if !plausible(p.subject) {
		return "", rejected(errors.New("the subject is empty, too long or not text"))
	}
	if p.email == "" || !p.verified {
		return "", notVerified(errors.New("no verified address"))
	}
	email, err := l.opts.NormalEmail(p.email)
	if err != nil {
		return "", notVerified(err)
	}
	if !l.opts.Allowed(email) {
		return "", forbidden(api.CodeDomainNotAllowed, api.DomainNotAllowed)
	}
	return email, nil
}

// account returns the user of a person, created at the first login. Only the identity,
// which is issuer and subject, finds an existing user. The e-mail address does not: its
// registration may not have been its owner's. An account whose address was never
// verified is taken over, since the identity proves whose address it is.
func (l *Login) account(ctx context.Context, p person, email string, from audit.Entry) (*models.User, error) {
	user, err := l.existing(ctx, p)
	if !errors.Is(err, models.ErrNotFound) {
		return user, err
	}
	user, err = l.create(ctx, p, email)
	if !errors.Is(err, models.ErrTaken) {
		return user, err
	}
	user, err = l.takeOver(ctx, p, email, from)
	if !errors.Is(err, models.ErrTaken) {
		return user, err
	}
	// Either the address is another account's, or the same person's first login
	// has just ended on another replica.
	user, err = l.existing(ctx, p)
	if errors.Is(err, models.ErrNotFound) {
		return nil, accountExists()
	}
	return user, err
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

// create returns models.ErrTaken when another user has the address or the identity.
func (l *Login) create(ctx context.Context, p person, email string) (*models.User, error) {
	now := l.opts.Now().UnixMicro()
	user := &models.User{ID: "usr_" + rand.Text(), Email: email, Name: displayName(p.name), CreatedAt: now, VerifiedAt: now}
	err := l.opts.Store.CreateUserWithIdentity(ctx, user, &models.Identity{
		Issuer: p.issuer, Subject: p.subject, UserID: user.ID, Email: email, CreatedAt: now,
	})
	if err != nil && !errors.Is(err, models.ErrTaken) {
		return nil, databaseDown(err)
	}
	return user, err
}

// takeOver gives a person the account with their address, which was never verified. It
// returns models.ErrTaken for one that was.
func (l *Login) takeOver(ctx context.Context, p person, email string, from audit.Entry) (*models.User, error) {
	now := l.opts.Now()
	identity := &models.Identity{Issuer: p.issuer, Subject: p.subject, Email: email, CreatedAt: now.UnixMicro()}
	from.Action = "user.takeover"
	user, err := l.opts.Store.TakeOver(ctx, email, identity, func(u models.User) (*models.Audit, error) {
		return audit.Row(now, from.Own(&u), struct {
			Email  string     `json:"email"`
			Issuer string     `json:"issuer"`
			Before loginState `json:"before"`
			After  loginState `json:"after"`
		}{u.Email, p.issuer, loginState{Password: u.PasswordHash != "", Admin: u.AdminAt != 0}, loginState{Verified: true}})
	})
	switch {
	case errors.Is(err, models.ErrTaken):
		return nil, err
	case errors.Is(err, models.ErrNotFound): // it was deleted meanwhile
		return nil, accountExists()
	case err != nil:
		return nil, databaseDown(err)
	case user.DisabledAt != 0:
		return nil, rejected(errors.New("the account is disabled"))
	}
	return user, nil
}

// loginState is how a user can log in, in a row of the audit.
type loginState struct {
	Password bool `json:"password"`
	Admin    bool `json:"admin"`
	Verified bool `json:"verified"`
}

// databaseDown answers when our database failed. It is final: the state of the
// login is used up.
func databaseDown(err error) *api.Error {
	e := api.Unavailable(err)
	e.Final, e.RetryAfter = true, 0
	e.Message = "the gateway is temporarily unavailable: begin the login again at " + Path
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
