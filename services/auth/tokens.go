package auth

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"
	lru "github.com/hashicorp/golang-lru/v2"

	"modelgateway/api"
	"modelgateway/models"
)

const (
	// tokenLeeway is how far the clocks of replicas may be apart. It does not
	// extend a token's expiry.
	tokenLeeway  = time.Minute
	longestToken = 8 << 10 // bytes

	cachedUsers = 16384
)

// Token is the result of a login: a signed JWT and its expiry.
type Token struct {
	Text      string
	ExpiresAt time.Time
}

// Tokens issues and verifies the JWTs of logins.
type Tokens struct {
	secret []byte
	keys   jwt.VerificationKeySet
	expiry time.Duration
	issuer string
	now    func() time.Time

	user      func(ctx context.Context, id string) (*models.TokenUser, error) // tests replace the store's
	store     *models.Store
	log       *slog.Logger
	revisions *Revisions

	strict *jwt.Parser
	signed *jwt.Parser // checks the signature alone

	users *lru.Cache[string, userEntry] // by user id
	uses  lastUses

	userDefaults models.Limits
}

// TokenOptions is what Tokens need.
type TokenOptions struct {
	Secret   []byte // signs and verifies
	Previous []byte // verifies only; empty: none
	Expiry   time.Duration
	Issuer   string // the iss claim, the same on every replica
	Store    *models.Store
	Log      *slog.Logger // of Run
	Now      func() time.Time

	Revisions *Revisions // nil: a user whose token is in use is queried every second

	UserDefaults models.Limits // of users who have no such limit of their own
}

// NewTokens returns Tokens. With an empty Secret they neither issue nor accept a
// token.
func NewTokens(o TokenOptions) *Tokens {
	t := &Tokens{
		secret: o.Secret, expiry: o.Expiry, issuer: o.Issuer, now: o.Now,
		user: o.Store.TokenUser, store: o.Store, log: o.Log, revisions: o.Revisions, uses: lastUses{byID: map[string]*lastUse{}},
		userDefaults: o.UserDefaults,
	}
	t.users, _ = lru.New[string, userEntry](cachedUsers) // fails only for a size of 0 or less
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

// Issue makes a token that is valid until its expiry, or until it is ended or the
// user's generation grows: with a change of the password, with the end of all tokens,
// or when the user is disabled or deleted.
func (t *Tokens) Issue(u *models.User) (Token, error) {
	if len(t.secret) == 0 {
		return Token{}, api.Internal(errors.New("there is no secret to sign tokens with"))
	}
	now := t.now().Truncate(time.Second)
	c := &claims{
		Subject: u.ID, Email: u.Email, Issuer: t.issuer, ID: rand.Text(), Generation: u.Generation,
		IssuedAt: float64(now.Unix()), NotBefore: float64(now.Unix()), ExpiresAt: float64(now.Add(t.expiry).Unix()),
	}
	text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, c).SignedString(t.secret)
	if err != nil {
		return Token{}, api.Internal(fmt.Errorf("sign token: %w", err))
	}
	t.Forget(u.ID) // u may be newer than what is cached
	return Token{Text: text, ExpiresAt: numericDate(c.ExpiresAt).Time}, nil
}

// Verify returns the id of the token's user. An invalid token is a 401; a
// database that cannot be queried for the user is a 503.
func (t *Tokens) Verify(ctx context.Context, text string) (userID string, err error) {
	c, err := t.Authenticate(ctx, text)
	if err != nil {
		return "", err
	}
	return c.UserID, nil
}

// Authenticate returns the caller with this token, without an address, and fails as
// Verify does. It must not be changed: other requests share it.
func (t *Tokens) Authenticate(ctx context.Context, text string) (*Caller, error) {
	c, err := t.parse(text)
	if err != nil {
		return nil, err
	}
	u, err := t.lookUp(ctx, c.Subject)
	if err != nil {
		return nil, api.Unavailable(err)
	}
	if !u.accepts(c) {
		return nil, InvalidToken()
	}
	if err := u.caller.expired(t.now()); err != nil {
		return nil, err
	}
	u.use.at.Store(t.now().UnixMicro())
	return u.caller, nil
}

// Ends is when a token ends that Verify accepts.
func (t *Tokens) Ends(text string) (time.Time, error) {
	c, err := t.parse(text)
	if err != nil {
		return time.Time{}, err
	}
	return numericDate(c.ExpiresAt).Time, nil
}

// Recent reports whether a token that Verify accepts was issued at a login of the last d.
func (t *Tokens) Recent(text string, d time.Duration) bool {
	c, err := t.parse(text)
	return err == nil && t.now().Sub(numericDate(c.IssuedAt).Time) < d
}

