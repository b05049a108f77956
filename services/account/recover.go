package account

import (
	"context"
	"errors"
	"fmt"

	"modelgateway/models"
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
	l := newLink{
		OneTimeToken: models.OneTimeToken{Purpose: models.PurposeReset, UserID: u.ID, Email: u.Email, ProvesEmail: true},
		duration:     resetDuration, most: mostResets,
	}
	text, err := a.add(ctx, &l)
	if errors.Is(err, models.ErrTooMany) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("add a link: %w", err)
	}
	return a.message(&l.OneTimeToken, text), nil
}

// PasswordReset is a request with the token of a link.
type PasswordReset struct {
	Token   string
	New     string
	Address string // of the client, as auth.Caller has it
}

// ResetPassword sets the password of the token's user. The user's tokens of before end,
// and other links that would reset the password.
func (a *Service) ResetPassword(ctx context.Context, r PasswordReset) (*models.User, error) {
	if r.Token == "" {
		return nil, missingField("token")
	}
	if err := checkNewPassword(r.New); err != nil {
		return nil, err
	}
	if err := a.check(ctx, models.PurposeReset, r.Token); err != nil {
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
	u, err := a.use(ctx, models.PurposeReset, r.Token, func(t *models.OneTimeToken, u *models.User) (*models.Audit, error) {
		if u.DisabledAt != 0 || u.Email != t.Email {
			return nil, invalidToken(models.PurposeReset)
		}
		u.PasswordHash, u.Generation = hash, u.Generation+1
		a.proven(t, u)
		return nil, nil
	})
	if err != nil {
		return nil, err
	}
	a.tokens.Forget(u.ID)
	return u, nil
}

// proven marks the address of a token's user as verified if the token proves it.
func (a *Service) proven(t *models.OneTimeToken, u *models.User) {
	if t.ProvesEmail && t.Email == u.Email && u.VerifiedAt == 0 {
		u.VerifiedAt = a.now().UnixMicro()
	}
}

// Verify marks the address of the token's user as verified.
func (a *Service) Verify(ctx context.Context, token string) (*models.User, error) {
	if token == "" {
		return nil, missingField("token")
	}
	u, err := a.use(ctx, models.PurposeVerify, token, func(t *models.OneTimeToken, u *models.User) (*models.Audit, error) {
		if u.DisabledAt != 0 || u.Email != t.Email {
			return nil, invalidToken(models.PurposeVerify)
		}
		a.proven(t, u)
		return nil, nil
	})
	if err != nil {
		return nil, err
	}
	a.tokens.Forget(u.ID)
	return u, nil
}

// sendVerification has a new user mailed a link that verifies the address.
func (a *Service) sendVerification(u *models.User) {
	if a.mail == nil || u.VerifiedAt != 0 {
		return
	}
	userID, email := u.ID, u.Email
	a.mail.Add(func(ctx context.Context) (*mail.Message, error) {
		l := newLink{
			OneTimeToken: models.OneTimeToken{Purpose: models.PurposeVerify, UserID: userID, Email: email, ProvesEmail: true},
			duration:     verifyDuration,
		}
		text, err := a.add(ctx, &l)
		if err != nil {
			return nil, fmt.Errorf("add a link: %w", err)
		}
		return a.message(&l.OneTimeToken, text), nil
	})
}
