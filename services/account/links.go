package account

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"time"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/mail"
)

// LinkPath is where the page of a link is, below PUBLIC_URL. The token stands behind the #:
// browsers do not send it, so that no log of a proxy has it.
const LinkPath = "/signin"

// How long links are valid.
const (
	inviteDuration = 7 * 24 * time.Hour
	resetDuration  = time.Hour      // of a link that was mailed
	handedDuration = 24 * time.Hour // of a link that an administrator hands over
	verifyDuration = 24 * time.Hour
	setupDuration  = 24 * time.Hour
)

// Link is a one-time token and the address of its page.
type Link struct {
	models.OneTimeToken
	URL string // empty: it was mailed, and only its receiver has it
}

// Invitation is a request for a link with which one person can register.
type Invitation struct {
	Email   string      // with which the person has to register; empty: any
	TeamID  string      // of which the person becomes a member; empty: none
	Role    models.Role // in that team
	By      string      // id of the user who invites
	Vouched bool        // by is an administrator: the person need not verify the address

	// Audit makes the row of the audit; nil: none.
	Audit func(*models.OneTimeToken) (*models.Audit, error)
}

// Invite makes an invitation, which is valid for a week. It is mailed if the gateway
// sends mail and the invitation names an address, else the link has its URL.
func (a *Service) Invite(ctx context.Context, in Invitation) (Link, error) {
	if in.Email != "" {
		email, err := a.freeEmail(ctx, in.Email, true)
		if err != nil {
			return Link{}, err
		}
		in.Email = email
	}
	return a.link(ctx, newLink{
		OneTimeToken: models.OneTimeToken{
			Purpose: models.PurposeInvite, Email: in.Email, ProvesEmail: in.Vouched && in.Email != "",
			TeamID: in.TeamID, Role: in.Role, CreatedBy: in.By,
		},
		duration: inviteDuration, audit: in.Audit,
	})
}

// freeEmail returns the normal form of an address with which a user can register.
func (a *Service) freeEmail(ctx context.Context, text string, invited bool) (string, error) {
	email, err := NormalEmail(text)
	if err != nil {
		return "", err
	}
	if !DomainAllowed(email, a.domains) {
		return "", domainRefused()
	}
	return email, a.checkFree(ctx, email, invited)
}

// Reset is a request of an administrator for a link with which a user can set a
// password.
type Reset struct {
	UserID string
	By     string // id of the administrator

	// Audit makes the row of the audit; nil: none.
	Audit func(*models.OneTimeToken) (*models.Audit, error)
}

// ResetLink makes a link with which a user sets a password without the former one. The
// user may be one of an identity provider. It is mailed as Invite does. The error of a
// user that is unknown is models.ErrNotFound.
func (a *Service) ResetLink(ctx context.Context, r Reset) (Link, error) {
	u, err := a.store.User(ctx, r.UserID)
	if errors.Is(err, models.ErrNotFound) {
		return Link{}, err
	}
	if err != nil {
		return Link{}, api.Unavailable(err)
	}
	return a.link(ctx, newLink{
		OneTimeToken: models.OneTimeToken{Purpose: models.PurposeReset, UserID: u.ID, Email: u.Email, ProvesEmail: true, CreatedBy: r.By},
		duration:     handedDuration, audit: r.Audit,
	})
}

// newLink is a link that is to be made.
type newLink struct {
	models.OneTimeToken
	duration time.Duration
	most     int64 // of its user and purpose at the same time; 0: no limit
	audit    func(*models.OneTimeToken) (*models.Audit, error)
}

