package auth

import (
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"modelgateway/api"
	"modelgateway/internal/panics"
	"modelgateway/models"
)

const (
	// How many look-ups query the database at once. Keys that were valid lately have a
	// limit of their own: under a flood of unknown keys they were refused with 503 else.
	knownLookups   = 8
	unknownLookups = 4
)

// credential is what a text is by its form.
type credential int

const (
	ownKey credential = iota
	signInToken
	liteLLMKey
)

// invalidKey answers for every rejected key, so that no answer shows the reason.
func invalidKey() error {
	return api.Unauthorized(api.CodeInvalidAPIKey, "the API key is not valid: it is unknown, revoked or mistyped")
}

// notOurKey is the error for a text that cannot be a key of the gateway.
func notOurKey(text string) error {
	for _, vendor := range []string{"sk-", "AIza", "gsk_", "xai-"} {
		if strings.HasPrefix(text, vendor) {
			return api.Unauthorized(api.CodeInvalidAPIKey,
				"this is not a key of this gateway, whose keys begin with "+keyPrefix+", but may be one of a provider")
		}
	}
	return invalidKey()
}

// Authenticate returns the caller with the live key of this text, without an address.
// It must not be changed: other requests share it. An invalid key is a 401, the same
// for every reason but expiry, with the caller whose it was, or nil for an unknown one; a
// database that cannot be queried is a 503. A cached answer is used for less than a second
// after its query, or after the last poll that proved that nothing has changed.
func (k *Keys) Authenticate(ctx context.Context, text string) (*Caller, error) {
	var d digest
	var kind credential
	switch {
	case LooksLikeSignIn(text):
		d, kind = signInDigest(text), signInToken
	case LooksLikeKey(text):
		d = keyDigest(text)
	case LooksLikeLiteLLM(text):
		there, err := k.TakenOver(ctx)
		if err != nil {
			return nil, api.Unavailable(fmt.Errorf("look up takeovers: %w", err))
		}
		if !there {
			return nil, notOurKey(text)
		}
		d, kind = liteLLMDigest(text), liteLLMKey
	default:
		return nil, notOurKey(text)
	}
	now := k.now()
	entry := k.cache.find(d, now)
	if entry == nil {
		var err error
		if entry, err = k.lookUp(ctx, d, kind); err != nil {
			return nil, api.Unavailable(fmt.Errorf("look up key: %w", err))
		}
	}
	over := entry.until != 0 && now.UnixMicro() >= entry.until
	switch {
	case (entry.caller == nil || over) && kind == signInToken:
		return entry.caller, signInEnded(over)
	case entry.caller == nil || over:
		return cmp.Or(entry.caller, entry.rejected), invalidKey()
	}
	if err := entry.caller.expired(now); err != nil {
		return entry.caller, err
	}
	entry.use.at.Store(now.UnixMicro())
	return entry.caller, nil
}

// lookUp queries the database, once for all callers at the same time, unless the cache has a
// fresh entry by now.
func (k *Keys) lookUp(ctx context.Context, d digest, kind credential) (*cacheEntry, error) {
	leads := false // written before the result is sent
	result := k.cache.group.DoChan(string(d[:]), func() (any, error) {
		leads = true
		return k.load(ctx, d, kind)
	})
	select {
	case r := <-result:
		if moved, ok := errors.AsType[*panics.Moved](r.Err); ok && leads {
			panic(moved)
		}
		if r.Err != nil {
			return nil, r.Err
		}
		return r.Val.(*cacheEntry), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// load queries the database and caches the answer. Other callers wait for it
// too, so it does not end with the request that started it. Its panic is an error:
// singleflight would end the process. lookUp raises it again for the caller that
// started the query.
func (k *Keys) load(ctx context.Context, d digest, kind credential) (entry *cacheEntry, err error) {
	if e := k.cache.find(d, k.now()); e != nil {
		return e, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keyTTL)
	defer cancel()
	number := k.cache.begin(d)
	defer func() {
		if v := recover(); v != nil {
			entry, err = nil, fmt.Errorf("the look-up panicked: %w", panics.Move(v))
		}
		k.cache.finish(d, number, entry)
	}()
	limit := k.unknown
	if k.cache.valid.Contains(d) {
		limit = k.known
	}
	if err := limit.Acquire(ctx, 1); err != nil {
		return nil, fmt.Errorf("wait for other look-ups: %w", err)
	}
	defer limit.Release(1)
	revision, _ := k.cache.revisions.Current() // before the query: see Revisions
	queriedAt := k.now()
	query, hash := k.query, hex.EncodeToString(d[:])
	switch kind {
	case signInToken:
		query = k.querySignIn
	case liteLLMKey:
		hash = models.LiteLLMHash + hash
	}
	entry, err = query(ctx, hash, queriedAt)
	if err == nil {
		entry.queriedAt = queriedAt
		if entry.caller != nil {
			entry.revision = revision
		}
	}
	return entry, err
}

func (k *Keys) query(ctx context.Context, hash string, now time.Time) (*cacheEntry, error) {
	found, err := k.keyByHash(ctx, hash)
	if errors.Is(err, models.ErrNotFound) {
		return &cacheEntry{}, nil
	}
	if err != nil {
		return nil, err
	}
	until := int64(0)
	if subtle.ConstantTimeCompare([]byte(found.Hash), []byte(hash)) != 1 {
		if subtle.ConstantTimeCompare([]byte(found.PreviousHash), []byte(hash)) != 1 {
			return nil, errOtherKey
		}
		until = found.PreviousExpiresAt
	}
	caller, valid := callerOfKey(found, k.userDefaults)
	if !valid {
		return &cacheEntry{rejected: caller}, nil
	}
	return &cacheEntry{caller: caller, until: until, use: k.uses.of(found.ID, now)}, nil
}

// errOtherKey is a fault of the database or of the connection to it, never of
// the caller.
var errOtherKey = errors.New("the database answered for another key")
