package middleware

import (
	"context"
	"net/http"
	"net/netip"
	"strings"

	"github.com/gin-gonic/gin"

	"modelgateway/models"
	"modelgateway/models/api"
	"modelgateway/services/admin"
	"modelgateway/services/auth"
)

// Auth says who may call.
type Auth struct {
	Required bool // false: everybody, and a good credential only says who it is
	Keys     *auth.Keys
	Tokens   *auth.Tokens
}

// Caller guards /v1. It takes a JWT or an API key as bearer, or an API key as
// X-API-Key; two that disagree are refused, for nobody can say which was meant.
//
// In open mode a credential of ours that is no longer good is refused as well,
// so that its holder learns of it; what is not ours is ignored: SDKs insist on
// sending some key.
func (m Chain) Caller(a Auth) gin.HandlerFunc {
	return func(c *gin.Context) {
		caller, err := a.identify(c.Request.Context(), c.Request.Header)
		if err != nil {
			m.fail(c, err)
			return
		}
		remember(c, caller)
	}
}

// User guards what belongs to a user: only a JWT opens it, in every mode.
func (m Chain) User(tokens *auth.Tokens) gin.HandlerFunc {
	return func(c *gin.Context) {
		user, err := byLogin(c, tokens)
		if err != nil {
			m.fail(c, err)
			return
		}
		remember(c, auth.Caller{UserID: user})
	}
}

// Admin guards what only administrators may see and do. Whoever is not logged
// in is asked to, and everybody else who is none is refused.
func (m Chain) Admin(tokens *auth.Tokens, admin *admin.Service) gin.HandlerFunc {
	return func(c *gin.Context) {
		user, err := byLogin(c, tokens)
		if err == nil {
			err = admin.Check(c.Request.Context(), user)
		}
		if err != nil {
			m.fail(c, err)
			return
		}
		remember(c, auth.Caller{UserID: user})
	}
}

// byLogin is the user of the token that a request has to have.
func byLogin(c *gin.Context, tokens *auth.Tokens) (userID string, err error) {
	text, err := bearer(c.Request.Header)
	switch {
	case err != nil:
		return "", err
	case text == "":
		return "", api.Unauthorized(api.CodeMissingCredentials, "this needs a login: send Authorization: Bearer and the token")
	case auth.LooksLikeKey(text):
		return "", api.Unauthorized(api.CodeInvalidToken, "an API key does not open this: send the token of a login")
	}
	return tokens.Verify(c.Request.Context(), text)
}

// guest is who makes a request, with what the log will say that it came to. Every
// request has one from its beginning: also who is turned away at the door is told.
type guest struct {
	caller auth.Caller
	ip     string
	code   string       // of the error that it was answered with
	asked  string       // the model, where no call was let in
	booked *models.Call // nil where no call was let in
}

type guestKey struct{}

// guestOf is who Access let in; nil where it did not run.
func guestOf(ctx context.Context) *guest {
	g, _ := ctx.Value(guestKey{}).(*guest)
	return g
}

func remember(c *gin.Context, caller auth.Caller) {
	ip := c.ClientIP()
	caller.Address = address(ip)
	ctx := c.Request.Context()
	if g := guestOf(ctx); g != nil {
		g.caller, g.ip = caller, ip
		return
	}
	c.Request = c.Request.WithContext(context.WithValue(ctx, guestKey{}, &guest{caller: caller, ip: ip}))
}

// CallerOf is who the guards found, or nobody.
func CallerOf(ctx context.Context) auth.Caller {
	if g := guestOf(ctx); g != nil {
		return g.caller
	}
	return auth.Caller{}
}

// LogModel has the request's line of the log name the model of a call that was not
// let in: one that there is, not whatever the client wrote.
func LogModel(c *gin.Context, model string) {
	if g := guestOf(c.Request.Context()); g != nil {
		g.asked = model
	}
}

