package models_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"modelgateway/models"
)

func act(id string) *models.Audit {
	return &models.Audit{ID: id, At: 1, ActorID: "root", ActorEmail: "root@x.com", Action: "a", Target: "t", Detail: "{}", RequestID: "r", Address: "1.2.3.4"}
}

func audited(t *testing.T, store *models.Store) []models.Audit {
	t.Helper()
	rows, err := store.Audit(t.Context(), models.AuditFilter{}, models.Page{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestTheAuditCannotBeChangedOrRemoved(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		people(t, store, "ada")
		if _, err := store.ChangeUser(t.Context(), "ada", func(u *models.User) (*models.Audit, error) { u.DisabledAt = 5; return act("a1"), nil }); err != nil {
			t.Fatal(err)
		}
		before := audited(t, store)
		if len(before) != 1 || before[0] != *act("a1") {
			t.Fatalf("%+v", before)
		}
		db := behind(t, address)
		changes := []string{"UPDATE audit SET detail = ''", "UPDATE audit SET at = 2 WHERE id = 'a1'", "DELETE FROM audit", "DELETE FROM audit WHERE id = 'a1'"}
		if !strings.HasPrefix(address, "sqlite:") {
			changes = append(changes, "TRUNCATE audit")
		}
		for _, change := range changes {
			if _, err := db.ExecContext(t.Context(), change); err == nil || !strings.Contains(err.Error(), "append-only") {
				t.Errorf("%s: %v", change, err)
			}
		}
		if after := audited(t, store); len(after) != 1 || after[0] != before[0] {
			t.Errorf("%+v", after)
		}
	})
}

// acts are everything that an administrator can do, each with the row that it
// is given, and a way to see whether it was done.
func acts(store *models.Store) map[string]func(t *testing.T, row *models.Audit, fault error) (done bool, err error) {
	return map[string]func(t *testing.T, row *models.Audit, fault error) (bool, error){
		"disable": func(t *testing.T, row *models.Audit, fault error) (bool, error) {
			_, err := store.ChangeUser(t.Context(), "ada", func(u *models.User) (*models.Audit, error) {
				u.DisabledAt = 9
				return row, fault
			})
			u, _ := store.User(t.Context(), "ada")
			return u.DisabledAt == 9, err
		},
		"limit": func(t *testing.T, row *models.Audit, fault error) (bool, error) {
			_, err := store.ChangeAnyKey(t.Context(), "bob1", func(k *models.Key) (*models.Audit, error) {
				k.RPMLimit = 9
				return row, fault
			})
			h, _ := store.KeyByHash(t.Context(), "hash-bob1")
			return h.RPMLimit == 9, err
		},
		"revoke": func(t *testing.T, row *models.Audit, fault error) (bool, error) {
			_, err := store.RevokeAnyKey(t.Context(), "cyd1", 9, func(_, _ *models.Key) (*models.Audit, error) { return row, fault })
			h, _ := store.KeyByHash(t.Context(), "hash-cyd1")
			return h.RevokedAt == 9, err
		},
	}
}

func TestThereIsNoActWithoutItsRowAndNoRowWithoutItsAct(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		people(t, store, "ada", "bob", "cyd", "dan")
		if _, err := store.ChangeAnyKey(t.Context(), "dan1", func(k *models.Key) (*models.Audit, error) { k.Name = "x"; return act("taken"), nil }); err != nil {
			t.Fatal(err)
		}
		before := revision(t, store)
		fault := errors.New("in between")
		for name, try := range acts(store) {
			if done, err := try(t, act(name), fault); done || !errors.Is(err, fault) {
				t.Errorf("%s that failed: done %t, %v", name, done, err)
			}
			if done, err := try(t, act("taken"), nil); done || !errors.Is(err, models.ErrTaken) {
				t.Errorf("%s whose row cannot be written: done %t, %v", name, done, err)
			}
		}
		db := behind(t, address)
		refuse, allow := refuseUpdates(address)
		for _, statement := range refuse {
			execute(t, db, statement)
		}
		for name, try := range acts(store) {
			if done, err := try(t, act(name), nil); done || err == nil {
				t.Errorf("%s that the database refuses: done %t, %v", name, done, err)
			}
		}
		for _, statement := range allow {
			execute(t, db, statement)
		}
		if rows := audited(t, store); len(rows) != 1 || revision(t, store) != before {
			t.Errorf("rows of what was not done: %+v", rows)
		}
		for name, try := range acts(store) {
			if done, err := try(t, act(name), nil); !done || err != nil {
				t.Errorf("%s: done %t, %v", name, done, err)
			}
		}
		if rows := audited(t, store); len(rows) != 4 {
			t.Errorf("%+v", rows)
		}
	})
}

