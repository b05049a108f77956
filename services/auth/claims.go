package auth

import (
	"errors"
	"math"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/golang-jwt/jwt/v5"
)

// claims are the claims of our tokens. Times are Unix seconds.
type claims struct {
	Subject   string         `json:"sub"`
	Email     string         `json:"email"`
	IssuedAt  float64        `json:"iat"`
	NotBefore float64        `json:"nbf"`
	ExpiresAt float64        `json:"exp"`
	ID        string         `json:"jti"`
	Issuer    string         `json:"iss"`
	Audience  jsontext.Value `json:"aud,omitzero"` // ours have none

	// Generation is that of the user at the login: see models.User. It is from 1.
	Generation int64 `json:"gen"`
}

var errNotOurClaims = errors.New("not the claims of our tokens")

// UnmarshalJSON rejects a number in quotes, a name that occurs twice or in
// another case, and a time out of range, all of which the library accepts.
func (c *claims) UnmarshalJSON(data []byte) error {
	type plain claims
	if err := json.Unmarshal(data, (*plain)(c)); err != nil {
		return errNotOurClaims // the cause may quote the token
	}
	const endOfTime = 253402300800 // the year 10000
	for _, seconds := range []float64{c.IssuedAt, c.NotBefore, c.ExpiresAt} {
		if seconds < 0 || seconds >= endOfTime {
			return errNotOurClaims
		}
	}
	if c.Audience != nil { // RFC 7519, 4.1.3: the token is for another service
		return errNotOurClaims
	}
	return nil
}

// numericDate returns nil for a missing time.
func numericDate(seconds float64) *jwt.NumericDate {
	if seconds == 0 {
		return nil
	}
	whole, part := math.Modf(seconds)
	return &jwt.NumericDate{Time: time.Unix(int64(whole), int64(part*float64(time.Second))).UTC()}
}

// GetExpirationTime returns the exp claim.
func (c *claims) GetExpirationTime() (*jwt.NumericDate, error) { return numericDate(c.ExpiresAt), nil }

// GetIssuedAt returns the iat claim.
func (c *claims) GetIssuedAt() (*jwt.NumericDate, error) { return numericDate(c.IssuedAt), nil }

// GetNotBefore returns the nbf claim.
func (c *claims) GetNotBefore() (*jwt.NumericDate, error) { return numericDate(c.NotBefore), nil }

// GetIssuer returns the iss claim.
func (c *claims) GetIssuer() (string, error) { return c.Issuer, nil }

// GetSubject returns the sub claim.
func (c *claims) GetSubject() (string, error) { return c.Subject, nil }

// GetAudience returns none: a token with an audience is not ours.
func (c *claims) GetAudience() (jwt.ClaimStrings, error) { return nil, nil }
