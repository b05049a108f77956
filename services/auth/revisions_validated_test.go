package auth

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/models"
)

// oneByOne is Keys and Tokens over rows that the test holds, and a clock of
// its own: nothing happens beside the test.
type oneByOne struct {
	*counter
	revisions *Revisions
	keys      *Keys
	tokens    *Tokens

	dead       bool // what the rows say
	asked      int
	midAnswer  func() // after the row was read
	key, token string
}

func newOneByOne(t *testing.T) *oneByOne {
	t.Helper()
	o := &oneByOne{counter: &counter{clock: clock{november}}}
	o.revisions = o.counter.revisions()
	h := sqliteKeys(t)
	o.keys = NewKeys(KeyOptions{Store: h.Store, Log: slog.New(slog.DiscardHandler), Now: o.now, Revisions: o.revisions})
	o.tokens = NewTokens(TokenOptions{
		Secret: []byte(
			"the secret of this very gateway!",
		), Expiry: time.Hour, Issuer: testIssuer, Store: h.Store, Now: o.now, Revisions: o.revisions,
	})
	_, o.key = createKey(t, o.keys, "ada")
	keyByHash, user := o.keys.keyByHash, o.tokens.user
	o.keys.keyByHash = func(ctx context.Context, hash string) (*models.KeyWithOwners, error) {
		holder, err := keyByHash(ctx, hash)
		if o.dead {
			holder.RevokedAt = 1
		}
		return holder, errors.Join(err, o.answering())
	}
	o.tokens.user = func(ctx context.Context, id string) (*models.TokenUser, error) {
		u, err := user(ctx, id)
		if o.dead {
			u.DisabledAt = 1
		}
		return u, errors.Join(err, o.answering())
	}
	u, err := h.Store.User(t.Context(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	o.token = mustIssue(t, o.tokens, u)
	return o
}

func mustIssue(t testing.TB, tokens *Tokens, u *models.User) string {
	t.Helper()
	token, err := tokens.Issue(u)
	if err != nil {
		t.Fatal(err)
	}
	return token.Text
}

func (o *oneByOne) answering() error {
	o.asked++
	if o.midAnswer != nil {
		o.midAnswer()
	}
	return o.err
}

func (o *oneByOne) change() { o.dead, o.n = true, o.n+1 }

// eachCache runs a test on both caches; try is a request.
func eachCache(t *testing.T, test func(t *testing.T, o *oneByOne, try func() error)) {
	t.Helper()
	t.Run("key", func(t *testing.T) {
		o := newOneByOne(t)
		test(t, o, func() error { _, err := o.keys.Authenticate(t.Context(), o.key); return err })
	})
	t.Run("token", func(t *testing.T) {
		o := newOneByOne(t)
		test(t, o, func() error { _, err := o.tokens.Verify(t.Context(), o.token); return err })
	})
}

func refused(err error) bool {
	return err != nil && api.AsError(err).Status == http.StatusUnauthorized
}

func unavailable(err error) bool {
	return err != nil && api.AsError(err).Status == http.StatusServiceUnavailable
}

func TestAnEntryThatPollsValidateIsNotQueriedAgain(t *testing.T) {
	eachCache(t, func(t *testing.T, o *oneByOne, try func() error) {
		o.revisions.poll(t.Context())
		for range 150 { // 45 s
			if err := try(); err != nil {
				t.Fatal(err)
			}
			o.later(revisionInterval)
			o.revisions.poll(t.Context())
		}
		if o.asked != 1 {
			t.Errorf("asked %d times", o.asked)
		}
		o.change()
		o.later(revisionInterval)
		o.revisions.poll(t.Context())
		if err := try(); !refused(err) {
			t.Errorf("a poll after the change: %v", err)
		}
	})
}

func TestWithoutPollsAnEntryEndsWithItsTTL(t *testing.T) {
	eachCache(t, func(t *testing.T, o *oneByOne, try func() error) {
		o.revisions.poll(t.Context())
		if err := try(); err != nil {
			t.Fatal(err)
		}
		o.later(keyTTL - time.Millisecond)
		o.revisions.poll(t.Context())
		o.err = errors.New("down")
		o.later(keyTTL - time.Millisecond)
		o.revisions.poll(t.Context())
		if err := try(); err != nil || o.asked != 1 {
			t.Errorf("just before: %v; asked %d times", err, o.asked)
		}
		o.later(time.Millisecond)
		if err := try(); !unavailable(err) {
			t.Errorf("afterwards: %v", err)
		}
		o.err = nil
		if err := try(); err != nil {
			t.Errorf("with the database back: %v", err)
		}
	})
}

// The row was read before the change, and its answer comes after the poll that
// has seen the change.
func TestAChangeBetweenQueryAndAnswerIsNotMissed(t *testing.T) {
	eachCache(t, func(t *testing.T, o *oneByOne, try func() error) {
		o.revisions.poll(t.Context())
		o.later(10 * time.Millisecond)
		o.midAnswer = func() {
			o.midAnswer = nil
			o.change()
			o.later(10 * time.Millisecond)
			o.revisions.poll(t.Context())
			o.later(revisionInterval)
		}
		if err := try(); err != nil {
			t.Fatalf("what was true when it was asked: %v", err)
		}
		for range 2 {
			o.later(revisionInterval)
			o.revisions.poll(t.Context())
		}
		if err := try(); !refused(err) {
			t.Errorf("a TTL later: %v", err)
		}
	})
}

// The poll was answered before the change, and is heard of after it.
func TestAChangeDuringAPollIsNotMissed(t *testing.T) {
	eachCache(t, func(t *testing.T, o *oneByOne, try func() error) {
		o.revisions.poll(t.Context())
		if err := try(); err != nil {
			t.Fatal(err)
		}
		o.later(revisionInterval)
		o.during = func() {
			o.during = nil
			o.change()
			o.later(800 * time.Millisecond)
		}
		o.revisions.poll(t.Context())
		o.later(100 * time.Millisecond)
		if err := try(); !refused(err) {
			t.Errorf("a TTL after the change: %v", err)
		}
	})
}

func TestARejectionIsQueriedAgainWithAnyRevision(t *testing.T) {
	eachCache(t, func(t *testing.T, o *oneByOne, try func() error) {
		o.dead = true
		o.revisions.poll(t.Context())
		if err := try(); !refused(err) {
			t.Fatal(err)
		}
		o.dead = false // as a row that is new: nothing counts it
		for range 3 {
			o.later(revisionInterval)
			o.revisions.poll(t.Context())
		}
		if err := try(); err != nil {
			t.Errorf("a TTL later: %v", err)
		}
	})
}

func TestAKeyInSteadyUseStaysCachedWithItsUses(t *testing.T) {
	o := newOneByOne(t)
	_, idle := createKey(t, o.keys, "ada")
	if !keyOpens(o.keys, idle) {
		t.Fatal("a new key opens nothing")
	}
	o.asked = 0
	o.revisions.poll(t.Context())
	if !keyOpens(o.keys, o.key) {
		t.Fatal("a new key opens nothing")
	}
	first := o.keys.cache.find(keyDigest(o.key), o.at)
	for range 3 * int(keyIdleTTL/flushEvery) {
		for range int(flushEvery / revisionInterval) {
			o.later(revisionInterval)
			o.revisions.poll(t.Context())
		}
		if !keyOpens(o.keys, o.key) {
			t.Fatal("refused")
		}
		o.keys.cache.sweep(o.at)
		if ids := o.keys.uses.unwritten(o.at); !slices.Contains(ids, first.caller.KeyID) {
			t.Fatal("a use is lost")
		}
		o.keys.uses.markWritten(map[string]int64{first.caller.KeyID: o.at.UnixMicro()})
		o.keys.uses.unwritten(o.at)
	}
	if good, _ := cachedCount(o.keys); o.asked != 1 || good != 1 {
		t.Errorf("asked %d times; %d keys in memory", o.asked, good)
	}
	for range int(keyIdleTTL/flushEvery) + 1 {
		o.later(flushEvery)
		o.keys.cache.sweep(o.at)
	}
	if good, _ := cachedCount(o.keys); good != 0 {
		t.Error("still in memory a minute after its last use")
	}
}

func TestAFullCacheEvictsTheKeyThatWasNotUsedForLongest(t *testing.T) {
	c := newKeyCache(nil)
	add := func(n uint32) {
		var d digest
		binary.BigEndian.PutUint32(d[:], n)
		c.finish(d, c.begin(d), &cacheEntry{queriedAt: november, caller: &Caller{}, use: &lastUse{}})
	}
	for n := range uint32(cachedKeys) {
		add(n)
	}
	used, idle := digest{}, digest{0, 0, 0, 1}
	if c.find(used, november) == nil {
		t.Fatal("the first key is not in the cache")
	}
	add(cachedKeys)
	if !c.valid.Contains(used) || c.valid.Contains(idle) || c.valid.Len() != cachedKeys {
		t.Errorf("the key in use is kept: %v; the idle one: %v; %d entries", c.valid.Contains(used), c.valid.Contains(idle), c.valid.Len())
	}
}
