// Package api holds what clients of the gateway see: the one error, the types of
// accounts, keys, usage and administration, and what the dialects of requests to
// a model have in common. Each dialect has a package below.
package api

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"modelgateway/llm"
)

// The error types clients see.
const (
	TypeInvalidRequest = "invalid_request_error"
	TypeAuthentication = "authentication_error"
	TypePermission     = "permission_error"
	TypeNotFound       = "not_found_error"
	TypeRateLimit      = "rate_limit_error"
	TypeAPI            = "api_error"
	TypeBudget         = "budget_error"
)

// The error codes clients see.
const (
	CodeInvalidJSON          = "invalid_json"
	CodeMissingField         = "missing_field"
	CodeInvalidValue         = "invalid_value"
	CodeUnsupportedValue     = "unsupported_value"
	CodeModelNotFound        = "model_not_found"
	CodeRouteNotFound        = "route_not_found"
	CodeCrossOrigin          = "cross_origin"
	CodeHostNotAllowed       = "host_not_allowed"
	CodeMethodNotAllowed     = "method_not_allowed"
	CodeRequestTooLarge      = "request_too_large"
	CodeUnsupportedMediaType = "unsupported_media_type"
	CodeNoWebSocket          = "websocket_not_supported"
	CodeProviderError        = "provider_error"
	CodeRateLimitExceeded    = "rate_limit_exceeded"
	CodeMissingCredentials   = "missing_credentials"
	CodeInvalidAPIKey        = "invalid_api_key"
	CodeInvalidToken         = "invalid_token"
	CodeTokenExpired         = "token_expired"
	CodeInvalidCredentials   = "invalid_credentials"
	CodeInvalidEmail         = "invalid_email"
	CodeWeakPassword         = "weak_password"
	CodeEmailTaken           = "email_taken"
	CodeEmailNotVerified     = "email_not_verified"
	CodeDomainNotAllowed     = "email_domain_not_allowed"
	CodeTooManyKeys          = "too_many_keys"
	CodeTooManyProjects      = "too_many_projects"
	CodeKeyNotFound          = "key_not_found"
	CodeTeamNotFound         = "team_not_found"
	CodeTeamNameTaken        = "team_name_taken"
	CodeMemberNotFound       = "member_not_found"
	CodeMemberExists         = "member_exists"
	CodeManagerRequired      = "manager_required"
	CodeLastManager          = "last_manager"
	CodeLastAdministrator    = "last_administrator"
	CodeInvitationNotFound   = "invitation_not_found"
	CodeRotationRunning      = "rotation_running"
	CodeAlertsNotConfigured  = "alerts_not_configured"
	CodeCannotRestore        = "cannot_restore"
	CodeKeyPending           = "key_pending"
	CodeSecretFetched        = "secret_fetched"
	CodeSecretWithheld       = "secret_withheld"
	CodeIDPNotConfigured     = "idp_not_configured"
	CodeIDPUnavailable       = "idp_unavailable"
	CodeIDPRejected          = "idp_rejected"
	CodeInvalidState         = "invalid_state"
	CodeAccountExists        = "account_exists"
	CodeBudgetExceeded       = "budget_exceeded"
	CodeSessionBudget        = "session_budget_exceeded"
	CodeBudgetHeld           = "budget_held"
	CodeModelNotAllowed      = "model_not_allowed"
	CodeKeyExpired           = "api_key_expired"
	CodeAccountExpired       = "account_expired"
	CodeAdminRequired        = "admin_required"
	CodeLimitsFixed          = "limits_fixed"
	CodeUserNotFound         = "user_not_found"
	CodeRegistrationClosed   = "registration_closed"
	CodeInvitationRequired   = "invitation_required"
	CodeInvalidInvitation    = "invalid_invitation"
	CodeInvalidLink          = "invalid_link"
	CodeIdentityNotFound     = "identity_not_found"
	CodeLastLogin            = "last_login"
	CodeVerificationRequired = "verification_required"
	CodePasswordRequired     = "password_required"
	CodeInvalidSetupToken    = "invalid_setup_token"
	CodePreviousNotFound     = "previous_response_not_found"
	CodeResponseNotFound     = "response_not_found"
	CodeThreadNotFound       = "thread_not_found"
	CodeThreadUnsupported    = "thread_unsupported_request"
	CodeCallNotFound         = "call_not_found"
	CodeSessionNotFound      = "session_not_found"
	CodeSignInNotFound       = "sign_in_not_found"
	CodeInternal             = "internal_error"
	CodeServiceUnavailable   = "service_unavailable"
)

