package models_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver named pgx

	"modelgateway/models"
	"modelgateway/models/servertest"
)

// each runs a test on both kinds of storage, on an empty database.
func each(t *testing.T, test func(t *testing.T, address string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, "sqlite:"+filepath.Join(t.TempDir(), "sub", "gateway.db")) })
	t.Run("postgres", func(t *testing.T) { test(t, servertest.Postgres(t)) })
}

func open(t *testing.T, address string) *models.Store {
	t.Helper()
	store, err := models.Open(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

func migrated(t *testing.T, address string) *models.Store {
	t.Helper()
	store := open(t, address)
	if err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return store
}

func user(id string) *models.User {
	return &models.User{ID: id, Email: id + "@x.com", Name: "n", PasswordHash: "h", CreatedAt: 5}
}

func key(id, userID string, at int64) *models.Key {
	return &models.Key{ID: id, UserID: userID, Name: "n", Hash: "hash-" + id, Prefix: "mgw_abcd", CreatedAt: at}
}

func TestUsers(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		ctx := t.Context()
		if err := store.CreateUser(ctx, user("u1")); err != nil {
			t.Fatal(err)
		}
		twin := user("u2")
		twin.Email = "u1@x.com"
		if err := store.CreateUser(ctx, twin); !errors.Is(err, models.ErrTaken) {
			t.Errorf("the same address twice: %v", err)
		}
		for _, found := range []func() (*models.User, error){
			func() (*models.User, error) { return store.User(ctx, "u1") },
			func() (*models.User, error) { return store.UserByEmail(ctx, "u1@x.com") },
		} {
			if u, err := found(); err != nil || *u != *user("u1") {
				t.Errorf("%+v, %v", u, err)
			}
		}
		for _, missing := range []func() (*models.User, error){
			func() (*models.User, error) { return store.User(ctx, "") },
			func() (*models.User, error) { return store.User(ctx, "1=1") },
			func() (*models.User, error) { return store.UserByEmail(ctx, "") },
			func() (*models.User, error) { return store.UserByEmail(ctx, "U1@x.com") },
			func() (*models.User, error) { return store.UserByIdentity(ctx, "i", "s") },
		} {
			if u, err := missing(); !errors.Is(err, models.ErrNotFound) {
				t.Errorf("%+v, %v", u, err)
			}
		}
	})
}

func TestIdentities(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		ctx := t.Context()
		if err := store.CreateUserWithIdentity(ctx, user("u1"), &models.Identity{Issuer: "i", Subject: "s", UserID: "u1", CreatedAt: 1}); err != nil {
			t.Fatal(err)
		}
		if u, err := store.UserByIdentity(ctx, "i", "s"); err != nil || u.ID != "u1" {
			t.Errorf("%+v, %v", u, err)
		}
		err := store.CreateUserWithIdentity(ctx, user("u2"), &models.Identity{Issuer: "i", Subject: "s", UserID: "u2"})
		if !errors.Is(err, models.ErrTaken) {
			t.Errorf("the same identity twice: %v", err)
		}
		if _, err := store.User(ctx, "u2"); !errors.Is(err, models.ErrNotFound) {
			t.Errorf("half of it was kept: %v", err)
		}
	})
}

