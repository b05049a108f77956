package auth

import (
	"context"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"modelgateway/models"
	"modelgateway/models/api"
)

const (
	// keyRefresh is how long ago a key in use was last known to be good when it
	// is asked for again, beside the requests, so that none of them waits for
	// the database. While Revisions can be had no key comes to that.
	keyRefresh = 600 * time.Millisecond

	// How many look-ups the database has to bear at once. Keys that were good
	// lately have lanes of their own, that a flood of unknown ones cannot block.
	lanesKnown   = 8
	lanesUnknown = 4

	keyRefreshers = lanesKnown / 2
	keysToRefresh = 1024

	// keyRefusalStep evens out how long a refusal takes: a row that is there
	// but revoked takes the longer to read.
	keyRefusalStep = 5 * time.Millisecond
)

// errWrongKey answers for every key that opens nothing, whatever the reason.
var errWrongKey = api.Unauthorized(api.CodeInvalidAPIKey, "the API key is not valid: it is unknown, revoked or mistyped")

// errExpiredKey answers for a key that has come to its end. Its holder may know:
// nobody guesses a key.
var errExpiredKey = api.Unauthorized(api.CodeKeyExpired, "the API key has expired")

// Authenticate is the live key of this text, which the caller must not change:
// others hold it too. Whatever is wrong with a key is the same 401, but that it
// has expired; a database that cannot be asked is a 503. A key is believed for less than a second
// after the database was asked, or has shown that nothing changed since.
func (k *Keys) Authenticate(ctx context.Context, text string) (*models.Key, error) {
	if !LooksLikeKey(text) {
		return nil, errWrongKey
	}
	d, now := keyDigest(text), k.now()
	found := k.cache.find(d, now)
	if found == nil {
		var err error
		if found, err = k.lookUp(ctx, d, now.Add(-keyLife)); err != nil {
			return nil, api.Unavailable(fmt.Errorf("look up key: %w", err))
		}
	}
	if found.key == nil {
		return nil, errWrongKey
	}
	if end := found.key.ExpiresAt; end != 0 && now.UnixMicro() >= end {
		return nil, errExpiredKey
	}
	found.use.at.Store(now.UnixMicro())
	if now.Sub(k.cache.goodAt(found)) > keyRefresh && !found.refreshing.Load() {
		k.refreshLater(d, found)
	}
	return found.key, nil
}

// lookUp asks the database, once for all who ask at the same time, unless
// there is an answer by now that was good after since.
func (k *Keys) lookUp(ctx context.Context, d digest, since time.Time) (*finding, error) {
	f, leads := k.cache.board(d, since)
	if leads {
		k.fly(ctx, d, f)
	}
	select {
	case <-f.done:
		return f.found, f.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// fly leads a flight. Others wait for it, so that it does not end with its
// leader's request.
func (k *Keys) fly(ctx context.Context, d digest, f *flight) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keyLife)
	defer cancel()
	f.err = errors.New("the look-up broke off") // for those who wait, should ask panic
	defer k.cache.land(d, f)
	f.found, f.err = k.ask(ctx, d, f.known)
	if f.err == nil && f.found.key == nil {
		took := k.now().Sub(f.found.asked)
		pause(ctx, keyRefusalStep-took%keyRefusalStep)
	}
}

// pause waits, unless ctx ends first.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func (k *Keys) ask(ctx context.Context, d digest, known bool) (*finding, error) {
	lane := k.unknown
	if known {
		lane = k.known
	}
	select {
	case lane <- struct{}{}:
		defer func() { <-lane }()
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for other look-ups: %w", ctx.Err())
	}
	revision, _ := k.cache.revisions.Known() // before the question: see Revisions
	asked := k.now()
	hash := hex.EncodeToString(d[:])
	holder, err := k.keyByHash(ctx, hash)
	if errors.Is(err, models.ErrNotFound) {
		return &finding{asked: asked}, nil
	}
	if err != nil {
		return nil, err
	}
	if subtle.ConstantTimeCompare([]byte(holder.Hash), []byte(hash)) != 1 {
		return nil, errOtherKey
	}
	if holder.RevokedAt != 0 || holder.UserDisabledAt != 0 {
		return &finding{asked: asked}, nil
	}
	return &finding{asked: asked, revision: revision, key: &holder.Key, use: k.uses.of(holder.ID, asked)}, nil
}

// errOtherKey is a fault of the database or of the way to it, never of the
// caller.
var errOtherKey = errors.New("the database answered for another key")

// refreshLater leaves a key to the refreshers. When they have too much to do
// it grows old, and a request will ask for it.
func (k *Keys) refreshLater(d digest, found *finding) {
	if !found.refreshing.CompareAndSwap(false, true) {
		return
	}
	select {
	case k.ageing <- d:
	default:
		found.refreshing.Store(false)
	}
}

// refresh asks for ageing keys again until ctx ends.
func (k *Keys) refresh(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case d := <-k.ageing:
			found, err := k.lookUp(ctx, d, k.now().Add(-keyRefresh))
			if err != nil {
				continue // for the requests to see, if it lasts
			}
			found.refreshing.Store(false) // a poll may have saved it the question
		}
	}
}