// End ends a token that Verify accepts. It is refused here at once, and by other
// replicas within a second.
func (t *Tokens) End(ctx context.Context, text string) error {
	c, err := t.parse(text)
	if err != nil {
		return err
	}
	expires := numericDate(c.ExpiresAt).Time
	ended := models.EndedToken{ID: c.ID, UserID: c.Subject, ExpiresAt: expires.UnixMicro()}
	if err := t.store.EndToken(ctx, ended, t.now().UnixMicro()); err != nil {
		return api.OrUnavailable("end a token", err)
	}
	t.Forget(c.Subject)
	return nil
}

// Forget removes what is cached of a user whose tokens have ended. Other replicas
// notice the change within a second.
func (t *Tokens) Forget(userID string) { t.users.Remove(userID) }

func (t *Tokens) parse(text string) (*claims, error) {
	if !plausible(text) {
		return nil, InvalidToken()
	}
	c := &claims{}
	_, err := t.strict.ParseWithClaims(text, c, t.key)
	if errors.Is(err, jwt.ErrTokenExpired) {
		return nil, tokenExpired()
	}
	if err != nil || c.Subject == "" || c.ID == "" || c.IssuedAt == 0 || c.Generation < 1 {
		return nil, InvalidToken()
	}
	// Issue never made a token that is valid for longer than the expiry.
	end := numericDate(c.ExpiresAt).Time
	if end.After(numericDate(c.IssuedAt).Add(t.expiry + tokenLeeway)) {
		return nil, InvalidToken()
	}
	if !t.now().Before(end) {
		return nil, tokenExpired()
	}
	return c, nil
}

// Ours reports whether the text is a token that was signed with our secret or the
// previous one, with any expiry and any user.
func (t *Tokens) Ours(text string) bool {
	if !plausible(text) {
		return false
	}
	_, err := t.signed.Parse(text, t.key)
	return err == nil
}

// plausible rejects text that is too long for the parser, and line ends, which
// base64 decoding would skip.
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

// key returns our secrets, whichever key the header names.
func (t *Tokens) key(token *jwt.Token) (any, error) {
	if _, ok := token.Header["crit"]; ok { // RFC 7515, 4.1.11
		return nil, errors.New("the token has critical extensions, and none is supported")
	}
	return t.keys, nil
}

// userEntry is the database's answer about the user of a token.
type userEntry struct {
	caller     *Caller // nil: the user is disabled or deleted
	generation int64
	ended      []string // ids of tokens
	use        *lastUse // nil without a caller

	queriedAt time.Time // before the query was sent
	revision  int64     // current before that; 0 without a caller
}

// accepts reports whether a token is valid. Its generation is higher than the user's
// when the entry is older than the login.
func (u userEntry) accepts(c *claims) bool {
	return u.caller != nil && c.Generation >= u.generation && !slices.Contains(u.ended, c.ID)
}

// lookUp returns the cached answer about a user while it is fresh, as for keys, and
// queries the database at least once a keyIdleTTL. An answer is not used any more once
// a poll has found a change, while that of a key then ends with its keyTTL.
func (t *Tokens) lookUp(ctx context.Context, userID string) (userEntry, error) {
	now := t.now()
	u, ok := t.users.Get(userID)
	revision, _ := t.revisions.Current() // before the query: see Revisions
	unchanged := u.revision == 0 || u.revision == revision
	if ok && unchanged && now.Sub(t.revisions.validatedAt(u.queriedAt, u.revision)) < keyTTL && now.Sub(u.queriedAt) < keyIdleTTL {
		return u, nil
	}
	found, err := t.user(ctx, userID)
	if err != nil && !errors.Is(err, models.ErrNotFound) {
		return userEntry{}, err
	}
	u = userEntry{queriedAt: now}
	if err == nil && found.DisabledAt == 0 {
		u = userEntry{
			caller: &Caller{
				UserID: userID, Unverified: found.VerifiedAt == 0,
				Levels: models.Levels{userLevel(userID, found.Limits, t.userDefaults)},
			},
			generation: found.Generation, ended: found.Ended, use: t.uses.of(userID, now), queriedAt: now, revision: revision,
		}
	}
	t.users.Add(userID, u)
	return u, nil
}

// InvalidToken answers for every invalid token, with any reason.
func InvalidToken() error {
	return api.Unauthorized(api.CodeInvalidToken, "the token is not valid; log in again")
}

func tokenExpired() error {
	return api.Unauthorized(api.CodeTokenExpired, "the token has expired; log in again")
}
