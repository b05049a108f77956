package middleware

import (
	"cmp"
	"context"
	"net/http"
	"net/netip"
	"strings"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
	"modelgateway/services/admin"
	"modelgateway/services/auth"
)

// Auth authenticates callers.
type Auth struct {
	Verified bool // users may call only with a verified address
	Required bool // false: every request is served, and a valid credential only names its caller
	Keys     *auth.Keys
	Tokens   *auth.Tokens

	// Foreign says whether a request may have a credential of another service beside one of
	// this gateway; nil = none may.
	Foreign func(*gin.Context) bool
}

// Caller authenticates the callers of /v1. It takes a JWT or an API key as
// bearer, or an API key as X-API-Key; two that disagree are refused, because one
// of them would be ignored. Of a request that may have a foreign one as well, the one
// that by its form is none of this gateway is ignored beside one that is: clients send
// both where both are set in their environment. Keys of LiteLLM are told from those of a
// provider by whether they were taken over.
//
// Without REQUIRE_AUTH a revoked or expired credential of this gateway is
// refused as well, so that its holder learns of it. Other credentials are
// ignored: SDKs always send some key.
func (m Chain) Caller(a Auth) gin.HandlerFunc {
	return func(c *gin.Context) {
		caller, err := a.identify(c.Request.Context(), c.Request.Header, a.Foreign != nil && a.Foreign(c))
		setCaller(c, caller)
		if err != nil {
			m.fail(c, err)
			return
		}
		if a.Verified && caller.Unverified {
			m.fail(c, auth.VerificationRequired())
		}
	}
}

// User authenticates a user by JWT, with and without REQUIRE_AUTH. An API key is
// refused.
func (m Chain) User(tokens *auth.Tokens) gin.HandlerFunc {
	return m.login(tokens, func(context.Context, string) error { return nil })
}

// LoginToken returns the token by which User has authenticated the request.
func LoginToken(c *gin.Context) string {
	text, _ := bearer(c.Request.Header) // User has read it
	return text
}

// ByCookie says whether the credential of a request is the console's cookie.
func ByCookie(c *gin.Context) bool { return RequestOf(c).Cookie }

// Admin authenticates an administrator by JWT. A request without a login gets
// 401, another user's 403.
func (m Chain) Admin(tokens *auth.Tokens, admin *admin.Service) gin.HandlerFunc {
	return m.login(tokens, admin.Check)
}

// login authenticates a user by JWT whom check accepts.
func (m Chain) login(tokens *auth.Tokens, check func(ctx context.Context, userID string) error) gin.HandlerFunc {
	return func(c *gin.Context) {
		user, err := byLogin(c, tokens)
		if err == nil {
			err = check(c.Request.Context(), user)
		}
		if err != nil {
			m.fail(c, err)
			return
		}
		setCaller(c, auth.Caller{UserID: user})
	}
}

// byLogin returns the user of the JWT that the request must have.
func byLogin(c *gin.Context, tokens *auth.Tokens) (userID string, err error) {
	text, err := bearer(c.Request.Header)
	switch {
	case err != nil:
		return "", err
	case text == "":
		return "", api.Unauthorized(api.CodeMissingCredentials, "this needs a login: send Authorization: Bearer and the token")
	case auth.LooksLikeKey(text):
		return "", api.Unauthorized(api.CodeInvalidToken, "this path takes no API key: log in, and send the token as Authorization: Bearer")
	}
	return tokens.Verify(c.Request.Context(), text)
}

// Address is the account of a request whose caller is not known, or not known
// yet: the client's address.
func Address(c *gin.Context) string { return auth.Caller{Address: ClientAddress(c)}.Account() }

// ClientAddress is the client's address as limits count it: an IPv4 address or an
// IPv6 /64.
func ClientAddress(c *gin.Context) string { return address(c.ClientIP()) }

// Account is the account of a request's caller.
func Account(c *gin.Context) string { return RequestOf(c).Caller.Account() }

