package idp

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// The cookie of a login, for controllers.
const (
	// Path is where a login begins. The callback is below it.
	Path = "/auth/idp"
	// CookieName is the name of the cookie that ties a login to its browser.
	CookieName = "mgw_idp"
	// CookieMaxAge is how long a login may take.
	CookieMaxAge = 10 * time.Minute
)

// clockSkew is how far the clocks of two replicas may be apart.
const clockSkew = time.Minute

// Cookie returns the cookie with this value; an empty value removes the cookie.
// It is Lax because the provider's redirect comes from another site.
func (l *Login) Cookie(value string) *http.Cookie {
	c := &http.Cookie{
		Name: CookieName, Value: value, Path: Path, MaxAge: int(CookieMaxAge / time.Second),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: strings.HasPrefix(l.opts.PublicURL, "https://"),
	}
	if u, err := url.Parse(l.opts.PublicURL); err == nil {
		c.Path = u.EscapedPath() + Path // a proxy may serve the gateway below a path of its own
	}
	if value == "" {
		c.MaxAge = -1
	}
	return c
}

// attempt is a login that has begun. Only the browser that began it has all of
// it, sealed; the provider sees the state, the nonce and a hash of the verifier.
type attempt struct {
	began                  time.Time // whole seconds
	state, verifier, nonce secret
	to                     linkTo
}

// linkTo is the user to whom an attempt adds the identity, and the generation of the
// user's tokens then. It is zero for a login.
type linkTo struct {
	userID     string
	generation int64
}

type secret [32]byte

func (s secret) text() string { return base64.RawURLEncoding.EncodeToString(s[:]) }

const (
	sealedBytes   = 8 + 3*len(secret{}) // of a login; the user of a link comes after them
	longestLinkTo = 100
)

func newAttempt(now time.Time) attempt {
	a := attempt{began: now}
	for _, s := range []*secret{&a.state, &a.verifier, &a.nonce} {
		_, _ = rand.Read(s[:]) // never returns an error
	}
	return a
}

func (a attempt) expiresAt() time.Time { return a.began.Add(CookieMaxAge) }

func (a attempt) hasState(text string) bool {
	return subtle.ConstantTimeCompare([]byte(text), []byte(a.state.text())) == 1
}

// newCipher derives the cookie's key from the secret, which signs tokens and
// should have no second use.
func newCipher(secret []byte) (cipher.AEAD, error) {
	if len(secret) == 0 {
		return nil, errors.New("no secret")
	}
	key, err := hkdf.Key(sha256.New, secret, nil, "modelgateway login cookie v1", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// additionalData is authenticated with the cookie: a cookie that was sealed for
// another provider or client does not open.
func (l *Login) additionalData() []byte {
	c := l.opts.Config
	return []byte(strings.Join([]string{CookieName, c.Name, c.Issuer, c.ClientID}, "\n"))
}

func (l *Login) seal(a attempt) string {
	plain := make([]byte, 0, sealedBytes)
	plain = binary.BigEndian.AppendUint64(plain, uint64(a.began.Unix()))
	for _, s := range []secret{a.state, a.verifier, a.nonce} {
		plain = append(plain, s[:]...)
	}
	if a.to.userID != "" {
		plain = fmt.Appendf(plain, "%d %s", a.to.generation, a.to.userID)
	}
	return base64.RawURLEncoding.EncodeToString(l.cipher.Seal(nil, nil, plain, l.additionalData()))
}

func (l *Login) open(cookie string) (attempt, error) {
	if cookie == "" {
		return attempt{}, errors.New("no cookie")
	}
	sealed, err := base64.RawURLEncoding.DecodeString(cookie)
	if err != nil || base64.RawURLEncoding.EncodeToString(sealed) != cookie { // decoding skips line ends
		return attempt{}, errors.New("the cookie is not base64")
	}
	plain, err := l.cipher.Open(nil, nil, sealed, l.additionalData())
	if err != nil || len(plain) < sealedBytes || len(plain) > sealedBytes+longestLinkTo {
		return attempt{}, errors.New("the cookie was not sealed by this gateway")
	}
	a := attempt{began: time.Unix(int64(binary.BigEndian.Uint64(plain)), 0)}
	rest := plain[8:]
	for _, s := range []*secret{&a.state, &a.verifier, &a.nonce} {
		rest = rest[copy(s[:], rest):]
	}
	if len(rest) > 0 {
		if _, err := fmt.Sscanf(string(rest), "%d %s", &a.to.generation, &a.to.userID); err != nil {
			return attempt{}, errors.New("the cookie has no user")
		}
	}
	now := l.opts.Now()
	if !now.Before(a.expiresAt()) || now.Add(clockSkew).Before(a.began) {
		return attempt{}, errors.New("the cookie is too old")
	}
	return a, nil
}
