package idp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/markbates/goth"
	"golang.org/x/oauth2"

	"modelgateway/api"
)

// provider is an identity provider: goth's part, and the parts that goth lacks.
type provider struct {
	// goth returns goth's provider. Each login has one, with a client of its own.
	goth   func(*http.Client) goth.Provider
	tokens *verifier        // of ID tokens; nil where there are none
	oauth  oauth2.Config    // exchanges a code
	other  oauth2.AuthStyle // the second way to send our secret; 0: there is none
	// person returns who has logged in.
	person func(context.Context, grant) (person, error)
}

// person is a user of a provider, and whether it has verified the address.
type person struct {
	issuer, subject string
	email           string
	verified        bool
	name            string
}

// address returns the URL for the browser. PKCE is sent to every provider: one
// without support ignores it (RFC 6749, section 3.1). Google, GitHub (since July
// 2025), GitLab and Microsoft check it.
func (p *provider) address(client *http.Client, a attempt) (string, error) {
	session, err := p.goth(client).BeginAuth(a.state.text())
	if err != nil {
		return "", fmt.Errorf("begin: %w", reason(err))
	}
	text, err := session.GetAuthURL()
	if err != nil {
		return "", fmt.Errorf("begin: %w", reason(err))
	}
	u, err := url.Parse(text)
	if err != nil {
		return "", errors.New("begin: the authorization endpoint is not a URL")
	}
	q := u.Query()
	q.Set("code_challenge", oauth2.S256ChallengeFromVerifier(a.verifier.text()))
	q.Set("code_challenge_method", "S256")
	if p.tokens != nil {
		q.Set("nonce", a.nonce.text())
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// proof is what a callback sends: the provider's code and our attempt.
type proof struct {
	code string
	attempt
}

// grant is the result of exchanging the code of a login.
type grant struct {
	token    *oauth2.Token
	claims   claims // of the verified ID token, where there is one
	http     *http.Client
	response *recorder // of the last request of http
}

// redeem exchanges the code and verifies the ID token.
func (p *provider) redeem(ctx context.Context, client *http.Client, proof proof) (grant, error) {
	token, err := p.exchange(context.WithValue(ctx, oauth2.HTTPClient, client), proof)
	if err != nil {
		return grant{}, err
	}
	v := grant{token: token}
	if p.tokens != nil {
		if v.claims, err = p.tokens.verify(ctx, token, proof.nonce.text()); err != nil {
			return grant{}, err
		}
	}
	v.http, v.response = recorded(ctx, client)
	return v, nil
}

// exchange turns the code into tokens. If the server refuses the way in which our
// secret was sent and supports a second one, that is tried as well: a client is
// registered for one of them, and the refusal does not use up the code (RFC 6749,
// section 5.2).
func (p *provider) exchange(ctx context.Context, proof proof) (*oauth2.Token, error) {
	how := oauth2.VerifierOption(proof.verifier.text())
	token, err := p.oauth.Exchange(ctx, proof.code, how)
	if e, ok := errors.AsType[*oauth2.RetrieveError](err); ok && e.ErrorCode == "invalid_client" && p.other != 0 {
		again := p.oauth
		again.Endpoint.AuthStyle = p.other
		token, err = again.Exchange(ctx, proof.code, how)
	}
	if err != nil {
		return nil, exchangeError(err)
	}
	return token, nil
}

// exchangeError translates an error of the token endpoint for the caller.
func exchangeError(err error) *api.Error {
	e, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok {
		return failed(fmt.Errorf("exchange the code: %w", reason(err)))
	}
	cause := fmt.Errorf("exchange the code: HTTP %d", e.Response.StatusCode)
	if isCode(e.ErrorCode) { // and not an echo of what was sent
		cause = fmt.Errorf("%w, %s", cause, e.ErrorCode)
	}
	switch e.ErrorCode {
	case "invalid_grant", "access_denied", "interaction_required",
		"bad_verification_code": // GitHub's invalid_grant
		return rejected(cause)
	case "unverified_user_email": // GitHub's
		return notVerified(cause)
	default: // invalid_client is the operator's fault, not the user's
		return failed(cause)
	}
}

// oauth returns the client of a token endpoint.
func (l *Login) oauth(at oauth2.Endpoint) oauth2.Config {
	return oauth2.Config{
		ClientID: l.opts.Config.ClientID, ClientSecret: l.opts.Config.ClientSecret.Reveal(),
		Endpoint: at, RedirectURL: l.callback,
	}
}
