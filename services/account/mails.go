package account

import (
	"fmt"
	"time"

	"modelgateway/models"
	"modelgateway/services/mail"
)

// message is the mail with a link.
func (a *Service) message(t *models.OneTimeToken, text string) *mail.Message {
	m := &mail.Message{Kind: string(t.Purpose), UserID: t.UserID, To: t.Email}
	var first, last string
	switch t.Purpose {
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
	until := time.UnixMicro(t.ExpiresAt).UTC().Format("2 January 2006 15:04 UTC")
	m.Text = fmt.Sprintf("Hello,\n\n%s\n\n%s\n\nThe link works once, until %s.\n\n%s\n", first, a.linkURL(text), until, last)
	return m
}
