package idp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/oauth2"
)

// claims are the members of an ID token or a userinfo response that this package
// uses (OpenID Connect Core 1.0, sections 2 and 5.1).
type claims struct {
	Issuer   string   `json:"iss"`
	Subject  string   `json:"sub"`
	Audience audience `json:"aud"`
	Party    string   `json:"azp"`
	Expiry   float64  `json:"exp"`
	Nonce    string   `json:"nonce"`

	Email         string         `json:"email"`
	EmailVerified jsontext.Value `json:"email_verified"` // only true counts: providers have meant different things by "true"
	DomainOwned   jsontext.Value `json:"xms_edov"`       // Microsoft's
	Tenant        string         `json:"tid"`            // Microsoft's
}

// latest is the end of the year 9999: an expiry beyond is no date.
const latest = 253402300800

type audience []string

// UnmarshalJSONFrom accepts one audience or a list.
func (a *audience) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != '"' {
		return json.UnmarshalDecode(d, (*[]string)(a))
	}
	*a = audience{""}
	return json.UnmarshalDecode(d, &(*a)[0])
}

func isTrue(v jsontext.Value) bool { return string(v) == "true" }

// verifier checks the ID tokens of one provider.
type verifier struct {
	clientID string
	issuer   string            // empty where each token names its own, as Microsoft's do
	trusted  func(claims) bool // reports whether the token's issuer is the provider
	algs     []string
	keys     oidc.KeySet
	now      func() time.Time
}

// asymmetric are the algorithms that may sign an ID token. "none" and the
// algorithms whose key is our own secret are not among them.
var asymmetric = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512,
	oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
}

// verifier returns the verifier of an issuer that all its tokens name.
func (l *Login) verifier(issuer string, from metadata) *verifier {
	client := *l.http
	client.Transport = &keyCache{next: l.http.Transport, now: l.opts.Now}
	v := &verifier{
		clientID: l.opts.Config.ClientID, issuer: issuer, now: l.opts.Now,
		trusted: func(c claims) bool { return c.Issuer == issuer },
		keys:    oidc.NewRemoteKeySet(oidc.ClientContext(context.Background(), &client), from.Keys),
	}
	for _, alg := range asymmetric {
		if slices.Contains(from.Algorithms, alg) {
			v.algs = append(v.algs, alg)
		}
	}
	return v
}

// verify returns the claims of the ID token, after every check of OpenID Connect
// Core 1.0, section 3.1.3.7.
func (v *verifier) verify(ctx context.Context, token *oauth2.Token, nonce string) (claims, error) {
	text, ok := token.Extra("id_token").(string)
	if !ok {
		return claims{}, rejected(errors.New("no ID token"))
	}
	keys := &keySet{KeySet: v.keys}
	verified, err := oidc.NewVerifier(v.issuer, keys, &oidc.Config{
		ClientID: v.clientID, SupportedSigningAlgs: v.algs, SkipIssuerCheck: v.issuer == "", Now: v.now,
	}).Verify(ctx, text)
	if keys.fetchErr != nil {
		return claims{}, failed(fmt.Errorf("the provider's keys: %w", reason(keys.fetchErr)))
	}
	if err != nil {
		return claims{}, rejected(fmt.Errorf("ID token: %w", reason(err)))
	}
	if verified.AccessTokenHash != "" {
		if err := verified.VerifyAccessToken(token.AccessToken); err != nil {
			return claims{}, rejected(fmt.Errorf("ID token: %w", err))
		}
	}
	c, err := read(verified)
	if err == nil {
		err = v.check(c, nonce)
	}
	if err != nil {
		return claims{}, rejected(fmt.Errorf("ID token: %w", err))
	}
	return c, nil
}

// read decodes the claims again, strictly. go-oidc, which uses encoding/json,
// accepts the last of two equal names, "EXP" for "exp", and a text for a number;
// goth, which reads the same token later, panics on the latter two.
func read(token *oidc.IDToken) (claims, error) {
	var payload jsontext.Value
	if err := token.Claims(&payload); err != nil {
		return claims{}, reason(err)
	}
	var c claims
	if err := json.Unmarshal(payload, &c); err != nil {
		return claims{}, reason(err)
	}
	return c, nil
}

func (v *verifier) check(c claims, nonce string) error {
	now := float64(v.now().Unix())
	switch {
	case !v.trusted(c):
		return errors.New("of another issuer")
	case !slices.Contains(c.Audience, v.clientID):
		return errors.New("for another audience")
	case c.Party != v.clientID && (c.Party != "" || len(c.Audience) > 1):
		return errors.New("for another party")
	case c.Expiry <= now || c.Expiry > latest: // 0 when there is none
		return errors.New("no expiry, or past it")
	case c.Nonce != nonce:
		return errors.New("of another login")
	}
	return nil
}

// keySet keeps the error of fetching a provider's keys apart from that of an
// invalid signature. go-oidc reports both as text, but only an error of fetching
// wraps a cause (go-oidc v3.21.0, jwks.go).
type keySet struct {
	oidc.KeySet
	fetchErr error
}

func (k *keySet) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	payload, err := k.KeySet.VerifySignature(ctx, jwt)
	k.fetchErr = errors.Unwrap(err)
	return payload, err
}