// address is the client's address as rate limits count it: for IPv6 the /64
// prefix, as one client usually has all of it.
func address(text string) string {
	ip, err := netip.ParseAddr(text)
	if err != nil {
		return "unknown"
	}
	if ip.Is4() {
		return text // IPv4 has one form only
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	const perClient = 64
	prefix, err := ip.Prefix(perClient)
	if err != nil {
		return "unknown"
	}
	return prefix.String()
}

func (a Auth) identify(ctx context.Context, h http.Header, foreign bool) (auth.Caller, error) {
	token, err := bearer(h)
	key := first(h, keyHeader)
	if !a.Required {
		return a.attribute(ctx, token, key)
	}
	if foreign && key != "" && first(h, "Authorization") != "" {
		if t, k := a.ours(ctx, token, key); t != "" {
			token, key = t, k
		} else if k != "" {
			token, key, err = "", k, nil
		}
	}
	switch {
	case err != nil:
		return auth.Caller{}, err
	case len(h[keyHeader]) > 1:
		return auth.Caller{}, api.Unauthorized(api.CodeInvalidAPIKey, "the request has several headers X-API-Key: send one")
	case token == "" && key == "":
		return auth.Caller{}, api.Unauthorized(api.CodeMissingCredentials,
			"send an API key or a token as Authorization: Bearer, or an API key as X-API-Key")
	}
	return a.authenticate(ctx, token, key)
}

// attribute is the caller of a request without REQUIRE_AUTH, if its credential
// names one. While the database is unavailable no caller is known, and every
// request is served.
func (a Auth) attribute(ctx context.Context, token, key string) (auth.Caller, error) {
	token, key = a.ours(ctx, token, key)
	if token == "" && key == "" {
		return auth.Caller{}, nil
	}
	caller, err := a.authenticate(ctx, token, key)
	if err != nil && api.AsError(err).Status != http.StatusUnauthorized {
		return auth.Caller{}, nil
	}
	return caller, err
}

// authenticate returns the caller of a bearer credential, an API key, or both if they are the
// same; with an error the caller of a key that is not valid any more, for the log.
func (a Auth) authenticate(ctx context.Context, token, key string) (caller auth.Caller, err error) {
	if token != "" && key != "" && token != key {
		return caller, api.Unauthorized(api.CodeInvalidAPIKey, "Authorization and X-API-Key have different credentials: send one of them")
	}
	var found *auth.Caller
	if key == "" && isToken(token) {
		found, err = a.Tokens.Authenticate(ctx, token)
	} else {
		found, err = a.Keys.Authenticate(ctx, cmp.Or(key, token))
	}
	if found == nil {
		return caller, err
	}
	return *found, err
}

// ours returns the credentials of this gateway among a bearer credential and an API key: by their form, or, where
// neither has it, those that were taken over from LiteLLM. Each other one is empty.
func (a Auth) ours(ctx context.Context, token, key string) (ourToken, ourKey string) {
	tokenOurs, keyOurs := a.isOurs(token), auth.LooksLikeKey(key)
	if !tokenOurs && !keyOurs {
		tokenOurs, keyOurs = a.Keys.KnowsLiteLLM(ctx, token), a.Keys.KnowsLiteLLM(ctx, key)
	}
	if tokenOurs {
		ourToken = token
	}
	if keyOurs {
		ourKey = key
	}
	return ourToken, ourKey
}

// isOurs says whether a credential has the form of a key or of a sign-in's token, or is a token
// that this gateway has signed.
func (a Auth) isOurs(text string) bool {
	return auth.LooksLikeKey(text) || auth.LooksLikeSignIn(text) || isToken(text) && a.Tokens.Ours(text)
}

// isToken says whether a credential has the form of a JWT.
func isToken(text string) bool { return strings.Count(text, ".") == 2 && !auth.LooksLikeLiteLLM(text) }

// bearer is the text after Authorization: Bearer; empty where there is none.
func bearer(h http.Header) (string, error) {
	values := h["Authorization"]
	if len(values) == 0 {
		return "", nil
	}
	scheme, text, _ := strings.Cut(values[0], " ")
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") || text == "" || strings.ContainsAny(text, " \t") {
		return "", api.Unauthorized(api.CodeInvalidToken, "the Authorization header must be one line: Bearer, one space and the credential")
	}
	return text, nil
}
