package services

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"modelgateway/models"
	"modelgateway/models/api"
)

// administered is a house in which ada is an administrator.
func administered(h *keyHouse, emails ...string) *Admin {
	return NewAdmin(AdminOptions{Store: h.store, Keys: h.keyReplica(), Emails: append(emails, "ada@example.com"), Now: time.Now})
}

func TestWhoIsNoAdministratorAnyMoreActsNoMore(t *testing.T) {
	eachKeyHouse(t, func(t *testing.T, h *keyHouse) {
		admin := administered(h)
		key, _ := createKey(t, admin.keys, "bob")
		tries := func(by Actor) []error {
			_, limit := admin.ChangeKey(t.Context(), by, key.ID, api.AdminKeyChange{KeyChange: ofRPM(1)})
			_, disable := admin.SetDisabled(t.Context(), by, "bob", true)
			return []error{admin.Check(t.Context(), by.UserID), limit, disable, admin.RevokeKey(t.Context(), by, key.ID)}
		}
		for by, want := range map[string]string{"bob": api.CodeAdminRequired, "nobody": api.CodeInvalidToken, "": api.CodeInvalidToken} {
			for i, err := range tries(Actor{UserID: by}) {
				if want := want; code(err) != want && (by != "bob" || i != 2) { // who would disable themselves is told that
					t.Errorf("%q, %d: %v", by, i, err)
				}
			}
		}
		if _, err := h.store.ChangeUser(t.Context(), "ada", func(u *models.User) (*models.Audit, error) { u.DisabledAt = 5; return nil, nil }); err != nil {
			t.Fatal(err)
		}
		for i, err := range tries(Actor{UserID: "ada"}) {
			if code(err) != api.CodeInvalidToken {
				t.Errorf("disabled, %d: %v", i, err)
			}
		}
		if rows := h.query(t, "SELECT id FROM audit"); len(rows) != 0 {
			t.Errorf("%v", rows)
		}
		if holder, err := h.store.KeyByHash(t.Context(), key.Hash); err != nil || holder.RevokedAt != 0 || holder.Limits != (models.Limits{}) || holder.UserDisabledAt != 0 {
			t.Errorf("%+v, %v", holder, err)
		}
		for _, u := range must(admin.Users(t.Context(), "", models.Page{Limit: 10})) {
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

func TestUnregisteredAdministratorsAreListed(t *testing.T) {
	eachKeyHouse(t, func(t *testing.T, h *keyHouse) {
		free, err := administered(h, "eve@example.com", "bob@example.com", "z@example.com").Unregistered(t.Context())
		if err != nil || strings.Join(free, " ") != "eve@example.com z@example.com" {
			t.Errorf("%v, %v", free, err)
		}
		nobody := NewAdmin(AdminOptions{Now: time.Now}) // asks no database
		if free, err := nobody.Unregistered(t.Context()); err != nil || len(free) != 0 {
			t.Errorf("%v, %v", free, err)
		}
		if err := nobody.Check(t.Context(), "ada"); code(err) != api.CodeAdminRequired {
			t.Errorf("without administrators: %v", err)
		}
	})
}

func TestTheAuditIsInTheOrderOfTimeWhateverTheMicrosecond(t *testing.T) {
	eachKeyHouse(t, func(t *testing.T, h *keyHouse) {
		c := &clock{time.UnixMicro(999_999_999_999_995)} // where a digit more begins
		k := NewKeys(KeyOptions{Store: h.store, Log: slog.New(slog.DiscardHandler), Now: c.now})
		admin := NewAdmin(AdminOptions{Store: h.store, Keys: k, Emails: []string{"ada@example.com"}, Now: c.now})
		key, _ := createKey(t, k, "bob")
		for n := range int64(12) {
			c.at = c.at.Add(time.Microsecond)
			if _, err := admin.ChangeKey(t.Context(), Actor{UserID: "ada", RequestID: fmt.Sprint(n), Address: "x"}, key.ID, api.AdminKeyChange{KeyChange: ofRPM(n + 1)}); err != nil {
				t.Fatal(err)
			}
		}
		rows, more, err := admin.Audit(t.Context(), models.AuditFilter{}, models.Page{Limit: 12})
		if err != nil || more || len(rows) != 12 {
			t.Fatalf("%d rows, more: %t, %v", len(rows), more, err)
		}
		for i, row := range rows {
			if row.RequestID != fmt.Sprint(11-i) {
				t.Errorf("place %d: %s", i, row.RequestID)
			}
		}
	})
}

func TestAnAdministratorsChangeCountsAtOnce(t *testing.T) {
	eachKeyHouse(t, func(t *testing.T, h *keyHouse) {
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