func TestKeys(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		ctx := t.Context()
		for _, id := range []string{"u1", "u2"} {
			if err := store.CreateUser(ctx, user(id)); err != nil {
				t.Fatal(err)
			}
		}
		for i, id := range []string{"k1", "k2", "k3"} {
			if err := store.CreateKey(ctx, key(id, "u1", int64(i)), 3); err != nil {
				t.Fatal(err)
			}
		}
		if err := store.CreateKey(ctx, key("k4", "u1", 9), 3); !errors.Is(err, models.ErrTooMany) {
			t.Errorf("beyond the limit: %v", err)
		}
		if err := store.CreateKey(ctx, key("k5", "nobody", 9), 3); !errors.Is(err, models.ErrNotFound) {
			t.Errorf("a key of nobody: %v", err)
		}
		keys, err := store.Keys(ctx, "u1")
		if err != nil || len(keys) != 3 || keys[0].ID != "k3" || keys[2].ID != "k1" {
			t.Errorf("%+v, %v", keys, err)
		}
		for _, tt := range []struct{ user, id string }{{"u2", "k1"}, {"u1", "nope"}, {"", "k1"}} {
			if _, err := store.RevokeKey(ctx, tt.user, tt.id, 7); !errors.Is(err, models.ErrNotFound) {
				t.Errorf("revoke %+v: %v", tt, err)
			}
		}
		if k, err := store.RevokeKey(ctx, "u1", "k1", 7); err != nil || k.Hash != "hash-k1" {
			t.Errorf("%+v, %v", k, err)
		}
		if _, err := store.RevokeKey(ctx, "u1", "k1", 8); !errors.Is(err, models.ErrNotFound) {
			t.Errorf("revoked twice: %v", err)
		}
		if h, err := store.KeyByHash(ctx, "hash-k1"); err != nil || h.RevokedAt != 7 || h.UserID != "u1" || h.UserDisabledAt != 0 {
			t.Errorf("%+v, %v", h, err)
		}
		if err := store.TouchKeys(ctx, map[string]int64{"k2": 50, "nope": 1}); err != nil {
			t.Error(err)
		}
		if err := store.TouchKeys(ctx, map[string]int64{"k2": 40}); err != nil {
			t.Error(err)
		}
		if h, err := store.KeyByHash(ctx, "hash-k2"); err != nil || h.LastUsedAt != 50 {
			t.Errorf("%+v, %v", h, err)
		}
	})
}

func TestTheLimitOfKeysIsExactUnderParallelCreates(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		first, second := migrated(t, address), migrated(t, address)
		if err := first.CreateUser(t.Context(), user("u")); err != nil {
			t.Fatal(err)
		}
		const limit = 10
		var made atomic.Int32
		var all sync.WaitGroup
		for i := range 30 {
			store := []*models.Store{first, second}[i%2]
			all.Go(func() {
				err := store.CreateKey(t.Context(), key(fmt.Sprint("k", i), "u", 1), limit)
				if err == nil {
					made.Add(1)
				} else if !errors.Is(err, models.ErrTooMany) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if made.Load() != limit {
			t.Errorf("%d keys, want %d", made.Load(), limit)
		}
	})
}

func TestO4AFrozenPostgresCostsNoMoreThanItsDeadline(t *testing.T) {
	server := servertest.StartPostgres(t)
	store := migrated(t, server.URL)
	server.Freeze()
	began := time.Now()
	_, err := store.User(t.Context(), "u")
	if took := time.Since(began); err == nil || took > 4*time.Second {
		t.Errorf("%s: %v", took, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	began = time.Now()
	if err := store.Probe(ctx); err == nil || time.Since(began) > 2*time.Second {
		t.Errorf("a probe: %v after %s", err, time.Since(began))
	}
	server.Thaw()
	recovered(t, store)
}

func TestO3PostgresThatRestartsIsUsedAgain(t *testing.T) {
	server := servertest.StartPostgres(t)
	store := migrated(t, server.URL)
	if err := store.CreateUser(t.Context(), user("u")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		server.Kill()
		if _, err := store.User(t.Context(), "u"); err == nil || errors.Is(err, models.ErrNotFound) {
			t.Errorf("gone: %v", err)
		}
		server.Restart()
		recovered(t, store)
		if _, err := store.User(t.Context(), "u"); err != nil {
			t.Error(err)
		}
	}
}

// recovered waits until the database answers again, at most five seconds.
func recovered(t *testing.T, store *models.Store) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for store.Probe(t.Context()) != nil {
		if time.Now().After(deadline) {
			t.Fatal("not back within 5 s")
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func TestO7AnEmbeddedFileThatCannotBeWrittenIsNoDatabase(t *testing.T) {
	if _, err := models.Open("sqlite:/proc/nope/gateway.db"); err == nil {
		t.Error("opened")
	}
}
