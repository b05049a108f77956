package middleware

import (
	"context"

	"github.com/gin-gonic/gin"

	"modelgateway/models"
	"modelgateway/services/auth"
)

// Request is what is known of a request beside what it asks: its caller, and what
// its line in the access log says of its end. Every request has one from its
// beginning, so that refused requests are logged as well.
type Request struct {
	Caller auth.Caller
	Model  string       // that was asked for, of a call that was not admitted
	Call   *models.Call // that was booked; nil where none was admitted

	address string // of the client; empty until it is known
	code    string // of the error that it was answered with
}

type requestKey struct{}

// RequestOf is the information on a request.
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

func withRequest(ctx context.Context, r *Request) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// requestOf is the information that Access has put into a context; nil where it
// did not run.
func requestOf(ctx context.Context) *Request {
	r, _ := ctx.Value(requestKey{}).(*Request)
	return r
}

// setCaller notes who makes the request.
func setCaller(c *gin.Context, caller auth.Caller) {
	r := RequestOf(c)
	r.address = c.ClientIP()
	caller.Address = address(r.address)
	r.Caller = caller
}
