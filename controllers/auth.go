package controllers

import (
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
	"modelgateway/middleware"
	"modelgateway/models"
	"modelgateway/services/account"
	"modelgateway/services/auth"
)

// Auth serves registration and login.
type Auth struct {
	Accounts *account.Service
	Cookies  middleware.Cookies // of the console
	Now      func() time.Time
}

// Register answers POST /auth/register.
func (h *Auth) Register(c *gin.Context) error {
	in, err := readLenient[api.Registration](c)
	if err != nil {
		return err
	}
	return answerAs(c, http.StatusCreated, account.ShowUser)(h.Accounts.Register(c.Request.Context(), account.Registration{
		Email: in.Email, Password: in.Password, Name: in.Name, Address: middleware.ClientAddress(c), Invitation: in.Invitation,
		RequestID: middleware.RequestID(c),
	}))
}

// Setup answers POST /auth/setup.
func (h *Auth) Setup(c *gin.Context) error {
	in, err := readLenient[api.Setup](c)
	if err != nil {
		return err
	}
	return answerAs(c, http.StatusCreated, account.ShowUser)(h.Accounts.Setup(c.Request.Context(), account.Setup{
		Token: in.Token, RequestID: middleware.RequestID(c), Client: c.ClientIP(),
		Registration: account.Registration{
			Email: in.Email, Password: in.Password, Name: in.Name, Address: middleware.ClientAddress(c),
		},
	}))
}

// Login answers POST /auth/login.
func (h *Auth) Login(c *gin.Context) error {
	return answerToken(c, h.Now)(login(c, h.Accounts))
}

// login checks the address and the password of a request.
func login(c *gin.Context, accounts *account.Service) (auth.Token, error) {
	in, err := readLenient[api.Login](c)
	if err != nil {
		return auth.Token{}, err
	}
	return accounts.Login(c.Request.Context(), in.Email, in.Password, middleware.ClientAddress(c))
}

// ChangeUser answers PATCH /auth/user: what users change of their own account.
func (h *Auth) ChangeUser(c *gin.Context) error {
	in, err := readBody[api.OwnChange](c)
	if err != nil {
		return err
	}
	return answerAs(c, http.StatusOK, account.ShowUser)(h.Accounts.Rename(c.Request.Context(), user(c), in.Name))
}

// ChangePassword answers POST /auth/password.
func (h *Auth) ChangePassword(c *gin.Context) error {
	in, err := readLenient[api.PasswordChange](c)
	if err != nil {
		return err
	}
	token, err := h.Accounts.ChangePassword(c.Request.Context(), account.PasswordChange{
		UserID: user(c), Current: in.Current, New: in.New, Address: middleware.ClientAddress(c),
	})
	if err == nil && middleware.ByCookie(c) { // whose scripts must not see a token
		h.Cookies.Set(c, token.Text, token.ExpiresAt)
		c.Status(http.StatusNoContent)
		return nil
	}
	return answerToken(c, h.Now)(token, err)
}

// Logout answers POST /auth/logout.
func (h *Auth) Logout(c *gin.Context) error {
	in, err := readOptional[api.Logout](c)
	if err != nil {
		return err
	}
	ctx := c.Request.Context()
	switch {
	case in.Unlink && !in.Everywhere:
		err = api.Invalid(api.CodeInvalidValue, "unlink", "unlink goes with everywhere: true; DELETE /auth/idp/link removes identities alone")
	case in.Unlink:
		err = h.Accounts.Unlink(ctx, user(c), true, entry(c))
	case in.Everywhere:
		err = h.Accounts.LogoutEverywhere(ctx, user(c))
	default:
		err = h.Accounts.Logout(ctx, middleware.LoginToken(c))
	}
	if err == nil && middleware.ByCookie(c) {
		h.Cookies.Remove(c)
	}
	return answer(c, http.StatusOK)(api.LoggedOut{Object: api.ObjectLogout, Everywhere: in.Everywhere}, err)
}

// ForgotPassword answers POST /auth/password/forgot, the same for every address.
func (h *Auth) ForgotPassword(c *gin.Context) error {
	in, err := readLenient[api.ForgottenPassword](c)
	if err != nil {
		return err
	}
	message := "if an account with a password has this e-mail address, a link was sent to it"
	if !h.Accounts.SendsMail() {
		message = "this gateway sends no mail: ask an administrator for a link"
	}
	return answer(c, http.StatusAccepted)(api.Accepted{Object: api.ObjectAccepted, Message: message}, h.Accounts.Forgot(in.Email))
}

// ResetPassword answers POST /auth/password/reset.
func (h *Auth) ResetPassword(c *gin.Context) error { return setPassword(c, h.Accounts.ResetPassword) }

// Verify answers POST /auth/verify.
func (h *Auth) Verify(c *gin.Context) error { return setPassword(c, h.Accounts.Verify) }

// setPassword hands the token of a link and a new password to a service.
func setPassword(c *gin.Context, set func(context.Context, account.PasswordReset) (*models.User, error)) error {
	in, err := readLenient[api.PasswordReset](c)
	if err != nil {
		return err
	}
	return answerAs(c, http.StatusOK, account.ShowUser)(set(c.Request.Context(), account.PasswordReset{
		Token: in.Token, New: in.New, Unlink: in.Unlink, Address: middleware.ClientAddress(c), Request: middleware.RequestID(c),
	}))
}

// answerToken is answer for the token of a login.
func answerToken(c *gin.Context, now func() time.Time) func(auth.Token, error) error {
	return answerAs(c, http.StatusOK, func(token auth.Token) api.Token {
		return api.Token{
			Token: token.Text, TokenType: "Bearer", ExpiresAt: token.ExpiresAt.Unix(),
			ExpiresIn: int64(token.ExpiresAt.Sub(now()).Round(time.Second) / time.Second),
		}
	})
}
