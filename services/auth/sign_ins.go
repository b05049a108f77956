package auth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"modelgateway/api"
	"modelgateway/models"
)

// SignInPrefix begins the access tokens of programs that are signed in.
const SignInPrefix = "mgwa_"

const signInLength = len(SignInPrefix) + 43 // 256 bits in base64

// LooksLikeSignIn says whether text has the form of such a token.
func LooksLikeSignIn(text string) bool {
	return len(text) == signInLength && strings.HasPrefix(text, SignInPrefix)
}

// SignInHash is what the database has of an access token, and of the codes before it.
func SignInHash(text string) string {
	d := signInDigest(text)
	return hex.EncodeToString(d[:])
}

func signInDigest(text string) digest { return sha256.Sum256([]byte(text)) }

func (k *Keys) querySignIn(ctx context.Context, hash string, _ time.Time) (*cacheEntry, error) {
	found, err := k.store.SignInByHash(ctx, hash)
	if errors.Is(err, models.ErrNotFound) {
		return &cacheEntry{}, nil
	}
	if err != nil {
		return nil, err
	}
	until := found.ExpiresAt
	if subtle.ConstantTimeCompare([]byte(found.Hash), []byte(hash)) != 1 {
		if subtle.ConstantTimeCompare([]byte(found.PreviousHash), []byte(hash)) != 1 {
			return nil, errOtherKey
		}
		until = found.PreviousExpiresAt
	}
	if !found.Valid() {
		return &cacheEntry{}, nil
	}
	c := &Caller{
		UserID: found.UserID, TeamID: found.TeamID, SignIn: found.ID, Unverified: found.User.VerifiedAt == 0,
		Levels: models.Levels{userLevel(found.UserID, found.User.Limits, k.userDefaults)},
	}
	if found.TeamID != "" {
		c.Levels = append(c.Levels, teamLevel(found.TeamID, &found.Team))
	}
	return &cacheEntry{caller: c, until: until, use: &lastUse{}}, nil
}

// EndSignIn removes the access tokens of a sign-in that has ended from the cache, here and on other replicas.
func (k *Keys) EndSignIn(ctx context.Context, s *models.SignIn) {
	k.invalidate(ctx, s.ID, s.Hash, s.PreviousHash)
}

// signInEnded is the error for an access token that is over, or whose sign-in has ended.
func signInEnded(over bool) error {
	if over {
		return api.Unauthorized(api.CodeTokenExpired, "the access token has expired: refresh it, or sign in again")
	}
	return api.Unauthorized(api.CodeInvalidToken, "the sign-in has ended: sign in again")
}
