package providers

import (
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"sync"
	"time"

	"modelgateway/api"
	"modelgateway/llm"
)

// Refusal is why an upstream gave no answer: an error in the body of an answer,
// an error event inside a stream, or no response. It says what that means for
// routing; ClientError is the error for the client.
type Refusal struct {
	Provider   string
	Status     int           // HTTP, of the upstream; for an error event the status of its kind; 0 = none
	Message    string        // the upstream's, unchanged
	Code       string        // the upstream's, unchanged: OpenAI's code, Anthropic's type, Gemini's status
	RequestID  string        // the upstream's, for its support; empty where it gave none
	Param      string        // the field of the client's request that the upstream names
	RetryAfter time.Duration // 0 when it does not say
	Final      bool          // trying again cannot help, for instance when a daily quota is used up
	Spent      bool          // the key's limit on spending is reached; it is final as well
	Key        bool          // the gateway's own key or account is at fault, with any status
	Body       []byte        // the upstream's whole error in the JSON of Dialect, where that is the client's dialect
	Dialect    llm.Dialect
	Worked     bool // the upstream had the request and did not refuse it: it may charge for it

	// Told and Public are the HTTP status and the message for clients, of a
	// refusal without an upstream's status.
	Told   int
	Public string

	Cause error // for the log
}

// Verdict is what a Refusal means for the next attempt.
type Verdict int

// The verdicts.
const (
	Terminal    Verdict = iota // the upstream rejects the request itself
	NextModel                  // another model may answer
	NextKey                    // another key may work
	RateLimited                // this key has to wait
	Retryable                  // the same request may succeed now
)

// Verdict says what may be tried next.
func (r *Refusal) Verdict() Verdict {
	switch {
	case r.Status == http.StatusTooManyRequests && r.Spent:
		return NextKey
	case r.Status == http.StatusTooManyRequests:
		return RateLimited
	case r.Status == http.StatusRequestTimeout, r.Status == http.StatusConflict:
		return Retryable
	case r.KeyRefused():
		return NextKey
	case r.Status == 0 && r.Told == http.StatusServiceUnavailable:
		return NextModel // not configured, or an open circuit
	case r.Status == 0, r.Status >= http.StatusInternalServerError:
		return Retryable
	case r.Status == http.StatusNotFound, r.clientStatus() == http.StatusBadGateway && r.Status >= http.StatusMultipleChoices:
		return NextModel
	}
	return Terminal
}

// KeyRefused says whether the upstream refused the key it was called with, or
// the account behind it. Another key may do.
func (r *Refusal) KeyRefused() bool {
	switch r.Status {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden:
		return true
	}
	return r.Key
}

// codeEncrypted is OpenAI's code of encrypted reasoning that the key's organisation cannot
// decrypt.
const codeEncrypted = "invalid_encrypted_content"

// OfAnotherAccount says whether the request carries what only the account of another key
// can read. It is Terminal, when no other key has served it.
func (r *Refusal) OfAnotherAccount() bool {
	return r.Status == http.StatusBadRequest && r.Code == codeEncrypted
}

// ClientError is the refusal as clients see it. A fault of the gateway's own
// credentials or account is not the caller's: it becomes a 502 without the
// upstream's message, which stays in the cause for the log, and it is final,
// since only the operator can repair it.
func (r *Refusal) ClientError() *api.Error {
	e := &api.Error{
		Status: r.clientStatus(), Type: api.TypeAPI, Code: api.CodeProviderError, Message: r.public(),
		Provider: r.Provider, UpstreamStatus: r.Status, RetryAfter: r.RetryAfter, Final: r.Final || r.Spent || r.KeyRefused(),
	}
	if !r.KeyRefused() {
		e.UpstreamCode, e.Param = r.upstreamCode(), clean(r.Param)
		e.Raw, e.RawDialect = r.Body, r.Dialect
	}
	return e.WithCause(r.Unwrap())
}

// contextLength finds a refusal for that reason of the providers that have no code
// for it: Anthropic, Gemini, and servers such as vLLM.
var contextLength = sync.OnceValue(pattern(`(?i)^prompt is too long|exceed context limit|maximum context length|` +
	`input token count .*exceeds the maximum number of tokens`))

// plainCode is the form of codes, which are not longer than longestCode.
var plainCode = regexp.MustCompile(`^[a-zA-Z_][\w.-]*$`)

const longestCode = 64

func (r *Refusal) upstreamCode() string {
	switch {
	case (r.Status == http.StatusBadRequest || r.Status == http.StatusRequestEntityTooLarge) && contextLength().MatchString(r.Message):
		return api.CodeContextLength
	case len(r.Code) <= longestCode && plainCode.MatchString(r.Code):
		return r.Code
	}
	return ""
}

func (r *Refusal) clientStatus() int {
	switch {
	case r.Status == 0 && r.Told != 0:
		return r.Told
	case r.KeyRefused():
		return http.StatusBadGateway
	}
	switch r.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusRequestEntityTooLarge,
		http.StatusUnprocessableEntity, http.StatusTooManyRequests:
		return r.Status
	case http.StatusGatewayTimeout, http.StatusRequestTimeout:
		return http.StatusGatewayTimeout
	}
	return http.StatusBadGateway
}

func (r *Refusal) public() string {
	switch {
	case r.Status == 0 && r.Public != "":
		return r.Public
	case r.KeyRefused():
		return r.Provider + " refused the gateway's credentials: an operator of the gateway has to check " +
			"the provider's key and its permissions"
	case r.Status >= 300 && r.Status < 400:
		return r.Provider + " answered with a redirect, which the gateway does not follow"
	}
	if message := clean(r.Message); message != "" {
		return message
	}
	return fmt.Sprintf("%s answered with status %d", r.Provider, r.Status)
}

// Error is for the log: it has the upstream's cleaned message.
func (r *Refusal) Error() string {
	if r.Status != 0 {
		return fmt.Sprintf("%s: status %d: %s", r.Provider, r.Status, clean(r.Message))
	}
	if r.Cause != nil {
		return fmt.Sprintf("%s: %v", r.public(), r.Cause)
	}
	return r.public()
}

// Own is the upstream's own message as it is logged, and whether it is about the gateway's key or account:
// clients are not told such a message. It is empty where the upstream sent none.
func (r *Refusal) Own() (message string, private bool) { return clean(r.Message), r.KeyRefused() }

// LogValue is the whole error.
func (r *Refusal) LogValue() slog.Value { return slog.StringValue(r.Error()) }

// Unwrap is what caused the refusal.
func (r *Refusal) Unwrap() error {
	if r.Status != 0 {
		return fmt.Errorf("%s: status %d: %s", r.Provider, r.Status, clean(r.Message))
	}
	return r.Cause
}
