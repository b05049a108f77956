package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"modelgateway/models"
	"modelgateway/models/api"
	"modelgateway/services/expiring"
)

const (
	// tokenLeeway is how far the clocks of replicas may be apart. It does not
	// lengthen a token's life.
	tokenLeeway  = time.Minute
	longestToken = 8 << 10 // bytes

	mostHolders = 16384
)

// Token is a login: a signed JWT and the moment it ends.
type Token struct {
	Text      string
	ExpiresAt time.Time
}

// Tokens makes and checks the JWTs of logins.
type Tokens struct {
	secret []byte
	keys   jwt.VerificationKeySet
	expiry time.Duration
	issuer string
	now    func() time.Time

	user      func(ctx context.Context, id string) (*models.User, error) // the store's, but in tests
	revisions *Revisions

	strict *jwt.Parser
	signed *jwt.Parser // looks at the signature alone

	mu      sync.Mutex
	holders expiring.Map[holder] // by user id
}

// TokenOptions is what Tokens need.
type TokenOptions struct {
	Secret   []byte // signs, and checks
	Previous []byte // checks only; empty: none
	Expiry   time.Duration
	Issuer   string // the iss claim, the same on every replica
	Store    *models.Store
	Now      func() time.Time

	Revisions *Revisions // nil: a user with a token in use is asked for every second
}

// NewTokens takes an empty Secret, but then neither makes nor accepts a token.
func NewTokens(o TokenOptions) *Tokens {
	t := &Tokens{
		secret: o.Secret, expiry: o.Expiry, issuer: o.Issuer, now: o.Now, user: o.Store.User, revisions: o.Revisions,
		holders: expiring.New[holder](mostHolders),
	}
	for _, secret := range [][]byte{o.Secret, o.Previous} {
		if len(secret) > 0 {
			t.keys.Keys = append(t.keys.Keys, secret)
		}
	}
	form := []jwt.ParserOption{jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithStrictDecoding()}
	t.signed = jwt.NewParser(append(form, jwt.WithoutClaimsValidation())...)
	t.strict = jwt.NewParser(append(form, jwt.WithExpirationRequired(), jwt.WithIssuedAt(),
		jwt.WithIssuer(o.Issuer), jwt.WithLeeway(tokenLeeway), jwt.WithTimeFunc(o.Now))...)
	return t
}

// Issue makes a token that ends after the expiry, or when the user has another
// password, is disabled or deleted.
func (t *Tokens) Issue(u *models.User) (Token, error) {
	if len(t.secret) == 0 {
		return Token{}, api.Internal(errors.New("there is no secret to sign tokens with"))
	}
	now := t.now().Truncate(time.Second)
	c := &claims{
		Subject: u.ID, Email: u.Email, Issuer: t.issuer, ID: rand.Text(), Version: passwordVersion(u),
		IssuedAt: float64(now.Unix()), NotBefore: float64(now.Unix()), ExpiresAt: float64(now.Add(t.expiry).Unix()),
	}
	text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, c).SignedString(t.secret)
	if err != nil {
		return Token{}, api.Internal(fmt.Errorf("sign token: %w", err))
	}
	return Token{Text: text, ExpiresAt: numericDate(c.ExpiresAt).Time}, nil
}

// Verify is the user whose token this is. A token that is not good is a 401; a
// database that cannot say whether its user is still there is a 503.
func (t *Tokens) Verify(ctx context.Context, text string) (userID string, err error) {
	c, err := t.parse(text)
	if err != nil {
		return "", err
	}
	h, err := t.holder(ctx, c.Subject)
	if err != nil {
		return "", api.Unavailable(err)
	}
	if !h.live || c.Version != "" && c.Version != h.version {
		return "", InvalidToken()
	}
	return c.Subject, nil
}

func (t *Tokens) parse(text string) (*claims, error) {
	if !plausible(text) {
		return nil, InvalidToken()
	}
	c := &claims{}
	_, err := t.strict.ParseWithClaims(text, c, t.key)
	if errors.Is(err, jwt.ErrTokenExpired) {
		return nil, tokenExpired()
	}
	if err != nil || c.Subject == "" || c.IssuedAt == 0 {
		return nil, InvalidToken()
	}
	// Whoever has a token that outlives the expiry did not get it from Issue.
	end := numericDate(c.ExpiresAt).Time
	if end.After(numericDate(c.IssuedAt).Add(t.expiry + tokenLeeway)) {
		return nil, InvalidToken()
	}
	if !t.now().Before(end) {
		return nil, tokenExpired()
	}
	return c, nil
}

// Ours says whether the text is a token that was signed with our secret or the
// previous one, however old it is and whoever's.
func (t *Tokens) Ours(text string) bool {
	if !plausible(text) {
		return false
	}
	_, err := t.signed.Parse(text, t.key)
	return err == nil
}

// plausible keeps from the parser what is too long, and the line ends that
// base64 would skip.
func plausible(text string) bool {
	if len(text) > longestToken {
		return false
	}
	for _, b := range []byte(text) {
		switch {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9', b == '-', b == '_', b == '.':
		default:
			return false
		}
	}
	return true
}

// key is our secrets whatever key the header names.
func (t *Tokens) key(token *jwt.Token) (any, error) {
	if _, ok := token.Header["crit"]; ok { // RFC 7515, 4.1.11
		return nil, errors.New("critical extensions are not known here")
	}
	return t.keys, nil
}

// holder is what a token's user has to do with it.
type holder struct {
	live    bool
	version string

	asked    time.Time // before the database was
	revision int64     // known before that; 0 unless live
}

// holder is what is believed of a user, for as long as of a key.
func (t *Tokens) holder(ctx context.Context, userID string) (holder, error) {
	now := t.now()
	t.mu.Lock()
	h, ok := t.holders.Get(userID, now)
	t.mu.Unlock()
	if ok && now.Sub(t.revisions.goodAt(h.asked, h.revision)) < keyLife {
		return h, nil
	}
	revision, _ := t.revisions.Known() // before the question: see Revisions
	u, err := t.user(ctx, userID)
	if err != nil && !errors.Is(err, models.ErrNotFound) {
		return holder{}, err
	}
	// From the moment of the question, so that a slow answer is no older than
	// a fast one when it ends.
	h = holder{live: err == nil && u.DisabledAt == 0, version: passwordVersion(u), asked: now}
	if h.live {
		h.revision = revision
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.holders.Put(userID, h, now.Add(keyMemory), now)
	return h, nil
}

// passwordVersion changes with the password. The hash has a salt nobody knows,
// so that this says nothing of either.
func passwordVersion(u *models.User) string {
	sum := sha256.Sum256([]byte(u.PasswordHash))
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

// InvalidToken is the 401 of a token that is not good, whatever is wrong with it.
func InvalidToken() error {
	return api.Unauthorized(api.CodeInvalidToken, "the token is not valid; log in again")
}

func tokenExpired() error {
	return api.Unauthorized(api.CodeTokenExpired, "the token has expired; log in again")
}
