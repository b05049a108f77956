package idp

import (
	"errors"
	"strings"
	"testing"
	"time"

	"modelgateway/models"
	"modelgateway/services/audit"
	"modelgateway/services/idp/idptest"
)

// squatter is an account with a password at an address that was not verified, with a key,
// a link, an identity and rights.
func (r *rig) squatter() *models.User {
	r.t.Helper()
	u := &models.User{
		ID: "usr_squatter", Email: "ada@example.com", Name: "S", PasswordHash: "hash", CreatedAt: 1, AdminAt: 1,
		Limits: models.Limits{Budget: 7, BudgetWindow: models.Month},
	}
	err := errors.Join(
		r.store.CreateUserWithIdentity(r.t.Context(), u, &models.Identity{Issuer: "other", Subject: "s", UserID: u.ID}),
		r.store.CreateKey(r.t.Context(), &models.Key{ID: "key_1", UserID: u.ID, Name: "k", Hash: "h", Prefix: "p", CreatedAt: 1}, 9),
		r.store.Change(r.t.Context(), func(tx *models.Transaction) error {
			return tx.CreateOneTimeToken(&models.OneTimeToken{
				ID: "o", Hash: "o", Purpose: models.PurposeReset, UserID: u.ID, CreatedAt: 1,
				ExpiresAt: time.Now().Add(time.Hour).UnixMicro(),
			}, 0)
		}),
	)
	if err != nil {
		r.t.Fatal(err)
	}
	return u
}

func TestIdentityTakesOverAnAccountThatWasNotVerified(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		before := r.squatter()
		old, err := r.tokens.Issue(before)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.tokens.Verify(t.Context(), old.Text); err != nil {
			t.Fatal(err)
		}
		u := r.must()
		if u.ID != before.ID || u.PasswordHash != "" || u.AdminAt != 0 || u.VerifiedAt == 0 || u.Generation != 2 || u.Limits != before.Limits {
			t.Errorf("%+v", u)
		}
		if _, err := r.tokens.Verify(t.Context(), old.Text); err == nil {
			t.Error("the former token is valid")
		}
		if keys, err := r.store.AllKeys(t.Context(), models.KeyFilter{UserID: u.ID}, models.Page{Limit: 100}); err != nil || len(keys) != 0 {
			t.Errorf("keys: %v %v", keys, err)
		}
		if _, err := r.store.UserByIdentity(t.Context(), "other", "s"); !errors.Is(err, models.ErrNotFound) {
			t.Errorf("the former identity: %v", err)
		}
		use := models.TokenUse{Hash: "o", Purpose: models.PurposeReset, At: 5}
		if _, err := r.store.FindOneTimeToken(t.Context(), use); !errors.Is(err, models.ErrNotFound) {
			t.Errorf("the former link: %v", err)
		}
		rows, err := r.store.Audit(t.Context(), models.AuditFilter{Target: u.ID}, models.Page{Limit: 9})
		if err != nil || len(rows) != 1 || rows[0].Action != "user.takeover" || !strings.Contains(rows[0].Detail, `"admin":true`) {
			t.Errorf("%+v %v", rows, err)
		}
		if again := r.must(); again.ID != u.ID || again.Generation != 2 {
			t.Errorf("the next login: %+v", again)
		}
	})
}

func TestDisabledAccountIsNotTakenOver(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		before := r.squatter()
		if _, err := r.store.ChangeUser(t.Context(), before.ID, func(u *models.User) (*models.Audit, error) {
			u.DisabledAt = 5
			return nil, nil
		}); err != nil {
			t.Fatal(err)
		}
		token, err := r.login()
		r.refuses(token, err, 401, "idp_rejected")
		if u, err := r.store.User(t.Context(), before.ID); err != nil || u.PasswordHash != "hash" || u.VerifiedAt != 0 {
			t.Errorf("%+v %v", u, err)
		}
	})
}

// registered is a user with a password.
func (r *rig) registered(email string) *models.User {
	r.t.Helper()
	u := &models.User{ID: "usr_bob", Email: email, Name: "Bob", PasswordHash: "hash", CreatedAt: 1}
	if err := r.store.CreateUser(r.t.Context(), u); err != nil {
		r.t.Fatal(err)
	}
	return u
}

func (r *rig) beginLink(userID string) begun {
	r.t.Helper()
	redirect, cookie, err := r.BeginLink(r.t.Context(), userID)
	if err != nil {
		r.t.Fatal(err)
	}
	return begun{redirect, cookie}
}