// refuseUpdates makes the database refuse changes of users and keys, and lets
// them through again.
func refuseUpdates(address string) (refuse, allow []string) {
	for _, table := range []string{"users", "api_keys"} {
		if strings.HasPrefix(address, "sqlite:") {
			refuse = append(refuse, "CREATE TRIGGER no_"+table+" BEFORE UPDATE ON "+table+" BEGIN SELECT RAISE(ABORT, 'no'); END")
			allow = append(allow, "DROP TRIGGER no_"+table)
			continue
		}
		refuse = append(refuse, "CREATE TRIGGER no_"+table+" BEFORE UPDATE ON "+table+" FOR EACH ROW EXECUTE FUNCTION audit_is_kept()")
		allow = append(allow, "DROP TRIGGER no_"+table+" ON "+table)
	}
	return refuse, allow
}

func TestWhatIsNotThereIsNotChangedAndNotAudited(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		people(t, store, "ada")
		if _, err := store.RevokeKey(t.Context(), "ada", "ada2", 3); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"nope", "", "ada2"} {
			_, limitErr := store.ChangeAnyKey(t.Context(), id, func(*models.Key) (*models.Audit, error) { return act("x"), nil })
			_, ownErr := store.ChangeKey(t.Context(), "ada", id, func(k *models.Key) error { k.RPMLimit = 3; return nil })
			_, revokeErr := store.RevokeAnyKey(t.Context(), id, 9, func(_, _ *models.Key) (*models.Audit, error) { return act("x"), nil })
			_, userErr := store.ChangeUser(t.Context(), id, func(*models.User) (*models.Audit, error) { return act("x"), nil })
			for _, err := range []error{limitErr, ownErr, revokeErr, userErr} {
				if !errors.Is(err, models.ErrNotFound) {
					t.Errorf("%q: %v", id, err)
				}
			}
		}
		if _, err := store.ChangeKey(t.Context(), "bob", "ada1", func(*models.Key) error { t.Error("shown to another"); return nil }); !errors.Is(err, models.ErrNotFound) {
			t.Error(err)
		}
		if h, err := store.KeyByHash(t.Context(), "hash-ada2"); err != nil || h.RevokedAt != 3 || h.RPMLimit != 0 {
			t.Errorf("%+v, %v", h, err)
		}
		if rows := audited(t, store); len(rows) != 0 {
			t.Errorf("%+v", rows)
		}
	})
}

func TestEachLimitIsKeptAndCountsAndANameDoesNot(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		people(t, store, "ada")
		for what, change := range map[string]func(k *models.Key){
			"expiry": func(k *models.Key) { k.ExpiresAt = 4 }, "models": func(k *models.Key) { k.Models = "a,b" },
			"rpm": func(k *models.Key) { k.RPMLimit = 5 }, "tpm": func(k *models.Key) { k.TPMLimit = 6 },
			"parallel": func(k *models.Key) { k.MaxParallel = 7 }, "budget": func(k *models.Key) { k.Budget = 8 },
			"window": func(k *models.Key) { k.BudgetWindow = models.Week }, "name": func(k *models.Key) { k.Name = "m" },
			"by": func(k *models.Key) { k.LimitedBy = models.LimitedByAdmin }, "nothing": func(*models.Key) {},
		} {
			before := revision(t, store)
			want := models.Key{}
			changed, err := store.ChangeKey(t.Context(), "ada", "ada1", func(k *models.Key) error { change(k); want = *k; return nil })
			if err != nil || *changed != want {
				t.Fatalf("%s: %+v, %v", what, changed, err)
			}
			if h, err := store.KeyByHash(t.Context(), "hash-ada1"); err != nil || h.Key != want {
				t.Errorf("%s: kept is %+v, not %+v, %v", what, h, want, err)
			}
			counts := what != "name" && what != "by" && what != "nothing"
			if (revision(t, store) > before) != counts {
				t.Errorf("%s: counted is not %t", what, counts)
			}
		}
		if h, err := store.KeyByHash(t.Context(), "hash-ada2"); err != nil || h.Limits != (models.Limits{}) || h.Name != "n" {
			t.Errorf("another key was changed: %+v, %v", h, err)
		}
	})
}

