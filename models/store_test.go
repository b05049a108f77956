package models_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver named pgx

	"modelgateway/models"
	"modelgateway/tests/longtest"
	"modelgateway/tests/servertest"
)

// Files of early releases were readable by all.
func TestADatabaseIsReadByItsOwnerOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gateway.db")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	migrated(t, "sqlite:"+path)
	if about, err := os.Stat(path); err != nil || about.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", about, err)
	}
}

func TestUsersAreFoundByIDAndAddress(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
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

func TestUsersAreFoundByIdentity(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		ctx := t.Context()
		identity := &models.Identity{Issuer: "i", Subject: "s", UserID: "u1", CreatedAt: 1}
		if err := store.CreateUserWithIdentity(ctx, user("u1"), identity); err != nil {
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
			t.Errorf("the user was kept without the identity: %v", err)
		}
	})
}

func TestKeysAreCreatedListedAndRevoked(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
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
			t.Errorf("a key beyond the limit: %v", err)
		}
		if err := store.CreateKey(ctx, key("k5", "unknown", 9), 3); !errors.Is(err, models.ErrNotFound) {
			t.Errorf("a key without a user: %v", err)
		}
		keys, err := store.AllKeys(ctx, models.KeyFilter{UserID: "u1"}, models.Page{Limit: 100})
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
		if h, err := store.KeyByHash(ctx, "hash-k1"); err != nil || h.RevokedAt != 7 || h.UserID != "u1" || h.User.DisabledAt != 0 {
			t.Errorf("%+v, %v", h, err)
		}
		if err := store.TouchKeys(ctx, map[string]int64{"k2": 50, "nope": 1}); err != nil {
			t.Error(err)
		}
		if err := store.TouchKeys(ctx, map[string]int64{"k2": 40}); err != nil {
			t.Error(err)
		}
		if keys, err := store.AllKeys(ctx, models.KeyFilter{UserID: "u1"}, models.Page{Limit: 100}); err != nil || len(keys) != 2 || keys[1].LastUsedAt != 50 {
			t.Errorf("%+v, %v", keys, err)
		}
	})
}

func TestTheLimitOfKeysIsExactUnderConcurrentCreates(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
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

func TestAFrozenPostgresDelaysAQueryOnlyUntilItsTimeout(t *testing.T) {
	server := servertest.StartPostgres(t)
	store := migrated(t, server.URL)
	server.Freeze()
	began, late := time.Now(), longtest.Lateness(t)
	_, err := store.User(t.Context(), "u")
	if took := time.Since(began); err == nil || took > 4*time.Second+late() {
		t.Errorf("%s: %v", took, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	began, late = time.Now(), longtest.Lateness(t)
	if err := store.Probe(ctx); err == nil || time.Since(began) > 2*time.Second+late() {
		t.Errorf("a probe: %v after %s", err, time.Since(began))
	}
	server.Thaw()
	waitForDatabase(t, store)
}

func TestAnAddressWithAStatementTimeoutBoundsItsQueries(t *testing.T) {
	server := servertest.StartPostgres(t)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	migrated(t, u.String()) // without the timeout: on a busy machine a migration may take longer
	u.RawQuery += "&statement_timeout=200"
	store := open(t, u.String())
	for range 20 { // until it has a connection: the timeout holds for this query as well
		if _, err = store.User(t.Context(), "u"); errors.Is(err, models.ErrNotFound) {
			break
		}
	}
	if !errors.Is(err, models.ErrNotFound) {
		t.Fatal(err)
	}
	server.Freeze()
	defer server.Thaw()
	began, late := time.Now(), longtest.Lateness(t)
	if _, err := store.User(t.Context(), "u"); err == nil || time.Since(began) > 1500*time.Millisecond+late() {
		t.Errorf("%v after %s", err, time.Since(began))
	}
}

func TestPostgresIsUsedAgainAfterARestart(t *testing.T) {
	server := servertest.StartPostgres(t)
	store := migrated(t, server.URL)
	if err := store.CreateUser(t.Context(), user("u")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		server.Kill()
		if _, err := store.User(t.Context(), "u"); err == nil || errors.Is(err, models.ErrNotFound) {
			t.Errorf("while it is stopped: %v", err)
		}
		server.Restart()
		waitForDatabase(t, store)
		if _, err := store.User(t.Context(), "u"); err != nil {
			t.Error(err)
		}
	}
}

// waitForDatabase waits until the database answers, at most five seconds.
func waitForDatabase(t *testing.T, store *models.Store) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for store.Probe(t.Context()) != nil {
		if time.Now().After(deadline) {
			t.Fatal("the database does not answer after 5 s")
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func TestOpenFailsWhenTheFolderCannotBeCreated(t *testing.T) {
	if _, err := models.Open("sqlite:/proc/nope/gateway.db"); err == nil {
		t.Error("opened a file in a folder that cannot be created")
	}
}
