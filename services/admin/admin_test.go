package admin

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"modelgateway/api"
	"modelgateway/api/limit"
	"modelgateway/models"
	"modelgateway/services/account"
	"modelgateway/services/auth"
	"modelgateway/tests/servertest"
	"modelgateway/tests/storetest"
)

// administered is a database in which ada is an administrator.
func administered(h *storetest.Database, emails ...string) *Service {
	return New(Options{
		Store: h.Store, Keys: keysOn(h), Emails: append(emails, "ada@example.com"), Now: time.Now,
		Accounts: account.New(account.Options{Store: h.Store, PublicURL: "http://gateway", Now: time.Now}),
	})
}

func keysOn(h *storetest.Database) *auth.Keys {
	return auth.NewKeys(auth.KeyOptions{Store: h.Store, Log: slog.New(slog.DiscardHandler), Now: time.Now})
}

var disable = api.UserChange{Disabled: new(true)}

func createKey(t testing.TB, k *auth.Keys, userID string) (*models.Key, string) {
	t.Helper()
	key, text, err := k.Create(t.Context(), userID, api.NewKey{Name: "a key"})
	if err != nil {
		t.Fatal(err)
	}
	return key, text
}

func keyOpens(k *auth.Keys, text string) bool {
	_, err := k.Authenticate(context.Background(), text)
	return err == nil
}

func ofRPM(n int64) api.KeyChange {
	return api.KeyChange{
		KeyLimits: api.KeyLimits{Numbers: limit.Numbers[api.Field[int64]]{RPMLimit: api.Field[int64]{Named: true, Value: &n}}},
	}
}

func rpmOf(t testing.TB, k *auth.Keys, text string) int64 {
	t.Helper()
	key, err := k.Authenticate(context.Background(), text)
	if err != nil {
		t.Fatal(err)
	}
	return key.Levels[0].RPMLimit
}

func TestAFormerAdministratorIsRefused(t *testing.T) {
	storetest.Each(t, func(t *testing.T, h *storetest.Database) {
		admin := administered(h)
		key, _ := createKey(t, admin.keys, "bob")
		tries := func(by Actor) []error {
			_, limit := admin.ChangeKey(t.Context(), by, key.ID, api.AdminKeyChange{KeyChange: ofRPM(1)})
			_, disable := admin.ChangeUser(t.Context(), by, "bob", disable)
			return []error{admin.Check(t.Context(), by.UserID), limit, disable, admin.RevokeKey(t.Context(), by, key.ID)}
		}
		for by, want := range map[string]string{"bob": api.CodeAdminRequired, "unknown": api.CodeInvalidToken, "": api.CodeInvalidToken} {
			for i, err := range tries(Actor{UserID: by}) {
				if want := want; code(err) != want && (by != "bob" || i != 2) { // who would disable themselves is told that
					t.Errorf("%q, %d: %v", by, i, err)
				}
			}
		}
		h.Query(t, "UPDATE users SET disabled_at = 5 WHERE id = 'ada'")
		for i, err := range tries(Actor{UserID: "ada"}) {
			if code(err) != api.CodeInvalidToken {
				t.Errorf("disabled, %d: %v", i, err)
			}
		}
		if rows := h.Query(t, "SELECT id FROM audit"); len(rows) != 0 {
			t.Errorf("%v", rows)
		}
		if holder, err := h.Store.KeyByHash(t.Context(), key.Hash); err != nil || holder.RevokedAt != 0 ||
			holder.Limits != (models.Limits{}) ||
			holder.User.DisabledAt != 0 {
			t.Errorf("%+v, %v", holder, err)
		}
		for _, u := range must(admin.Users(t.Context(), models.UserFilter{}, models.Page{Limit: 10})) {
			if u.Admin {
				t.Errorf("%s is shown as an administrator", u.ID)
			}
		}
	})
}

func must(users []UserState, _ bool, err error) []UserState {
	if err != nil {
		panic(err)
	}
	return users
}

func TestTheAuditLogIsInTheOrderOfTime(t *testing.T) {
	storetest.Each(t, func(t *testing.T, h *storetest.Database) {
		c := &clock{time.UnixMicro(999_999_999_999_995)} // where a digit more begins
		k := auth.NewKeys(auth.KeyOptions{Store: h.Store, Log: slog.New(slog.DiscardHandler), Now: c.now})
		admin := New(Options{Store: h.Store, Keys: k, Emails: []string{"ada@example.com"}, Now: c.now})
		key, _ := createKey(t, k, "bob")
		for n := range int64(12) {
			c.at = c.at.Add(time.Microsecond)
			if _, err := admin.ChangeKey(t.Context(), Actor{UserID: "ada", RequestID: fmt.Sprint(n), Address: "x"}, key.ID, api.AdminKeyChange{KeyChange: ofRPM(n + 1)}); err != nil {
				t.Fatal(err)
			}
		}
		page, err := admin.Audit(t.Context(), AuditQuery{}, models.Page{Limit: 12})
		if err != nil || page.Next != "" || len(page.Rows) != 12 {
			t.Fatalf("%+v, %v", page, err)
		}
		for i, row := range page.Rows {
			if row.RequestID != fmt.Sprint(11-i) {
				t.Errorf("place %d: %s", i, row.RequestID)
			}
		}
	})
}

