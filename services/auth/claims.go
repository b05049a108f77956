package auth

import (
	"errors"
	"math"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/golang-jwt/jwt/v5"
)

// claims are what our tokens say. Times are seconds since 1970.
type claims struct {
	Subject   string         `json:"sub"`
	Email     string         `json:"email"`
	IssuedAt  float64        `json:"iat"`
	NotBefore float64        `json:"nbf"`
	ExpiresAt float64        `json:"exp"`
	ID        string         `json:"jti"`
	Issuer    string         `json:"iss"`
	Version   string         `json:"ver,omitzero"` // of the password that the login was with
	Audience  jsontext.Value `json:"aud,omitzero"` // ours have none
}

var errNotOurClaims = errors.New("not the claims of our tokens")

// UnmarshalJSON takes no number in quotes, no name twice or in another case,
// and no time that is not one, all of which the library would.
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
	if c.Audience != nil { // RFC 7519, 4.1.3: it is somebody else's
		return errNotOurClaims
	}
	return nil
}

// numericDate is nil for a time that is missing.
func numericDate(seconds float64) *jwt.NumericDate {
	if seconds == 0 {
		return nil
	}
	whole, part := math.Modf(seconds)
	return &jwt.NumericDate{Time: time.Unix(int64(whole), int64(part*float64(time.Second))).UTC()}
}

// GetExpirationTime is the exp claim.
func (c *claims) GetExpirationTime() (*jwt.NumericDate, error) { return numericDate(c.ExpiresAt), nil }

// GetIssuedAt is the iat claim.
func (c *claims) GetIssuedAt() (*jwt.NumericDate, error) { return numericDate(c.IssuedAt), nil }

// GetNotBefore is the nbf claim.
func (c *claims) GetNotBefore() (*jwt.NumericDate, error) { return numericDate(c.NotBefore), nil }

// GetIssuer is the iss claim.
func (c *claims) GetIssuer() (string, error) { return c.Issuer, nil }

// GetSubject is the sub claim.
func (c *claims) GetSubject() (string, error) { return c.Subject, nil }

// GetAudience is none: a token with an audience is not ours.
func (c *claims) GetAudience() (jwt.ClaimStrings, error) { return nil, nil }
