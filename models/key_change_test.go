package models_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"modelgateway/models"
)

func TestChangedLimitsAreStoredAndCountAsARevision(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		createUsers(t, store, "ada")
		changes := map[string]func(k *models.Key){
			"expiry": func(k *models.Key) { k.ExpiresAt = 4 }, "models": func(k *models.Key) { k.Models = "a,b" },
			"budget": func(k *models.Key) { k.Budget = 8 }, "window": func(k *models.Key) { k.BudgetWindow = models.Week },
			"name": func(k *models.Key) { k.Name = "m" }, "by": func(k *models.Key) { k.LimitedBy = models.LimitedByAdmin },
			"nothing": func(*models.Key) {},
		}
		for i, limit := range new(models.Numbers).All() {
			changes[limit.Name] = func(k *models.Key) { *k.Numbers.All()[i].Value = int64(1000 + i) }
		}
		for what, change := range changes {
			before := revision(t, store)
			want := models.Key{}
			changed, err := store.ChangeKey(t.Context(), "ada", "ada1", func(k *models.Key) error { change(k); want = *k; return nil })
			if err != nil || *changed != want {
				t.Fatalf("%s: %+v, %v", what, changed, err)
			}
			if h, err := stored(t, store, "ada", "ada1"); err != nil || h != want {
				t.Errorf("%s: stored is %+v, not %+v, %v", what, h, want, err)
			}
			counts := what != "name" && what != "by" && what != "nothing"
			if (revision(t, store) > before) != counts {
				t.Errorf("%s: counted as a revision is not %t", what, counts)
			}
		}
		for i, limit := range new(models.Numbers).All() {
			query := fmt.Sprintf("SELECT count(*) FROM api_keys WHERE id = 'ada1' AND %s = %d", limit.Column, 1000+i)
			expect(t, rawDB(t, address), map[string]int64{query: 1})
		}
		if h, err := stored(t, store, "ada", "ada2"); err != nil || h.Limits != (models.Limits{}) || h.Name != "n" {
			t.Errorf("another key was changed: %+v, %v", h, err)
		}
	})
}

// Changes read before they write: each must see what the one before wrote, and no
// two may deadlock.
func TestConcurrentChangesOfOneKeyAreSerialized(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		first, second := migrated(t, address), migrated(t, address)
		createUsers(t, first, "ada", "bob")
		const changes = 16 // all of which SQLite makes one after the other within the time of a statement
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
					return auditRow(fmt.Sprint("a", i)), nil
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
		if err != nil || h.RPMLimit != changes || h.User.DisabledAt != changes {
			t.Errorf("%+v, %v", h, err)
		}
		if rows := audited(t, first); len(rows) != changes {
			t.Errorf("%d rows", len(rows))
		}
	})
}

func TestConcurrentChangesAndRevocationsDoNotDeadlock(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
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
				_, err := store.ChangeUser(
					t.Context(), "ada", func(u *models.User) (*models.Audit, error) { u.DisabledAt++; return nil, nil },
				)
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