// The error codes of the sign-in of programs (RFC 6749, 5.2, and RFC 8628, 3.5).
const (
	CodeInvalidGrant         = "invalid_grant"
	CodeUnsupportedGrantType = "unsupported_grant_type"
	CodeAuthorizationPending = "authorization_pending"
	CodeSlowDown             = "slow_down"
	CodeAccessDenied         = "access_denied"
	CodeExpiredToken         = "expired_token"
)

// CodeContextLength is OpenAI's code of a prompt that is too long for the model,
// by which agents know that they have to shorten it.
const CodeContextLength = "context_length_exceeded"

// longestWait is the longest Retry-After that the official SDKs honour
// (openai-python and openai-node, 2026-08): beyond it they would come back
// after a second or two, so ShouldRetry forbids it.
const longestWait = time.Minute

// BusyRetryAfter is the Retry-After of a refusal because too many calls run at the
// same time: most calls end within seconds.
const BusyRetryAfter = time.Second

// Error is the one error that reaches clients. Message, Code and Param are
// public; what caused it is for the log only and is reached with errors.Unwrap.
type Error struct {
	Status  int // HTTP
	Type    string
	Code    string
	Param   string // path of the field at fault, as in messages[0].role
	Message string

	Provider       string        // with provider_error
	UpstreamStatus int           // HTTP, with provider_error; 0 where there was none
	UpstreamCode   string        // the provider's, with provider_error; empty where there was none
	RetryAfter     time.Duration // 0 = unknown
	Final          bool          // a retry cannot help, despite the status
	Limit          string        // the gateway's limit that refused, by its name in metrics; empty = none

	// Raw is the body of the upstream's error in the JSON of RawDialect, from a provider
	// that speaks the client's dialect, without keys and without the account's names. A
	// dialect sends it as it is, with UpstreamStatus.
	Raw        []byte
	RawDialect llm.Dialect

	// RequestID is the request's id, for dialects that tell it in the body of an error. It
	// is set where the error is written, on a copy.
	RequestID string

	Model string // that the client asked for, with model_not_found

	// Window and Resets are of the budget that refused a call: day, week or month, and when it begins again. Both are
	// zero with one that does not.
	Window string
	Resets time.Time

	// SignedIn: the caller is a program that is signed in, whose protocol has statuses of its own. It is set as
	// RequestID is.
	SignedIn bool

	// TooLong measures a prompt that its model refused with CodeContextLength: its tokens, as
	// far as they can be estimated, and those of the model's context. 0 is not known, nil is
	// neither.
	TooLong func() (prompt, context int64)

	cause error
}

func (e *Error) Error() string {
	if e.cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.cause)
	}
	return e.Code + ": " + e.Message
}

// LogValue is the error with its private cause: JSON logs would otherwise use
// MarshalJSON, which leaves it out.
func (e *Error) LogValue() slog.Value { return slog.StringValue(e.Error()) }

func (e *Error) Unwrap() error { return e.cause }

// WithCause returns a copy of e with the private cause.
func (e *Error) WithCause(cause error) *Error {
	c := *e
	c.cause = cause
	return &c
}

// ShouldRetry says whether the same request may pass later. The official SDKs
// obey it, as x-should-retry, before they look at the status.
func (e *Error) ShouldRetry() bool {
	if e.Final || e.RetryAfter > longestWait {
		return false
	}
	return e.Status == http.StatusTooManyRequests || e.Status >= http.StatusInternalServerError
}