// link adds a link, and mails it if the gateway sends mail and it has an address.
func (a *Service) link(ctx context.Context, l newLink) (Link, error) {
	mailed := a.mail != nil && l.Email != ""
	l.ProvesEmail = l.ProvesEmail || mailed
	text, err := a.add(ctx, &l)
	if err != nil {
		return Link{}, api.OrUnavailable("add a one-time token", err)
	}
	if !mailed {
		return Link{OneTimeToken: l.OneTimeToken, URL: a.linkURL(text)}, nil
	}
	m := a.message(&l.OneTimeToken, text)
	if !a.mail.Add(func(context.Context) (*mail.Message, error) { return m, nil }) {
		return Link{}, api.Unavailable(errors.New("too many mails wait to be sent"))
	}
	return Link{OneTimeToken: l.OneTimeToken}, nil
}

// add adds a one-time token and returns its text.
func (a *Service) add(ctx context.Context, l *newLink) (text string, err error) {
	now := a.now()
	text = tokenText(l.Purpose, rand.Text())
	l.ID, l.Hash = "ott_"+rand.Text(), tokenHash(text)
	l.CreatedAt, l.ExpiresAt = now.UnixMicro(), now.Add(l.duration).UnixMicro()
	var row *models.Audit
	if l.audit != nil {
		if row, err = l.audit(&l.OneTimeToken); err != nil {
			return "", err
		}
	}
	return text, a.store.CreateOneTimeToken(ctx, &l.OneTimeToken, l.most, row)
}

func (a *Service) linkURL(text string) string {
	return a.publicURL + LinkPath + "#" + url.Values{"token": {text}}.Encode()
}

// tokenText is the text of a one-time token: its prefix names its purpose, and secret
// scanners find it with \bmgw_(invite|reset|verify|setup)_[A-Z2-7]{26}\b.
func tokenText(purpose models.Purpose, secret string) string {
	return "mgw_" + string(purpose) + "_" + secret
}

// tokenHash is what the database has of a token. 130 random bits cannot be guessed, so
// a slow hash would add nothing.
func tokenHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// use uses a one-time token: see models.Store.UseOneTimeToken. Its errors are *api.Error.
func (a *Service) use(ctx context.Context, purpose models.Purpose, token string,
	change func(*models.OneTimeToken, *models.User) (*models.Audit, error),
) (*models.User, error) {
	u, err := a.store.UseOneTimeToken(ctx, a.tokenUse(purpose, token), change)
	return u, useError(purpose, err)
}

// check returns the error that use would return for this token now. It keeps the work
// of a password's hash from those who have no token.
func (a *Service) check(ctx context.Context, purpose models.Purpose, token string) error {
	_, err := a.store.FindOneTimeToken(ctx, a.tokenUse(purpose, token))
	return useError(purpose, err)
}

func (a *Service) tokenUse(purpose models.Purpose, token string) models.TokenUse {
	return models.TokenUse{Hash: tokenHash(token), Purpose: purpose, At: a.now().UnixMicro()}
}

func useError(purpose models.Purpose, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, models.ErrNotFound):
		return invalidToken(purpose)
	case errors.Is(err, models.ErrTaken):
		return emailTaken()
	}
	return api.OrUnavailable("use a one-time token", err)
}

// invalidToken answers for a token that is unknown, used or over, all alike.
func invalidToken(purpose models.Purpose) error {
	e := &api.Error{Status: http.StatusForbidden, Type: api.TypePermission, Code: api.CodeInvalidLink, Param: "token"}
	e.Message = "this link is not valid: it is unknown, was used before, or is too old"
	switch purpose {
	case models.PurposeInvite:
		e.Code, e.Param = api.CodeInvalidInvitation, "invitation"
		e.Message = "this invitation is not valid: it is unknown, was used before, or is too old"
	case models.PurposeSetup:
		e.Code = api.CodeInvalidSetupToken
		e.Message = "this set-up token is not valid: it is unknown, was used before, is too old, or there is an administrator already"
	}
	return e
}

// newUser fills a user that a one-time token or a registration creates.
func (a *Service) newUser(u *models.User, r Registration, hash string) {
	*u = models.User{
		ID: "usr_" + rand.Text(), Email: r.Email, Name: r.Name, PasswordHash: hash, CreatedAt: a.now().UnixMicro(), Generation: 1,
	}
}
