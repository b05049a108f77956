package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/audit"
	"modelgateway/services/mail"
)

// mostResets is how many mails that reset a password a user gets within their
// duration.
const mostResets = 3

// Forgot has a link that resets the password mailed to a user. Its answer and the time
// that it takes are the same for every address, since nothing is looked up before it
// answers. Users without a password and disabled ones get no mail. Without SMTP_URL
// nothing happens.
func (a *Service) Forgot(email string) error {
	if email == "" {
		return missingField("email")
	}
	email, err := NormalEmail(email)
	if err != nil {
		return err
	}
	if a.mail != nil {
		a.mail.Add(func(ctx context.Context) (*mail.Message, error) { return a.forgotten(ctx, email) })
	}
	return nil
}

// SendsMail says whether the gateway sends mail.
func (a *Service) SendsMail() bool { return a.mail != nil }

// Invites says whether invitations are mailed, and can be used.
func (a *Service) Invites() bool { return a.mail != nil && a.registration != RegistrationClosed }

func (a *Service) forgotten(ctx context.Context, email string) (*mail.Message, error) {
	u, err := a.store.UserByEmail(ctx, email)
	if errors.Is(err, models.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look up the user of a mail: %w", err)
	}
	if u.PasswordHash == "" || u.DisabledAt != 0 {
		return nil, nil
	}
	return a.linkMail(ctx, models.OneTimeToken{
		Purpose: models.PurposeReset, UserID: u.ID, Email: u.Email, ProvesEmail: true,
	}, resetDuration, mostResets)
}

// linkMail adds a link and returns the mail with it; nil for a user who has most of them already.
func (a *Service) linkMail(ctx context.Context, t models.OneTimeToken, valid time.Duration, most int64) (*mail.Message, error) {
	var l *Link
	err := a.store.Change(ctx, func(tx *models.Transaction) (err error) {
		l, err = a.addLink(tx, t, valid, most)
		return err
	})
	if errors.Is(err, models.ErrTooMany) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("add a link: %w", err)
	}
	return a.message(l), nil
}

// PasswordReset is a request with the token of a link.
type PasswordReset struct {
	Token   string
	New     string
	Unlink  bool   // also removes the identities of the user
	Address string // of the client, as auth.Caller has it
	Request string // id
}

// ResetPassword sets the password of the token's user. The user's tokens of before end,
// and other links that would reset the password.
func (a *Service) ResetPassword(ctx context.Context, r PasswordReset) (*models.User, error) {
	return a.setPassword(ctx, models.PurposeReset, r)
}

// Verify marks the address of the token's user as verified, and sets a new password: whoever registered
// the address knows the former one.
func (a *Service) Verify(ctx context.Context, r PasswordReset) (*models.User, error) {
	return a.setPassword(ctx, models.PurposeVerify, r)
}

func (a *Service) setPassword(ctx context.Context, purpose models.Purpose, r PasswordReset) (*models.User, error) {
	if r.Token == "" {
		return nil, missingField("token")
	}
	if err := checkNewPassword(r.New); err != nil {
		return nil, err
	}
	linked, err := a.identitiesOf(ctx, purpose, r)
	if err != nil {
		return nil, err
	}
	leave, err := a.hashing.join(r.Address)
	if err != nil {
		return nil, err
	}
	defer leave()
	hash, err := a.hash(ctx, r.New)
	if err != nil {
		return nil, err
	}
	u, err := a.use(ctx, purpose, r.Token, func(t *models.OneTimeToken, u *models.User) (*models.Audit, error) {
		if u.DisabledAt != 0 || u.Email != t.Email {
			return nil, invalidToken(purpose)
		}
		row, err := a.markProven(t, u, r.Request)
		u.PasswordHash, u.Generation = hash, u.Generation+1
		if err == nil && !t.TakesOver && len(linked) > 0 {
			t.Unlinks = true
			row, err = audit.Identity(a.now(), audit.Entry{Action: "identity.unlink", RequestID: r.Request}, u, linked...)
		}
		return row, err
	})
	if err != nil {
		return nil, err
	}
	a.tokens.Forget(u.ID)
	return u, nil
}

// identitiesOf are those that the use of a token is asked to remove. Its error is the one that use
// would return for the token now.
func (a *Service) identitiesOf(ctx context.Context, purpose models.Purpose, r PasswordReset) ([]models.Identity, error) {
	t, err := a.store.FindOneTimeToken(ctx, a.tokenUse(purpose, r.Token))
	if err != nil || !r.Unlink {
		return nil, useError(purpose, err)
	}
	linked, err := a.store.Identities(ctx, t.UserID)
	if err != nil {
		return nil, api.OrUnavailable("list identities", err)
	}
	return linked, nil
}

// markProven marks the address of a token's user as verified if the token proves it. Where the gateway
// sends mail, the first proof takes the account over from those who know its password, with a row of
// the audit. Without mail nobody's address is proven by a link alone: it was handed over.
func (a *Service) markProven(t *models.OneTimeToken, u *models.User, from string) (*models.Audit, error) {
	if !t.ProvesEmail || t.Email != u.Email || u.VerifiedAt != 0 {
		return nil, nil
	}
	now := a.now()
	before := auditedState{Password: u.PasswordHash != "", Admin: u.AdminAt != 0}
	t.TakesOver = a.takesOver(t, u)
	u.VerifiedAt = now.UnixMicro()
	if !t.TakesOver {
		return nil, nil
	}
	return audit.Row(now, audit.Entry{Action: "user.takeover", RequestID: from}.Own(u), struct {
		Email  string       `json:"email"`
		Before auditedState `json:"before"`
		After  auditedState `json:"after"`
	}{u.Email, before, auditedState{Password: true, Verified: true}})
}

// takesOver says whether the use of a token ends what others have made in the account of a user. An
// account without a password was made by an administrator, for this person.
func (a *Service) takesOver(t *models.OneTimeToken, u *models.User) bool {
	return t.ProvesEmail && t.Email == u.Email && a.adoptable(u) && u.PasswordHash != ""
}

// auditedState is how a user can log in, in a row of the audit.
type auditedState struct {
	Password bool `json:"password"`
	Admin    bool `json:"admin"`
	Verified bool `json:"verified"`
}

// sendVerification has a new user mailed a link that verifies the address.
func (a *Service) sendVerification(u *models.User) {
	if a.mail == nil || u.VerifiedAt != 0 {
		return
	}
	t := models.OneTimeToken{Purpose: models.PurposeVerify, UserID: u.ID, Email: u.Email, ProvesEmail: true}
	a.mail.Add(func(ctx context.Context) (*mail.Message, error) { return a.linkMail(ctx, t, verifyDuration, 0) })
}
