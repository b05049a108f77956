package models_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"modelgateway/models"
)

func invitation(id, team string) *models.OneTimeToken {
	return &models.OneTimeToken{
		ID: id, Hash: "hash-" + id, Purpose: models.PurposeInvite, TeamID: team, Role: models.RoleMember, CreatedAt: 1, ExpiresAt: 100,
	}
}

func invite(id string) models.TokenUse {
	return models.TokenUse{Hash: "hash-" + id, Purpose: models.PurposeInvite, At: 50}
}

func createToken(t *testing.T, store *models.Store, token *models.OneTimeToken, most int64) error {
	return store.Change(t.Context(), func(tx *models.Transaction) error { return tx.CreateOneTimeToken(token, most) })
}

func TestOneOfManyUsesOfATokenSucceeds(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		stores := []*models.Store{migrated(t, address), open(t, address)}
		db := rawDB(t, address)
		execute(t, db, "INSERT INTO teams (id, name, created_at) VALUES ('red', 'red', 1)")
		for round := range 5 {
			id := fmt.Sprint("t", round)
			if err := createToken(t, stores[0], invitation(id, "red"), 0); err != nil {
				t.Fatal(err)
			}
			var all sync.WaitGroup
			var used, refused atomic.Int64
			for i := range 10 {
				all.Go(func() {
					name := fmt.Sprint(id, "-", i)
					_, err := stores[i%2].UseOneTimeToken(t.Context(), invite(id), func(_ *models.OneTimeToken, u *models.User) (*models.Audit, error) {
						*u = *user(name)
						return nil, nil
					})
					switch {
					case err == nil:
						used.Add(1)
					case errors.Is(err, models.ErrNotFound):
						refused.Add(1)
					default:
						t.Error(err)
					}
				})
			}
			all.Wait()
			if used.Load() != 1 || refused.Load() != 9 {
				t.Errorf("%d used it, %d were refused", used.Load(), refused.Load())
			}
		}
		expect(t, db, map[string]int64{
			"SELECT COUNT(*) FROM users": 5, "SELECT COUNT(*) FROM team_members WHERE team_id = 'red' AND role = 'member'": 5,
		})
	})
}

func TestAUseThatFailsLeavesTheTokenValid(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		createUsers(t, store, "ada")
		if err := createToken(t, store, invitation("t", ""), 0); err != nil {
			t.Fatal(err)
		}
		fault := errors.New("no")
		as := func(name string, err error) func(*models.OneTimeToken, *models.User) (*models.Audit, error) {
			return func(_ *models.OneTimeToken, u *models.User) (*models.Audit, error) { *u = *user(name); return nil, err }
		}
		if _, err := store.UseOneTimeToken(t.Context(), invite("t"), as("bob", fault)); !errors.Is(err, fault) {
			t.Errorf("%v", err)
		}
		if _, err := store.UseOneTimeToken(t.Context(), invite("t"), as("ada", nil)); !errors.Is(err, models.ErrTaken) {
			t.Errorf("an address that is taken: %v", err)
		}
		late, other := invite("t"), invite("t")
		late.At, other.Purpose = 100, models.PurposeSetup
		for _, use := range []models.TokenUse{late, other, invite("u")} {
			if _, err := store.UseOneTimeToken(t.Context(), use, as("bob", nil)); !errors.Is(err, models.ErrNotFound) {
				t.Errorf("%+v: %v", use, err)
			}
		}
		if _, err := store.FindOneTimeToken(t.Context(), invite("t")); err != nil {
			t.Error(err)
		}
		if u, err := store.UseOneTimeToken(t.Context(), invite("t"), as("bob", nil)); err != nil || u.ID != "bob" {
			t.Errorf("%v", err)
		}
		if _, err := store.FindOneTimeToken(t.Context(), invite("t")); !errors.Is(err, models.ErrNotFound) {
			t.Errorf("after its use: %v", err)
		}
	})
}

func TestATokenOfATeamThatIsGoneIsNotValid(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		if err := createToken(t, store, invitation("t", "gone"), 0); err != nil {
			t.Fatal(err)
		}
		_, err := store.UseOneTimeToken(t.Context(), invite("t"), func(_ *models.OneTimeToken, u *models.User) (*models.Audit, error) {
			*u = *user("bob")
			return nil, nil
		})
		if !errors.Is(err, models.ErrNotFound) {
			t.Errorf("%v", err)
		}
	})
}

