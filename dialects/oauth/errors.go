// Package oauth writes errors as programs read them that sign in: RFC 6749, 5.2.
package oauth

import (
	"net/http"

	"modelgateway/api"
	"modelgateway/internal/jsonbytes"
)

// Errors is the form of errors below /oauth.
func Errors() *api.Dialect { return &api.Dialect{AppendError: appendError} }

func appendError(dst []byte, e *api.Error) []byte {
	return jsonbytes.Writer(dst).Object().Text("error", code(e)).Text("error_description", e.Message).EndObject()
}

// code is the one of the protocol for an error.
func code(e *api.Error) string {
	switch e.Code {
	case api.CodeInvalidGrant, api.CodeUnsupportedGrantType, api.CodeAuthorizationPending, api.CodeSlowDown, api.CodeAccessDenied,
		api.CodeExpiredToken:
		return e.Code
	}
	switch {
	case e.Status == http.StatusTooManyRequests:
		return api.CodeSlowDown
	case e.Status == http.StatusServiceUnavailable:
		return "temporarily_unavailable"
	case e.Status >= http.StatusInternalServerError:
		return "server_error"
	}
	return "invalid_request"
}
