package account

import (
	"context"
	"fmt"
	"time"

	"modelgateway/models"
	"modelgateway/services/mail"
)

// message is the mail with a link.
func (a *Service) message(l *Link) *mail.Message {
	m := &mail.Message{Kind: string(l.Purpose), UserID: l.UserID, To: l.Email}
	var first, last string
	switch l.Purpose {
	case models.PurposeInvite:
		m.Subject = "Your invitation to the Model Gateway"
		first = "You are invited to the Model Gateway at " + a.publicURL + ". Open this link to create your account:"
		last = "If you do not expect an invitation, ignore this mail."
	case models.PurposeReset:
		m.Subject = "Your password for the Model Gateway"
		first = "Open this link to set a new password for your account at " + a.publicURL + ":"
		last = "If you have not asked for it, ignore this mail: your password stays as it is."
	default: // models.PurposeVerify
		m.Subject = "Your e-mail address at the Model Gateway"
		first = "An account with this e-mail address was created at " + a.publicURL + ". Open this link to confirm that it is yours:"
		last = "If you have not created an account, do not open the link: another person has used your address."
	}
	until := time.UnixMicro(l.ExpiresAt).UTC().Format("2 January 2006 15:04 UTC")
	m.Text = fmt.Sprintf("Hello,\n\n%s\n\n%s\n\nThe link works once, until %s.\n\n%s\n", first, l.URL, until, last)
	return m
}

// TellOfKey mails a user that another one has made a key for them, or given it a new secret. shownTo
// is who has seen the secret; empty: it waits until the user fetches it. Without SMTP_URL it does
// nothing.
func (a *Service) TellOfKey(u *models.User, name, shownTo string) {
	m := &mail.Message{Kind: "key", UserID: u.ID, To: u.Email, Subject: "A key for the Model Gateway"}
	m.Text = fmt.Sprintf("Hello,\n\nThe key %q of your account at %s has a secret for you to fetch. Log in to see it, once:\n\n%s\n",
		name, a.publicURL, a.KeysPage())
	if shownTo != "" {
		m.Text = fmt.Sprintf("Hello,\n\nThe secret of the key %q of your account at %s was made by %s, who has seen it. "+
			"If you did not expect that, rotate or revoke the key:\n\n%s\n", name, a.publicURL, shownTo, a.KeysPage())
	}
	a.send(m)
}

// TellOfIdentity mails a user that an identity was linked to their account. Without SMTP_URL it
// does nothing.
func (a *Service) TellOfIdentity(u *models.User, i *models.Identity) {
	m := &mail.Message{Kind: "identity", UserID: u.ID, To: u.Email, Subject: "A new way to log in to the Model Gateway"}
	m.Text = fmt.Sprintf("Hello,\n\n%s of %s can now log in to your account at %s. If you did not link it, change your password and "+
		"remove the link:\n\n%s\n", i.Email, i.Issuer, a.publicURL, a.publicURL+"/account")
	a.send(m)
}

// send queues a mail, where the gateway sends any.
func (a *Service) send(m *mail.Message) {
	if a.mail != nil {
		a.mail.Add(func(context.Context) (*mail.Message, error) { return m, nil })
	}
}

// KeysPage is the address of the page where users fetch the secrets of their keys.
func (a *Service) KeysPage() string { return a.publicURL + "/keys?scope=own" }