func TestANewPasswordEndsTheLinksThatResetIt(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		createUsers(t, store, "ada", "bob")
		for i, of := range []string{"ada", "ada", "bob"} {
			link := &models.OneTimeToken{
				ID: fmt.Sprint(i), Hash: fmt.Sprint(i), Purpose: models.PurposeReset, UserID: of, CreatedAt: 1, ExpiresAt: 100,
			}
			if err := createToken(t, store, link, 2); err != nil {
				t.Fatal(err)
			}
		}
		third := &models.OneTimeToken{ID: "3", Hash: "3", Purpose: models.PurposeReset, UserID: "ada", CreatedAt: 2, ExpiresAt: 100}
		if err := createToken(t, store, third, 2); !errors.Is(err, models.ErrTooMany) {
			t.Errorf("one too many: %v", err)
		}
		use := models.TokenUse{Hash: "0", Purpose: models.PurposeReset, At: 50}
		_, err := store.UseOneTimeToken(t.Context(), use, func(_ *models.OneTimeToken, u *models.User) (*models.Audit, error) {
			u.PasswordHash, u.Generation = "another", u.Generation+1
			return nil, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		expect(t, rawDB(t, address), map[string]int64{
			"SELECT COUNT(*) FROM one_time_tokens WHERE user_id = 'ada' AND used_at = 0":                        0,
			"SELECT COUNT(*) FROM one_time_tokens WHERE user_id = 'bob' AND used_at = 0":                        1,
			"SELECT generation FROM users WHERE id = 'ada' AND password_hash = 'another'":                       2,
			"SELECT generation FROM users WHERE id = 'bob' AND password_hash = 'h'":                             1,
			"SELECT COUNT(*) FROM one_time_tokens WHERE user_id = 'ada' AND used_at = 50 AND purpose = 'reset'": 1,
		})
	})
}

func TestReplicasThatStartTogetherHaveOneSetupToken(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		migrated(t, address)
		form := func(secret string) func(id string) (text, hash string) {
			return func(id string) (text, hash string) { return secret + id, "hash of " + secret + id }
		}
		var all sync.WaitGroup
		var mu sync.Mutex
		texts := map[string]int{}
		for range 5 {
			store := open(t, address)
			all.Go(func() {
				text, err := store.SetupToken(t.Context(), 1, 100, form("s"))
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				texts[text]++
			})
		}
		all.Wait()
		if len(texts) != 1 {
			t.Errorf("%v", texts)
		}
		store := open(t, address)
		other, err := store.SetupToken(t.Context(), 2, 100, form("another secret"))
		if err != nil || texts[other] != 0 {
			t.Errorf("%q %v", other, err)
		}
		expect(t, rawDB(t, address), map[string]int64{"SELECT COUNT(*) FROM one_time_tokens": 1})
		if late, err := store.SetupToken(t.Context(), 100, 200, form("another secret")); err != nil || late == other {
			t.Errorf("one that is over is given again: %v", err)
		}
	})
}

func TestAdministratorsAreEnabledAndNamedOrProven(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		db := rawDB(t, address)
		createUsers(t, store, "ada")
		for _, tt := range []struct {
			state string
			want  bool
		}{
			{"verified_at = 0", false},
			{"verified_at = 5", true},
			{"verified_at = 5, disabled_at = 5", false},
			{"verified_at = 0, disabled_at = 0, admin_at = 5", true},
			{"verified_at = 0, disabled_at = 5, admin_at = 5", false},
		} {
			execute(t, db, "UPDATE users SET "+tt.state)
			if got, err := store.HasAdministrator(t.Context(), []string{"ada@x.com"}); err != nil || got != tt.want {
				t.Errorf("%s: %v %v", tt.state, got, err)
			}
		}
		execute(t, db, "UPDATE users SET verified_at = 5, disabled_at = 0, admin_at = 0")
		if got, err := store.HasAdministrator(t.Context(), nil); err != nil || got {
			t.Errorf("without ADMIN_EMAILS: %v %v", got, err)
		}
		if n, err := store.Unproven(t.Context(), []string{"ada@x.com", "bob@x.com"}); err != nil || n != 1 {
			t.Errorf("%d %v", n, err)
		}
	})
}
