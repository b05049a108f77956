package idp

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"modelgateway/api"
)

func notConfigured() *api.Error {
	return &api.Error{
		Status: http.StatusNotFound, Type: api.TypeNotFound, Code: api.CodeIDPNotConfigured,
		Message: "this gateway has no login through an identity provider",
	}
}

func invalidState(cause error) *api.Error {
	return api.Invalid(api.CodeInvalidState, "state",
		"this login was not begun in this browser, is over, or took longer than ten minutes; begin again at %s", Path).WithCause(cause)
}

// rejected answers for a login that the provider refused, or whose tokens are not
// valid.
func rejected(cause error) *api.Error {
	return api.Unauthorized(api.CodeIDPRejected, "the identity provider did not confirm this login").WithCause(cause)
}

// refused answers for a callback with an error instead of a code. The message
// holds nothing of the provider's but a well-formed error code.
func refused(code string) *api.Error {
	switch code {
	case "server_error", "temporarily_unavailable": // RFC 6749, section 4.1.2.1
		return failed(errors.New("the callback says " + code))
	}
	e := rejected(fmt.Errorf("the callback says %q", short(code)))
	if isCode(code) {
		e.Message += ": " + code
	}
	return e
}

func isCode(text string) bool {
	return text != "" && len(text) <= 40 && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz_") == ""
}

// unavailable answers for a provider that cannot be reached or sends an invalid
// response.
func unavailable(cause error) *api.Error {
	e := &api.Error{
		Status: http.StatusServiceUnavailable, Type: api.TypeAPI, Code: api.CodeIDPUnavailable,
		Message: "the identity provider cannot be reached at the moment", RetryAfter: 5 * time.Second,
	}
	return e.WithCause(cause)
}

// failed answers for a login that could not end: the provider was not reached, its
// answer was not usable, or it does not accept the gateway's credentials. It is final: a
// retry cannot succeed, as the state is used up.
func failed(cause error) *api.Error {
	e := unavailable(cause)
	e.Final, e.RetryAfter = true, 0
	e.Message = "the login through the identity provider failed: begin again at " + Path +
		"; if it fails again, an administrator finds the reason in the log of the gateway"
	return e
}

func notVerified(cause error) *api.Error {
	e := forbidden(api.CodeEmailNotVerified,
		"the identity provider has not verified your e-mail address: verify it there, and log in again")
	return e.WithCause(cause)
}

func forbidden(code, message string) *api.Error {
	return &api.Error{Status: http.StatusForbidden, Type: api.TypePermission, Code: code, Message: message}
}

func accountExists() *api.Error {
	return api.Conflict(api.CodeAccountExists, "",
		"an account with this e-mail address exists already: log in with its password, "+
			"or with the identity provider that it is linked to")
}

// linkedElsewhere answers for the link of an identity that another user has.
func linkedElsewhere() *api.Error {
	return api.Conflict(api.CodeAccountExists, "",
		"this identity is linked to another account already: log in with it, or unlink it from that account first")
}

// reason returns an error that may be logged: without the URL of the request, in
// which goth puts access tokens, and without the bodies that libraries quote in
// full.
func reason(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	return errors.New(short(err.Error()))
}

func short(text string) string {
	const most = 200
	if len(text) > most {
		text = text[:most] + "…"
	}
	return strings.ToValidUTF8(text, "?")
}