// Overflows says whether a provider refused the prompt as too long for its model.
func (e *Error) Overflows() bool {
	return e.Code == CodeProviderError && e.UpstreamCode == CodeContextLength &&
		(e.Status == http.StatusBadRequest || e.Status == http.StatusRequestEntityTooLarge)
}

// RetryAfterSeconds is RetryAfter in whole seconds, rounded up so that no client
// retries too early; 0 = unknown.
func (e *Error) RetryAfterSeconds() int64 {
	return int64((e.RetryAfter + time.Second - 1) / time.Second)
}

// MarshalJSON writes the body clients see: {"error":{…}}.
func (e *Error) MarshalJSON() ([]byte, error) {
	body := struct {
		Error errorBody `json:"error"`
	}{errorBody{
		Type: e.Type, Message: e.Message, Code: e.Code,
		Provider: e.Provider, UpstreamStatus: e.UpstreamStatus, UpstreamCode: e.UpstreamCode,
	}}
	if e.Param != "" {
		body.Error.Param = &e.Param
	}
	return json.Marshal(body)
}

type errorBody struct {
	Type           string  `json:"type"`
	Message        string  `json:"message"`
	Code           string  `json:"code"`
	Param          *string `json:"param"`
	Provider       string  `json:"provider,omitempty"`
	UpstreamStatus int     `json:"upstream_status,omitzero"`
	UpstreamCode   string  `json:"upstream_code,omitempty"`
}

// Invalid is a 400 that names the field at fault.
func Invalid(code, param, format string, args ...any) *Error {
	return &Error{
		Status: http.StatusBadRequest, Type: TypeInvalidRequest,
		Code: code, Param: param, Message: fmt.Sprintf(format, args...),
	}
}

// Internal is a fault of the gateway; the cause is logged, and never sent to the
// client.
func Internal(cause error) *Error {
	return &Error{
		Status: http.StatusInternalServerError, Type: TypeAPI, Code: CodeInternal,
		Message: "a fault of the gateway: report it with the x-request-id of this answer", cause: cause,
	}
}

// Unauthorized is a 401 with this code.
func Unauthorized(code, message string) *Error {
	return &Error{Status: http.StatusUnauthorized, Type: TypeAuthentication, Code: code, Message: message}
}

// Forbidden is a 403 with this code; param is empty where no field is at fault.
func Forbidden(code, param, message string) *Error {
	return &Error{Status: http.StatusForbidden, Type: TypePermission, Code: code, Param: param, Message: message}
}

// NotFound is a 404 for a thing that does not exist, or that the caller may not see.
func NotFound(code, message string) *Error {
	return &Error{Status: http.StatusNotFound, Type: TypeInvalidRequest, Code: code, Message: message}
}

// Conflict is a 409 with this code; param is empty where no field is at fault.
func Conflict(code, param, message string) *Error {
	return &Error{Status: http.StatusConflict, Type: TypeInvalidRequest, Code: code, Param: param, Message: message}
}

// Unavailable is the error when the gateway lacks a part, such as its database.
func Unavailable(cause error) *Error {
	return &Error{
		Status: http.StatusServiceUnavailable, Type: TypeAPI, Code: CodeServiceUnavailable,
		Message: "the gateway is temporarily unavailable: try again in 1s", RetryAfter: time.Second, cause: cause,
	}
}

// AsError is the error that a client gets for err: an *Error itself, the result of
// a method ClientError, and Internal for any other error. The result may be err
// itself, and must not be changed.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[interface {
		error
		ClientError() *Error
	}](err); ok {
		return e.ClientError()
	}
	return Internal(err)
}

// OrUnavailable is err if it is an *Error, else Unavailable: for errors of the
// store, whose callbacks may return an *Error.
func OrUnavailable(what string, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return Unavailable(fmt.Errorf("%s: %w", what, err))
}

// IsInvalid says whether err is a fault of the request.
func IsInvalid(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Type == TypeInvalidRequest
}
