package models_test

import (
	"errors"
	"strings"
	"testing"

	"modelgateway/models"
)

func auditRow(id string) *models.Audit {
	return &models.Audit{
		ID: id, At: 1, ActorID: "root", ActorEmail: "root@x.com", Action: "a", Target: "t", Detail: "{}", RequestID: "r", Address: "1.2.3.4",
	}
}

func audited(t *testing.T, store *models.Store) []models.Audit {
	t.Helper()
	found, err := store.Audit(t.Context(), models.AuditFilter{}, models.Page{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]models.Audit, len(found))
	for i := range found {
		rows[i] = found[i].Audit
	}
	return rows
}

func TestAuditRowsCannotBeChangedOrDeleted(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		createUsers(t, store, "ada")
		_, err := store.ChangeUser(t.Context(), "ada", func(u *models.User) (*models.Audit, error) {
			u.DisabledAt = 5
			return auditRow("a1"), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		before := audited(t, store)
		if len(before) != 1 || before[0] != *auditRow("a1") {
			t.Fatalf("%+v", before)
		}
		db := rawDB(t, address)
		changes := []string{
			"UPDATE audit SET detail = ''", "UPDATE audit SET at = 2 WHERE id = 'a1'", "DELETE FROM audit", "DELETE FROM audit WHERE id = 'a1'",
		}
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

// adminChanges are the changes that an administrator can make. Each gets the row
// and the error that its callback returns, and says whether the change was made.
func adminChanges(store *models.Store) map[string]func(t *testing.T, row *models.Audit, fault error) (done bool, err error) {
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

func TestAnAdministratorsChangeAndItsAuditRowAreOneTransaction(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		createUsers(t, store, "ada", "bob", "cyd", "dan")
		_, err := store.ChangeAnyKey(t.Context(), "dan1", func(k *models.Key) (*models.Audit, error) {
			k.Name = "x"
			return auditRow("taken"), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		before := revision(t, store)
		fault := errors.New("an error of the callback")
		for name, try := range adminChanges(store) {
			if done, err := try(t, auditRow(name), fault); done || !errors.Is(err, fault) {
				t.Errorf("%s whose callback fails: done %t, %v", name, done, err)
			}
			if done, err := try(t, auditRow("taken"), nil); done || !errors.Is(err, models.ErrTaken) {
				t.Errorf("%s whose audit row cannot be inserted: done %t, %v", name, done, err)
			}
		}
		db := rawDB(t, address)
		refuse, allow := refuseUpdates(address)
		for _, statement := range refuse {
			execute(t, db, statement)
		}
		for name, try := range adminChanges(store) {
			if done, err := try(t, auditRow(name), nil); done || err == nil {
				t.Errorf("%s whose update the database refuses: done %t, %v", name, done, err)
			}
		}
		for _, statement := range allow {
			execute(t, db, statement)
		}
		if rows := audited(t, store); len(rows) != 1 || revision(t, store) != before {
			t.Errorf("audit rows of failed changes: %+v", rows)
		}
		for name, try := range adminChanges(store) {
			if done, err := try(t, auditRow(name), nil); !done || err != nil {
				t.Errorf("%s: done %t, %v", name, done, err)
			}
		}
		if rows := audited(t, store); len(rows) != 4 {
			t.Errorf("%+v", rows)
		}
	})
}

// refuseUpdates are statements that make the database refuse updates of users and
// keys, and statements that end this.
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

func TestChangesOfUnknownKeysAndUsersFailWithoutAnAuditRow(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		createUsers(t, store, "ada")
		if _, err := store.RevokeKey(t.Context(), "ada", "ada2", 3); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"nope", "", "ada2"} {
			_, limitErr := store.ChangeAnyKey(t.Context(), id, func(*models.Key) (*models.Audit, error) { return auditRow("x"), nil })
			_, ownErr := store.ChangeKey(t.Context(), "ada", id, func(k *models.Key) error { k.RPMLimit = 3; return nil })
			_, revokeErr := store.RevokeAnyKey(
				t.Context(), id, 9, func(_, _ *models.Key) (*models.Audit, error) { return auditRow("x"), nil },
			)
			_, userErr := store.ChangeUser(t.Context(), id, func(*models.User) (*models.Audit, error) { return auditRow("x"), nil })
			for _, err := range []error{limitErr, ownErr, revokeErr, userErr} {
				if !errors.Is(err, models.ErrNotFound) {
					t.Errorf("%q: %v", id, err)
				}
			}
		}
		_, err := store.ChangeKey(t.Context(), "bob", "ada1", func(*models.Key) error {
			t.Error("another user's key was passed to the callback")
			return nil
		})
		if !errors.Is(err, models.ErrNotFound) {
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
