package middleware

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/auth"
	"modelgateway/services/signin"
)

// Request has the caller of a request, and what its line in the access log
// reports at the end. Every request has one from the beginning, so that refused
// requests are logged as well.
type Request struct {
	Caller auth.Caller
	Model  string       // as requested, of a call that was not admitted
	Call   *models.Call // that was booked; nil where none was admitted
	Body   []byte       // of a request to a model, until it is answered
	Cookie bool         // the credential came from the console's cookie
	Scope  Scope        // that the route names

	LiteLLM    bool   // the routes and members of LiteLLM are on
	Deployment string // the model that the path names as LiteLLM's and Azure's clients do; empty = none

	standings []signin.Standing // budgets of a program that is signed in

	address string // of the client; empty until it is known
	code    string // of the error in the answer
	param   string // of its error
	message string // of an error that has no line of its own
}

// Scope is on whose things a route acts. It gives no rights: the services check them.
type Scope int

// The scopes.
const (
	Own  Scope = iota // on the caller's
	Team              // on those of the team in the path, for its managers
	All               // on everyone's, for administrators
)

// Set names the scope of a group of routes.
func (s Scope) Set(c *gin.Context) { RequestOf(c).Scope = s }

// refused notes the error of a request. The message of a provider is not kept: it
// may quote the prompt. Failures have a line of their own, with the message.
func (r *Request) refused(e *api.Error) {
	r.code, r.param = e.Code, e.Param
	if !isFailure(e) && e.Code != api.CodeProviderError {
		r.message = e.Message
	}
}

// isFailure says whether an error has a line of its own in the log. A 503 without a
// cause has none: the gateway is at its capacity, starts or stops, which all clients
// and readiness probes are told until it ends.
func isFailure(e *api.Error) bool {
	return e.Status >= http.StatusInternalServerError && (e.Code != api.CodeServiceUnavailable || e.Unwrap() != nil)
}

type requestKey struct{}

// RequestOf returns the Request of a context.
func RequestOf(c *gin.Context) *Request {
	if r := requestOf(c.Request.Context()); r != nil {
		return r
	}
	r := new(Request) // Access did not run
	c.Request = c.Request.WithContext(withRequest(c.Request.Context(), r))
	return r
}

// ID is the request's id, which Identify gave it.
func (*Request) ID(c *gin.Context) string { return first(c.Writer.Header(), requestIDHeader) }

// Prepare returns an HTTP request that has a Request before Access runs.
func Prepare(r *http.Request, of *Request) *http.Request {
	return r.WithContext(withRequest(r.Context(), of))
}

func withRequest(ctx context.Context, r *Request) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// requestOf returns the Request that Prepare or Access has put into a context; nil where
// neither ran.
func requestOf(ctx context.Context) *Request {
	r, _ := ctx.Value(requestKey{}).(*Request)
	return r
}

// setCaller records the caller of the request.
func setCaller(c *gin.Context, caller auth.Caller) {
	r := RequestOf(c)
	r.address = c.ClientIP()
	caller.Address = address(r.address)
	r.Caller = caller
}
