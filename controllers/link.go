package controllers

import (
	"context"
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"modelgateway/middleware"
	"modelgateway/models"
	"modelgateway/models/api"
	"modelgateway/services/account"
	"modelgateway/web"
)

// Link answers GET /auth/link, the page of a link. It uses nothing: programs that scan
// mails open links too.
func (h *Auth) Link(c *gin.Context) error {
	return writeForm(c, http.StatusOK, linkForm(c.Query("token")))
}

// UseLink answers POST /auth/link, the form of that page. It does what the JSON endpoint
// for the link's purpose does.
func (h *Auth) UseLink(c *gin.Context) error {
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, maxAuthBody)
	if err := c.Request.ParseForm(); err != nil {
		return api.Invalid(api.CodeInvalidValue, "", "the form is not valid").WithCause(err)
	}
	sent := c.Request.PostForm
	token := sent.Get("token")
	form := linkForm(token)
	done, err := h.useLink(c, account.LinkPurpose(token), func(name string) string { return sent.Get(name) })
	if err == nil {
		return writeForm(c, http.StatusOK, web.Form{Title: form.Title, Text: done, Done: true})
	}
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Status >= http.StatusInternalServerError {
		return err
	}
	form.Fault = e.Message
	for i := range form.Fields {
		if field := &form.Fields[i]; field.Type != "password" {
			field.Value = sent.Get(field.Name)
		}
	}
	return writeForm(c, e.Status, form)
}

// useLink returns what the page says afterwards.
func (h *Auth) useLink(c *gin.Context, purpose models.Purpose, value func(name string) string) (string, error) {
	ctx, token := c.Request.Context(), value("token")
	var err error
	switch purpose {
	case models.PurposeInvite:
		r := formRegistration(c, value)
		r.Invitation = token
		_, err = h.Accounts.Register(ctx, r)
		return "Your account was created. You can log in with your e-mail address and your password now.", err
	case models.PurposeSetup:
		_, err = h.Accounts.Setup(ctx, setup(c, token, formRegistration(c, value)))
		return "Your account was created, and you are an administrator. You can log in with your e-mail address and your password now.", err
	case models.PurposeReset:
		_, err = h.Accounts.ResetPassword(ctx, account.PasswordReset{
			Token: token, New: value("new_password"), Address: middleware.ClientAddress(c),
		})
		return "Your password was changed. You can log in with it now.", err
	case models.PurposeVerify:
		return h.verified(ctx, token)
	}
	return "", account.InvalidLink()
}

func (h *Auth) verified(ctx context.Context, token string) (string, error) {
	_, err := h.Accounts.Verify(ctx, token)
	return "Your e-mail address is confirmed.", err
}

func formRegistration(c *gin.Context, value func(name string) string) account.Registration {
	return account.Registration{
		Email: value("email"), Password: value("password"), Name: value("name"), Address: middleware.ClientAddress(c),
	}
}

// passwordLabel names the bounds of a password, which are of its bytes.
func passwordLabel(name string) string {
	return name + " (8 to 72 characters; letters with accents count as two)"
}

// linkForm is the page of a token, by its purpose.
func linkForm(token string) web.Form {
	person := []web.FormField{
		{Name: "email", Label: "E-mail address", Type: "email", Autocomplete: "username"},
		{Name: "name", Label: "Your name", Type: "text", Autocomplete: "name"},
		{Name: "password", Label: passwordLabel("Password"), Type: "password", Autocomplete: "new-password"},
	}
	switch account.LinkPurpose(token) {
	case models.PurposeInvite:
		return web.Form{
			Title: "Create your account", Text: "Use the e-mail address to which you were invited.",
			Token: token, Fields: person, Button: "Create account",
		}
	case models.PurposeSetup:
		return web.Form{
			Title: "Create the first administrator", Token: token, Fields: person, Button: "Create administrator",
		}
	case models.PurposeReset:
		return web.Form{Title: "Set a new password", Token: token, Button: "Set password", Fields: []web.FormField{
			{Name: "new_password", Label: passwordLabel("New password"), Type: "password", Autocomplete: "new-password"},
		}}
	case models.PurposeVerify:
		return web.Form{
			Title: "Confirm your e-mail address", Token: token, Button: "Confirm",
			Text: "Confirm it only if you have created an account here yourself.",
		}
	}
	return web.Form{Title: "This link is not complete", Text: "Copy the whole link from the mail, or ask for another one."}
}

func writeForm(c *gin.Context, status int, form web.Form) error {
	noReferrer(c)
	c.Header("Content-Security-Policy", web.FormPolicy())
	c.Data(status, "text/html; charset=utf-8", form.Page())
	return nil
}
