package idp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/markbates/goth"
	"golang.org/x/oauth2"

	"modelgateway/models/api"
)

// provider is an identity provider: what goth knows of it, and what it does not.
type provider struct {
	// goth makes goth's side of it. It is made for each login, for the sake of
	// its client.
	goth   func(*http.Client) goth.Provider
	tokens *verifier        // of ID tokens; nil where there are none
	oauth  oauth2.Config    // where a code is exchanged
	other  oauth2.AuthStyle // how else our secret may be sent there; 0: in no other way
	// person says who has logged in.
	person func(context.Context, visit) (person, error)
}

// person is what a provider says of somebody, and what it vouches for.
type person struct {
	issuer, subject string
	email           string
	verified        bool
	name            string
}

// address is where the browser goes. PKCE is for every provider: one that does
// not know it ignores it (RFC 6749, section 3.1). Google, GitHub (since July
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

// proof is what a browser brings back: the provider's code and our attempt.
type proof struct {
	code string
	attempt
}

// visit is a login after the exchange of its code.
type visit struct {
	token  *oauth2.Token
	claims claims // of the verified ID token, where there is one
	http   *http.Client
	seen   *witness // of the last answer to http
}

func (p *provider) visit(ctx context.Context, client *http.Client, proof proof) (visit, error) {
	token, err := p.exchange(context.WithValue(ctx, oauth2.HTTPClient, client), proof)
	if err != nil {
		return visit{}, err
	}
	v := visit{token: token}
	if p.tokens != nil {
		if v.claims, err = p.tokens.verify(ctx, token, proof.nonce.text()); err != nil {
			return visit{}, err
		}
	}
	v.http, v.seen = watched(ctx, client)
	return v, nil
}

// exchange turns the code into tokens. A server that does not know our secret
// the way it was sent is asked again the other way, where it says it takes
// both: clients are registered for one, and the code is not used up (RFC 6749,
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
		return nil, notExchanged(err)
	}
	return token, nil
}

func notExchanged(err error) *api.Error {
	e, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok {
		return lost(fmt.Errorf("exchange the code: %w", reason(err)))
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
		return lost(cause)
	}
}

// oauth is where and as whom a code is exchanged.
func (l *Login) oauth(at oauth2.Endpoint) oauth2.Config {
	return oauth2.Config{
		ClientID: l.opts.Config.ClientID, ClientSecret: l.opts.Config.ClientSecret.Reveal(),
		Endpoint: at, RedirectURL: l.callback,
	}
}
