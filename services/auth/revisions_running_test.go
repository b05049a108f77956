package auth

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/models"
	"modelgateway/tests/longtest"
	"modelgateway/tests/storetest"
)

// revisionReplica is a replica as it runs, that counts its questions.
type revisionReplica struct {
	keys       *Keys
	tokens     *Tokens
	keysAsked  countKeyQueries
	usersAsked atomic.Int64
}

func (h *keyDatabase) revisionReplica(t *testing.T) *revisionReplica {
	t.Helper()
	store := h.Open(t)
	revisions := runRevisions(t, NewRevisions(store, time.Now))
	r := &revisionReplica{
		keys: NewKeys(KeyOptions{Store: store, Log: slog.New(slog.DiscardHandler), Now: time.Now, Revisions: revisions}),
		tokens: NewTokens(TokenOptions{
			Secret: []byte(
				"the secret of this very gateway!",
			), Expiry: time.Hour, Issuer: testIssuer, Store: store, Now: time.Now, Revisions: revisions,
		}),
	}
	r.keysAsked.watch(r.keys)
	user := r.tokens.user
	r.tokens.user = func(ctx context.Context, id string) (*models.TokenUser, error) {
		r.usersAsked.Add(1)
		return user(ctx, id)
	}
	runKeys(t, r.keys)
	return r
}

// runRevisions runs until the test ends, and is waited for by it.
func runRevisions(t testing.TB, r *Revisions) *Revisions {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { r.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	storetest.Until(t, "a first poll", func() bool { n, _ := r.Current(); return n > 0 })
	return r
}

// visitor is a user with a key and a token.
type visitor struct {
	id, key, token string
	keyID          string
}

func (h *keyDatabase) visitor(t *testing.T, r *revisionReplica, id string) visitor {
	t.Helper()
	u := &models.User{ID: id, Email: id + "@example.com", Name: id, PasswordHash: "x", CreatedAt: 1}
	if err := h.Store.CreateUser(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	key, text := createKey(t, r.keys, id)
	return visitor{id: id, key: text, keyID: key.ID, token: mustIssue(t, r.tokens, u)}
}

func (r *revisionReplica) opens(v visitor) (key, token bool) {
	_, err := r.tokens.Verify(context.Background(), v.token)
	return keyOpens(r.keys, v.key), err == nil
}

// use makes requests for as long as it is told, all of which have to pass.
func (r *revisionReplica) use(t *testing.T, v visitor, long time.Duration) {
	t.Helper()
	for began := time.Now(); time.Since(began) < long; time.Sleep(time.Millisecond) {
		if key, token := r.opens(v); !key || !token {
			t.Fatalf("%s: the key opens: %v; the token: %v", v.id, key, token)
		}
	}
}

func TestAKeyAndATokenInUseAreQueriedOnce(t *testing.T) {
	t.Parallel()
	eachKeyDatabase(t, func(t *testing.T, h *keyDatabase) {
		r := h.revisionReplica(t)
		v := h.visitor(t, r, "eve")
		r.use(t, v, 5*time.Second)
		if keys, users := r.keysAsked.total.Load(), r.usersAsked.Load(); keys != 1 || users != 1 {
			t.Errorf("the key was asked for %d times, the user %d times", keys, users)
		}
	})
}

func TestTheEndOfAKeyOrATokenIsNoticedWithinASecond(t *testing.T) {
	t.Parallel()
	eachKeyDatabase(t, func(t *testing.T, h *keyDatabase) {
		r, elsewhere := h.revisionReplica(t), h.revisionReplica(t)
		query := func(statement string) func(v visitor) {
			return func(v visitor) { h.Query(t, statement+" = '"+v.id+"'") }
		}
		for _, tt := range []struct {
			name       string
			end        func(v visitor)
			key, token bool // goes on
		}{
			{"revoked", query("UPDATE api_keys SET revoked_at = 5 WHERE user_id"), false, true},
			{"revoked_elsewhere", func(v visitor) {
				if err := elsewhere.keys.Revoke(t.Context(), v.id, v.keyID); err != nil {
					t.Error(err)
				}
			}, false, true},
			{"key_deleted", query("DELETE FROM api_keys WHERE user_id"), false, true},
			{"disabled", query("UPDATE users SET disabled_at = 5 WHERE id"), false, false},
			{"deleted", query("DELETE FROM users WHERE id"), false, false},
			{"generation", query("UPDATE users SET generation = generation + 1 WHERE id"), true, false},
		} {
			v := h.visitor(t, r, tt.name)
			storetest.Until(t, "the polls go on", func() bool {
				_, asOf := r.keys.cache.revisions.Current()
				return time.Since(asOf) < revisionInterval
			})
			keys, users := r.keysAsked.total.Load(), r.usersAsked.Load()
			r.use(t, v, keyTTL+200*time.Millisecond)
			if r.keysAsked.total.Load() != keys+1 || r.usersAsked.Load() != users+1 {
				t.Errorf("%s: the revision did not keep the entry fresh", tt.name)
			}
			tt.end(v)
			ended, machine := time.Now(), longtest.Lateness(t)
			storetest.Until(t, tt.name, func() bool {
				key, token := r.opens(v)
				if tt.key && !key || tt.token && !token {
					t.Fatalf("%s: the key opens: %v; the token: %v", tt.name, key, token)
				}
				return key == tt.key && token == tt.token
			})
			late := time.Since(ended)
			if late > time.Second+slack+machine() {
				t.Errorf("%s: found out after %v", tt.name, late)
			}
			t.Logf("%s: found out after %v", tt.name, late)
		}
	})
}
