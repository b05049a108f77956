package controllers

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
	"modelgateway/middleware"
	"modelgateway/services/account"
	"modelgateway/services/auth"
)

// maxAuthBody bounds the bodies of /auth, in bytes.
const maxAuthBody = 64 << 10

// Auth serves registration and login.
type Auth struct {
	Accounts *account.Service
	Cookies  middleware.Cookies // of the console
	Now      func() time.Time
}

// Register answers POST /auth/register.
func (h *Auth) Register(c *gin.Context) error {
	var in api.Registration
	if err := readInto(c, &in); err != nil {
		return err
	}
	user, err := h.Accounts.Register(c.Request.Context(), account.Registration{
		Email: in.Email, Password: in.Password, Name: in.Name, Address: middleware.ClientAddress(c), Invitation: in.Invitation,
		RequestID: middleware.RequestID(c),
	})
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusCreated, account.ShowUser(user))
}

// Setup answers POST /auth/setup.
func (h *Auth) Setup(c *gin.Context) error {
	var in api.Setup
	if err := readInto(c, &in); err != nil {
		return err
	}
	user, err := h.Accounts.Setup(c.Request.Context(), setup(c, in.Token, account.Registration{
		Email: in.Email, Password: in.Password, Name: in.Name, Address: middleware.ClientAddress(c),
	}))
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusCreated, account.ShowUser(user))
}

func setup(c *gin.Context, token string, r account.Registration) account.Setup {
	return account.Setup{Token: token, Registration: r, RequestID: middleware.RequestID(c), Client: c.ClientIP()}
}

// Login answers POST /auth/login.
func (h *Auth) Login(c *gin.Context) error {
	token, err := login(c, h.Accounts)
	if err != nil {
		return err
	}
	return writeToken(c, token, h.Now())
}

// login checks the address and the password of a request.
func login(c *gin.Context, accounts *account.Service) (auth.Token, error) {
	var in api.Login
	if err := readInto(c, &in); err != nil {
		return auth.Token{}, err
	}
	return accounts.Login(c.Request.Context(), in.Email, in.Password, middleware.ClientAddress(c))
}

// ChangeUser answers PATCH /auth/user: what users change of their own account.
func (h *Auth) ChangeUser(c *gin.Context) error {
	var in api.OwnChange
	if err := readExactly(c, &in); err != nil {
		return err
	}
	changed, err := h.Accounts.Rename(c.Request.Context(), user(c), in.Name)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, account.ShowUser(changed))
}

// ChangePassword answers POST /auth/password.
func (h *Auth) ChangePassword(c *gin.Context) error {
	var in api.PasswordChange
	if err := readInto(c, &in); err != nil {
		return err
	}
	token, err := h.Accounts.ChangePassword(c.Request.Context(), account.PasswordChange{
		UserID: user(c), Current: in.Current, New: in.New, Address: middleware.ClientAddress(c),
	})
	if err != nil {
		return err
	}
	if middleware.ByCookie(c) { // whose scripts must not see a token
		h.Cookies.Set(c, token.Text, token.ExpiresAt)
		c.Status(http.StatusNoContent)
		return nil
	}
	return writeToken(c, token, h.Now())
}

// Logout answers POST /auth/logout.
func (h *Auth) Logout(c *gin.Context) error {
	var in api.Logout
	if c.Request.ContentLength != 0 { // the body may be left out
		if err := readExactly(c, &in); err != nil {
			return err
		}
	}
	if err := h.logOut(c, in); err != nil {
		return err
	}
	if middleware.ByCookie(c) {
		h.Cookies.Remove(c)
	}
	return writeJSON(c, http.StatusOK, api.LoggedOut{Object: api.ObjectLogout, Everywhere: in.Everywhere})
}

func (h *Auth) logOut(c *gin.Context, in api.Logout) error {
	ctx := c.Request.Context()
	switch {
	case in.Unlink && !in.Everywhere:
		return api.Invalid(api.CodeInvalidValue, "unlink", "unlink goes with everywhere: true; DELETE /auth/idp/link removes identities alone")
	case in.Unlink:
		return h.Accounts.Unlink(ctx, user(c), true, entry(c))
	case in.Everywhere:
		return h.Accounts.LogoutEverywhere(ctx, user(c))
	}
	return h.Accounts.Logout(ctx, middleware.LoginToken(c))
}

// ForgotPassword answers POST /auth/password/forgot, the same for every address.
func (h *Auth) ForgotPassword(c *gin.Context) error {
	var in api.ForgottenPassword
	if err := readInto(c, &in); err != nil {
		return err
	}
	if err := h.Accounts.Forgot(in.Email); err != nil {
		return err
	}
	message := "if an account with a password has this e-mail address, a link was sent to it"
	if !h.Accounts.SendsMail() {
		message = "this gateway sends no mail: ask an administrator for a link"
	}
	return writeJSON(c, http.StatusAccepted, api.Accepted{Object: api.ObjectAccepted, Message: message})
}

// ResetPassword answers POST /auth/password/reset.
func (h *Auth) ResetPassword(c *gin.Context) error {
	var in api.PasswordReset
	if err := readInto(c, &in); err != nil {
		return err
	}
	user, err := h.Accounts.ResetPassword(c.Request.Context(), passwordReset(c, in))
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, account.ShowUser(user))
}

func passwordReset(c *gin.Context, in api.PasswordReset) account.PasswordReset {
	return account.PasswordReset{
		Token: in.Token, New: in.New, Unlink: in.Unlink, Address: middleware.ClientAddress(c), Request: middleware.RequestID(c),
	}
}

// Verify answers POST /auth/verify.
func (h *Auth) Verify(c *gin.Context) error {
	var in api.PasswordReset
	if err := readInto(c, &in); err != nil {
		return err
	}
	user, err := h.Accounts.Verify(c.Request.Context(), passwordReset(c, in))
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, account.ShowUser(user))
}

func writeToken(c *gin.Context, token auth.Token, now time.Time) error {
	return writeJSON(c, http.StatusOK, api.Token{
		Token: token.Text, TokenType: "Bearer",
		ExpiresIn: int64(token.ExpiresAt.Sub(now).Round(time.Second) / time.Second), ExpiresAt: token.ExpiresAt.Unix(),
	})
}

func readInto(c *gin.Context, into any) error {
	return readBy(c, into, func(body []byte, into any) error { return api.Decode(body, into) })
}

// readExactly is readInto for bodies in which a misspelt member would change
// the meaning: it refuses unknown members.
func readExactly(c *gin.Context, into any) error { return readBy(c, into, api.DecodeExact) }

// readOptional is readExactly for a request that may have no body.
func readOptional(c *gin.Context, into any) error {
	if c.Request.ContentLength == 0 {
		return nil
	}
	return readExactly(c, into)
}

func readBy(c *gin.Context, into any, decode func(body []byte, into any) error) error {
	body, err := readJSON(c, maxAuthBody, nil)
	if err != nil {
		return err
	}
	return decode(body, into)
}