// LogCall has the request's line of the log say what was booked of its call.
func LogCall(c *gin.Context, call *models.Call) {
	if g := guestOf(c.Request.Context()); g != nil {
		g.booked = call
	}
}

// Address counts a request under its client's address: its caller is not known,
// or not yet.
func Address(c *gin.Context) string { return auth.Caller{Address: address(c.ClientIP())}.Account() }

// Account counts a request under its caller.
func Account(c *gin.Context) string { return CallerOf(c.Request.Context()).Account() }

// address is the client's, as far as it says who somebody is: everyone has a
// whole /64 of IPv6.
func address(text string) string {
	ip, err := netip.ParseAddr(text)
	if err != nil {
		return "unknown"
	}
	if ip.Is4() {
		return text // which has one form only
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	const household = 64
	prefix, err := ip.Prefix(household)
	if err != nil {
		return "unknown"
	}
	return prefix.String()
}

func (a Auth) identify(ctx context.Context, h http.Header) (auth.Caller, error) {
	token, err := bearer(h)
	key := h.Get("X-API-Key")
	if !a.Required {
		return a.attribute(ctx, token, key)
	}
	switch {
	case err != nil:
		return auth.Caller{}, err
	case len(h.Values("X-API-Key")) > 1, token != "" && key != "" && token != key:
		return auth.Caller{}, api.Unauthorized(api.CodeInvalidAPIKey, "the request has two credentials that disagree")
	case key != "":
		return a.byKey(ctx, key)
	case token == "":
		return auth.Caller{}, api.Unauthorized(api.CodeMissingCredentials, "send an API key or a token as Authorization: Bearer, or an API key as X-API-Key")
	case isToken(token):
		return a.byToken(ctx, token)
	default:
		return a.byKey(ctx, token)
	}
}

// attribute says who a request of open mode comes from, if it says so itself.
// While the database is gone nobody can be told, and everybody is served.
func (a Auth) attribute(ctx context.Context, token, key string) (auth.Caller, error) {
	isOurs := func(text string) bool { return auth.LooksLikeKey(text) || isToken(text) && a.Tokens.Ours(text) }
	if !isOurs(token) {
		token = ""
	}
	if !auth.LooksLikeKey(key) {
		key = ""
	}
	var caller auth.Caller
	var err error
	switch {
	case token != "" && key != "" && token != key:
		return caller, api.Unauthorized(api.CodeInvalidAPIKey, "the request has two credentials that disagree")
	case key != "":
		caller, err = a.byKey(ctx, key)
	case token == "":
		return caller, nil
	case isToken(token):
		caller, err = a.byToken(ctx, token)
	default:
		caller, err = a.byKey(ctx, token)
	}
	if err != nil && api.AsError(err).Status != http.StatusUnauthorized {
		return auth.Caller{}, nil
	}
	return caller, err
}

func (a Auth) byKey(ctx context.Context, text string) (auth.Caller, error) {
	key, err := a.Keys.Authenticate(ctx, text)
	if err != nil {
		return auth.Caller{}, err
	}
	return auth.Caller{UserID: key.UserID, KeyID: key.ID, Limits: &key.Limits}, nil
}

func (a Auth) byToken(ctx context.Context, text string) (auth.Caller, error) {
	user, err := a.Tokens.Verify(ctx, text)
	return auth.Caller{UserID: user}, err
}

// isToken says whether a credential has the form of a JWT.
func isToken(text string) bool { return strings.Count(text, ".") == 2 }

// bearer is the text behind Authorization: Bearer; empty where there is none.
func bearer(h http.Header) (string, error) {
	values := h.Values("Authorization")
	if len(values) == 0 {
		return "", nil
	}
	scheme, text, _ := strings.Cut(values[0], " ")
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") || text == "" || strings.ContainsAny(text, " \t") {
		return "", api.Unauthorized(api.CodeInvalidToken, "the Authorization header must be one line: Bearer, one space and the credential")
	}
	return text, nil
}