// Changes read before they write: each has to see what the one before wrote,
// and none may wait for another that waits for it.
func TestChangesOfOneKeyAtOnceAreDoneOneAfterTheOther(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		first, second := migrated(t, address), migrated(t, address)
		people(t, first, "ada", "bob")
		const changes = 40
		var all sync.WaitGroup
		for i := range changes {
			store := []*models.Store{first, second}[i%2]
			all.Go(func() {
				_, err := store.ChangeKey(t.Context(), "ada", "ada1", func(k *models.Key) error { k.RPMLimit++; return nil })
				if err != nil {
					t.Error(err)
				}
			})
			all.Go(func() {
				_, err := store.ChangeUser(t.Context(), "ada", func(u *models.User) (*models.Audit, error) {
					u.DisabledAt++
					return act(fmt.Sprint("a", i)), nil
				})
				if err != nil {
					t.Error(err)
				}
			})
			if i%8 == 0 {
				all.Go(func() {
					if err := store.TouchKeys(t.Context(), map[string]int64{"ada1": int64(i), "bob1": int64(i)}); err != nil {
						t.Error(err)
					}
				})
			}
		}
		all.Wait()
		h, err := first.KeyByHash(t.Context(), "hash-ada1")
		if err != nil || h.RPMLimit != changes || h.UserDisabledAt != changes {
			t.Errorf("%+v, %v", h, err)
		}
		if rows := audited(t, first); len(rows) != changes {
			t.Errorf("%d rows", len(rows))
		}
	})
}

func TestAChangeAndARevocationAtOnceDoNotLockEachOtherOut(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		if err := store.CreateUser(t.Context(), user("ada")); err != nil {
			t.Fatal(err)
		}
		for i := range 30 {
			id := fmt.Sprint("k", i)
			if err := store.CreateKey(t.Context(), key(id, "ada", 1), 99); err != nil {
				t.Fatal(err)
			}
			var all sync.WaitGroup
			for range 3 {
				all.Go(func() {
					_, err := store.ChangeKey(t.Context(), "ada", id, func(k *models.Key) error { k.RPMLimit++; return nil })
					if err != nil && !errors.Is(err, models.ErrNotFound) {
						t.Error(err)
					}
				})
			}
			all.Go(func() {
				if _, err := store.RevokeKey(t.Context(), "ada", id, 5); err != nil {
					t.Error(err)
				}
			})
			all.Go(func() {
				_, err := store.ChangeUser(t.Context(), "ada", func(u *models.User) (*models.Audit, error) { u.DisabledAt++; return nil, nil })
				if err != nil {
					t.Error(err)
				}
			})
			all.Wait()
			if h, err := store.KeyByHash(t.Context(), "hash-"+id); err != nil || h.RevokedAt != 5 {
				t.Errorf("%+v, %v", h, err)
			}
		}
	})
}

func TestSpendOfKeysByWindow(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		now := time.Date(2026, 11, 25, 23, 59, 59, 0, time.UTC) // a Wednesday
		db := behind(t, address)
		for day, cost := range map[string]string{
			"2025-11-25": "1", "2026-10-31": "10", "2026-11-01": "100", "2026-11-22": "1000", "2026-11-23": "10000", "2026-11-24": "100000", "2026-11-25": "1000000",
		} {
			execute(t, db, "INSERT INTO spend (account, day, cost) VALUES ('key:a', '"+day+"', "+cost+"), ('gateway', '"+day+"', 7)")
		}
		execute(t, db, "INSERT INTO spend (account, day, cost) VALUES ('key:b', '2026-01-01', 5)")
		spent, err := store.KeySpend(t.Context(), []string{"a", "b", "c"}, now)
		want := models.Spend{Total: 1111111, Day: 1000000, Week: 1110000, Month: 1111100}
		if err != nil || spent["a"] != want || spent["b"] != (models.Spend{Total: 5}) || spent["c"] != (models.Spend{}) {
			t.Errorf("%+v, %v", spent, err)
		}
	})
}

func TestUnregisteredAddresses(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		people(t, store, "ada")
		free, err := store.Unregistered(t.Context(), []string{"z@x.com", "ada@x.com", "b@x.com"})
		if err != nil || strings.Join(free, " ") != "z@x.com b@x.com" {
			t.Errorf("%v, %v", free, err)
		}
	})
}
