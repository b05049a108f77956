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
}

// Invite adds an invitation, which is valid for a week, in a transaction after which Deliver
// is called.
func (a *Service) Invite(tx *models.Transaction, in Invitation) (*Link, error) {
	if in.Email != "" {
		email, err := a.allowedEmail(in.Email)
		if err != nil {
			return nil, err
		}
		u, err := tx.UserByEmail(email)
		if err := a.checkFree(u, err, true); err != nil {
			return nil, err
		}
		in.Email = email
	}
	return a.addLink(tx, models.OneTimeToken{
		Purpose: models.PurposeInvite, Email: in.Email, ProvesEmail: in.Email != "" && (in.Vouched || a.mail != nil),
		TeamID: in.TeamID, Role: in.Role, CreatedBy: in.By,
	}, inviteDuration, 0)
}

// ResetLink adds a link with which a user sets a password without the former one, in a
// transaction after which Deliver is called. The user may be one of an identity provider.
func (a *Service) ResetLink(tx *models.Transaction, u *models.User, by string) (*Link, error) {
	return a.addLink(tx, models.OneTimeToken{
		Purpose: models.PurposeReset, UserID: u.ID, Email: u.Email, ProvesEmail: true, CreatedBy: by,
	}, handedDuration, 0)
}

// Deliver mails a link if the gateway sends mail and it has an address: then it has no URL.
func (a *Service) Deliver(l *Link) error {
	if a.mail == nil || l.Email == "" {
		return nil
	}
	m := a.message(l)
	if !a.mail.Add(func(context.Context) (*mail.Message, error) { return m, nil }) {
		return api.Unavailable(errors.New("too many mails wait to be sent"))
	}
	l.URL = ""
	return nil
}

// addLink adds a link unless its user has most of them already for the same purpose; 0 is no limit.
func (a *Service) addLink(tx *models.Transaction, t models.OneTimeToken, valid time.Duration, most int64) (*Link, error) {
	now := a.now()
	text := tokenText(t.Purpose, rand.Text())
	t.ID, t.Hash = "ott_"+rand.Text(), tokenHash(text)
	t.CreatedAt, t.ExpiresAt = now.UnixMicro(), now.Add(valid).UnixMicro()
	return &Link{OneTimeToken: t, URL: a.linkURL(text)}, tx.CreateOneTimeToken(&t, most)
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
