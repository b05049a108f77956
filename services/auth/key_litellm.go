package auth

import (
	"context"
	"crypto/sha256"
	"strings"
)

// Keys that were taken over from LiteLLM have texts that its administrators could choose.
const (
	liteLLMPrefix   = "sk-"
	shortestLiteLLM = 16 // what is shorter could be guessed
	longestLiteLLM  = 512
)

// LooksLikeLiteLLM reports whether text has the form of a key of LiteLLM, which those of several providers have
// too. No key and no token of this gateway has it.
func LooksLikeLiteLLM(text string) bool {
	if len(text) < shortestLiteLLM || len(text) > longestLiteLLM || !strings.HasPrefix(text, liteLLMPrefix) {
		return false
	}
	for _, c := range []byte(text) {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return true
}

// liteLLMDigest is the SHA-256 of the whole text, as in LiteLLM's database. No other credential has the same digest: keys of this
// gateway are hashed without a prefix and have no hyphen, tokens of sign-ins begin with another prefix. So all of them share a cache.
func liteLLMDigest(text string) digest { return sha256.Sum256([]byte(text)) }

// TakenOver reports whether a takeover made keys. Run queries the database every second, so that no call waits but one
// before its first query.
func (k *Keys) TakenOver(ctx context.Context) (bool, error) {
	if known := k.takenOver.Load(); known != nil {
		return *known, nil
	}
	_, err, _ := k.cache.group.Do("takeovers", func() (any, error) { return nil, k.queryTakenOver(ctx) })
	if err != nil {
		return false, err
	}
	return *k.takenOver.Load(), nil
}

func (k *Keys) queryTakenOver(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keyTTL)
	defer cancel()
	found, err := k.store.KeysTakenOver(ctx)
	if err == nil {
		k.takenOver.Store(&found)
	}
	return err
}

// refreshTakenOver keeps the former answer while the database fails: look-ups report that themselves.
func (k *Keys) refreshTakenOver(ctx context.Context) { _ = k.queryTakenOver(ctx) }

// HasTakenOver is TakenOver as far as it is known: it never waits for the database.
func (k *Keys) HasTakenOver() bool {
	known := k.takenOver.Load()
	return known != nil && *known
}

// KnowsLiteLLM reports whether text is a key that was taken over from LiteLLM, valid or not.
func (k *Keys) KnowsLiteLLM(ctx context.Context, text string) bool {
	if !LooksLikeLiteLLM(text) {
		return false
	}
	caller, _ := k.Authenticate(ctx, text)
	return caller != nil
}