func TestAnAdministratorsChangeIsEffectiveAtOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, h *storetest.Database) {
		admin := administered(h)
		key, text := createKey(t, admin.keys, "bob")
		by := Actor{UserID: "ada"}
		for n := int64(1); n < 4; n++ {
			rpmOf(t, admin.keys, text)
			if _, err := admin.ChangeKey(t.Context(), by, key.ID, api.AdminKeyChange{KeyChange: ofRPM(n)}); err != nil {
				t.Fatal(err)
			}
			if got := rpmOf(t, admin.keys, text); got != n {
				t.Errorf("%d, not %d", got, n)
			}
		}
		if err := admin.RevokeKey(t.Context(), by, key.ID); err != nil || keyOpens(admin.keys, text) {
			t.Errorf("open after it was revoked: %v", err)
		}
	})
}

func TestAnAdministratorsChangeIsPublishedToOtherReplicas(t *testing.T) {
	h, address := storetest.SQLite(t), servertest.Redis(t)
	client := func() models.Redis {
		client, err := models.OpenRedis(address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
		return client
	}
	discard := slog.New(slog.DiscardHandler)
	here := auth.NewKeys(auth.KeyOptions{Store: h.Store, Redis: client(), Log: discard, Now: time.Now})
	still := time.Now() // a clock that stands still keeps every entry fresh: only an invalidation removes one
	there := auth.NewKeys(auth.KeyOptions{Store: h.Store, Redis: client(), Log: discard, Now: func() time.Time { return still }})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { there.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	const channel = "mgw:keys:revoked"
	watcher := client().(*redis.Client)
	storetest.Until(t, "subscribed", func() bool {
		n, err := watcher.PubSubNumSub(t.Context(), channel).Result()
		return err == nil && n[channel] >= 1
	})
	key, text := createKey(t, here, "ada")
	admin := New(Options{Store: h.Store, Keys: here, Emails: []string{"ada@example.com"}, Now: time.Now})
	for n := int64(1); n <= 2; n++ {
		rpmOf(t, there, text)
		change := api.AdminKeyChange{KeyChange: ofRPM(n), LimitedBy: api.Field[string]{Named: true}}
		if _, err := admin.ChangeKey(t.Context(), Actor{UserID: "ada"}, key.ID, change); err != nil {
			t.Fatal(err)
		}
		storetest.Until(t, "the administrator's change is effective", func() bool { return rpmOf(t, there, text) == n })
	}
	if err := admin.RevokeKey(t.Context(), Actor{UserID: "ada"}, key.ID); err != nil {
		t.Fatal(err)
	}
	storetest.Until(t, "the administrator's revocation is effective", func() bool { return !keyOpens(there, text) })
}

func TestAdministrationWithoutTheDatabaseIs503(t *testing.T) {
	h := storetest.SQLite(t)
	admin := administered(h)
	key, _ := createKey(t, admin.keys, "ada")
	_ = h.Store.Close()
	by := Actor{UserID: "ada"}
	page := models.Page{Limit: 1}
	for what, try := range map[string]func() error{
		"check": func() error { return admin.Check(t.Context(), "ada") },
		"limit": func() error {
			_, err := admin.ChangeKey(t.Context(), by, key.ID, api.AdminKeyChange{KeyChange: ofRPM(1)})
			return err
		},
		"revoke":  func() error { return admin.RevokeKey(t.Context(), by, key.ID) },
		"disable": func() error { _, err := admin.ChangeUser(t.Context(), by, "bob", disable); return err },
		"users":   func() error { _, _, err := admin.Users(t.Context(), models.UserFilter{}, page); return err },
		"keys":    func() error { _, _, err := admin.Keys(t.Context(), root, KeyQuery{}, page); return err },
		"audit":   func() error { _, err := admin.Audit(t.Context(), AuditQuery{}, page); return err },
	} {
		if err := try(); code(err) != api.CodeServiceUnavailable {
			t.Errorf("%s: %v", what, err)
		}
	}
}