func TestUserLinksAnIdentityAndRemovesIt(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		bob := r.registered("bob@example.com")
		for range 2 { // a second time is no error
			b := r.beginLink(bob.ID)
			token, err := r.Finish(t.Context(), r.consent(b), b.cookie, audit.Entry{})
			if err != nil {
				t.Fatal(err)
			}
			if u := r.userOf(token); u.ID != bob.ID || u.VerifiedAt != 0 || u.PasswordHash != "hash" {
				t.Errorf("%+v", u) // the identity proves ada's address, not bob's
			}
		}
		if u := r.must(); u.ID != bob.ID {
			t.Errorf("the identity logs in %s", u.ID)
		}
		unlinked := func(*models.User, []models.Identity) (*models.Audit, error) { return nil, nil }
		if removed, err := r.store.UnlinkIdentities(t.Context(), bob.ID, unlinked); err != nil || len(removed) != 1 {
			t.Fatal(removed, err)
		}
		if u := r.must(); u.ID == bob.ID || u.Email != "ada@example.com" {
			t.Errorf("after the end of the link: %+v", u)
		}
		b := r.beginLink(bob.ID)
		token, err := r.Finish(t.Context(), r.consent(b), b.cookie, audit.Entry{})
		e := r.refuses(token, err, 409, "account_exists")
		if !strings.Contains(e.Message, "this identity is linked to another account") || strings.Contains(e.Message, "e-mail") {
			t.Errorf("%q: bob's address is free, the identity is another user's", e.Message)
		}
	})
}

func TestALoginSaysThatTheAddressIsAnotherAccounts(t *testing.T) {
	r := newRig(t)
	b := r.beginLink(r.registered("ada@example.com").ID) // which verifies her address
	if _, err := r.Finish(t.Context(), r.consent(b), b.cookie, audit.Entry{}); err != nil {
		t.Fatal(err)
	}
	r.idp.Set(func(m *idptest.Provider) { m.Person["sub"] = "another" })
	token, err := r.login()
	e := r.refuses(token, err, 409, "account_exists")
	if !strings.Contains(e.Message, "an account with this e-mail address exists already") {
		t.Errorf("%q", e.Message)
	}
}

func TestLinkedIdentityVerifiesItsOwnAddress(t *testing.T) {
	r := newRig(t)
	ada := r.registered("ada@example.com")
	b := r.beginLink(ada.ID)
	token, err := r.Finish(t.Context(), r.consent(b), b.cookie, audit.Entry{})
	if err != nil {
		t.Fatal(err)
	}
	if u := r.userOf(token); u.ID != ada.ID || u.VerifiedAt == 0 || u.PasswordHash != "hash" {
		t.Errorf("%+v", u)
	}
}

func TestALinkEndsWithTheTokensOfItsUser(t *testing.T) {
	r := newRig(t)
	bob := r.registered("bob@example.com")
	b := r.beginLink(bob.ID)
	back := r.consent(b)
	if _, err := r.store.ChangeUser(t.Context(), bob.ID, func(u *models.User) (*models.Audit, error) {
		u.Generation++
		return nil, nil
	}); err != nil {
		t.Fatal(err)
	}
	token, err := r.Finish(t.Context(), back, b.cookie, audit.Entry{})
	r.refuses(token, err, 400, "invalid_state")
	if _, err := r.store.UserByIdentity(t.Context(), r.idp.URL, "ada-1"); !errors.Is(err, models.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

// The state of a link is of no use with the cookie of another login, and the other way
// round: an attacker cannot have a victim's browser link the attacker's identity.
func TestALinkNeedsItsOwnCookie(t *testing.T) {
	r := newRig(t)
	bob := r.registered("bob@example.com")
	link, login := r.beginLink(bob.ID), r.begin()
	forLink, forLogin := r.consent(link), r.consent(login)
	token, err := r.Finish(t.Context(), forLogin, link.cookie, audit.Entry{})
	r.refuses(token, err, 400, "invalid_state")
	token, err = r.Finish(t.Context(), forLink, login.cookie, audit.Entry{})
	r.refuses(token, err, 400, "invalid_state")
	if _, err := r.store.UserByIdentity(t.Context(), r.idp.URL, "ada-1"); !errors.Is(err, models.ErrNotFound) {
		t.Errorf("%v", err)
	}
}
