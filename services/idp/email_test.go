package idp

import (
	"errors"
	"sync"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"modelgateway/models"
	"modelgateway/services/account"
	"modelgateway/services/audit"
	"modelgateway/services/idp/idptest"
	"modelgateway/tests/servertest"
)

func TestAddressThatIsNotVerifiedIsRefused(t *testing.T) {
	for name, value := range map[string]any{
		"false": false, `the text "true"`: "true", `the text "false"`: "false", "null": nil, "1": 1, "a list": []bool{true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.idp.Person["email_verified"] = value
			r.idp.Told = map[string]any{"email": "ada@example.com", "email_verified": true} // the ID token wins
			token, err := r.login()
			r.refuses(token, err, 403, "email_not_verified")
			r.noUser()
		})
	}
}

func TestMissingOrInvalidAddressIsRefused(t *testing.T) {
	for name, email := range map[string]any{
		"missing": nil, "empty": "", "no address": "ada", "with NUL": "ada\x00@example.com", "quoted": `"ada@example.com"@evil.com`, "long": string(make([]byte, 5000)) + "@example.com",
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			if r.idp.Person["email"] = email; email == nil {
				delete(r.idp.Person, "email")
			}
			token, err := r.login()
			r.refuses(token, err, 403, "email_not_verified")
		})
	}
}

func TestUserinfoCompletesTheIDToken(t *testing.T) {
	const ada = "ada@example.com"
	all := jwt.MapClaims{"sub": "ada-1", "email": ada, "email_verified": true}
	for _, row := range []struct {
		name  string
		token jwt.MapClaims
		told  map[string]any
		want  string // empty: refused
	}{
		{"all of it", jwt.MapClaims{"sub": "ada-1"}, map[string]any{"email": ada, "email_verified": true}, ada},
		{"whether it is verified", jwt.MapClaims{"sub": "ada-1", "email": ada}, map[string]any{"email": ada, "email_verified": true}, ada},
		{"the address", jwt.MapClaims{"sub": "ada-1", "email_verified": true}, map[string]any{"email": ada, "email_verified": true}, ada},
		{"not another address", all, map[string]any{"email": "victim@example.com", "email_verified": true}, ada},
		{"not that another is verified", jwt.MapClaims{"sub": "ada-1", "email": "victim@example.com"}, map[string]any{"email": ada, "email_verified": true}, ""},
		{"not that it is verified after all", jwt.MapClaims{"sub": "ada-1", "email_verified": false}, map[string]any{"email": ada, "email_verified": true}, ""},
		{"that it is not", jwt.MapClaims{"sub": "ada-1", "email": ada}, map[string]any{"email": ada, "email_verified": false}, ""},
		{"that it is, but as a text", jwt.MapClaims{"sub": "ada-1", "email": ada}, map[string]any{"email": ada, "email_verified": "true"}, ""},
		{"nothing", jwt.MapClaims{"sub": "ada-1"}, map[string]any{}, ""},
		{"the address, not whether it is verified", jwt.MapClaims{"sub": "ada-1"}, map[string]any{"email": ada}, ""},
		{"Microsoft's claim of another issuer", jwt.MapClaims{"sub": "ada-1", "email": ada, "xms_edov": true}, nil, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := newRig(t)
			r.idp.Person, r.idp.Told = row.token, row.told
			token, err := r.login()
			if row.want == "" {
				r.refuses(token, err, 403, "email_not_verified")
				r.noUser()
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := r.userOf(token).Email; got != row.want {
				t.Error(got)
			}
		})
	}
}

func TestUserinfoOfAnotherUserIsRefused(t *testing.T) {
	for name, sub := range map[string]any{"another": "victim", "none": nil, "empty": ""} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.idp.Person = jwt.MapClaims{"sub": "ada-1"}
			r.idp.Told = map[string]any{"sub": sub, "email": "victim@example.com", "email_verified": true}
			token, err := r.login()
			r.refuses(token, err, 401, "idp_rejected")
			r.noUser()
		})
	}
}

func TestDomainRuleHoldsForIdentityProvidersToo(t *testing.T) {
	r := newRig(t, func(o *Options) {
		o.Allowed = func(email string) bool { return account.DomainAllowed(email, []string{"corp.com"}) }
	})
	for _, row := range []struct {
		email, code string
		status      int
	}{
		{"ada@evil.com", "email_domain_not_allowed", 403},
		{"ada@corp.com.evil.com", "email_domain_not_allowed", 403},
		{"ada@evilcorp.com", "email_domain_not_allowed", 403},
		{"ada@sub.corp.com", "email_domain_not_allowed", 403},
		{"ada@xn--crp-0na.com", "email_domain_not_allowed", 403},
		{"ada@evil.com@corp.com", "email_not_verified", 403},
		{`"ada@corp.com"@evil.com`, "email_not_verified", 403},
		{"ada@corp.com\n", "email_not_verified", 403},
	} {
		r.idp.Set(func(m *idptest.Provider) { m.Person["email"] = row.email })
		token, err := r.login()
		r.refuses(token, err, row.status, row.code)
	}
	r.idp.Set(func(m *idptest.Provider) { m.Person["email"] = "ada@CORP.com" })
	if user := r.must(); user.Email != "ada@corp.com" {
		t.Error(user.Email)
	}
	// A user who has left the domain is refused, although the account exists.
	r.idp.Set(func(m *idptest.Provider) { m.Person["email"] = "ada@evil.com" })
	token, err := r.login()
	r.refuses(token, err, 403, "email_domain_not_allowed")
}

// onEach runs on both kinds of database.
func onEach(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Run("sqlite", func(t *testing.T) { f(t, newRig(t)) })
	t.Run("postgres", func(t *testing.T) { f(t, newRigOn(t, idptest.Serve(t), openStore(t, servertest.Postgres(t)))) })
}

func TestVerifiedPasswordAccountIsNeverLinkedByItsAddress(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		attacker := &models.User{ID: "usr_attacker", Email: "ada@example.com", PasswordHash: "hash", CreatedAt: 1, VerifiedAt: 1}
		if err := r.store.CreateUser(t.Context(), attacker); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			token, err := r.login()
			r.refuses(token, err, 409, "account_exists")
		}
		if _, err := r.store.UserByIdentity(t.Context(), r.idp.URL, "ada-1"); !errors.Is(err, models.ErrNotFound) {
			t.Error("the identity leads somewhere: ", err)
		}
		if kept, err := r.store.UserByEmail(t.Context(), "ada@example.com"); err != nil || *kept != *attacker {
			t.Errorf("the account has become %+v, %v", kept, err)
		}
	})
}

func TestIdentityIsIssuerAndSubject(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ada := r.must()
		r.idp.Set(func(m *idptest.Provider) { m.Person["email"] = "ada@new.example.com" })
		if again := r.must(); again.ID != ada.ID || again.Email != "ada@example.com" {
			t.Errorf("after a change of address: %+v", again)
		}
		r.idp.Set(func(m *idptest.Provider) { m.Person["sub"], m.Person["email"] = "mallory", "ada@example.com" })
		token, err := r.login()
		r.refuses(token, err, 409, "account_exists")
		r.idp.Set(func(m *idptest.Provider) { m.Person["sub"], m.Person["email"] = "ADA-1", "other@example.com" })
		if other := r.must(); other.ID == ada.ID {
			t.Error("subjects are compared without case")
		}
		elsewhere := newRigOn(t, idptest.Serve(t), r.store)
		elsewhere.idp.Person["email"] = "third@example.com"
		if third := elsewhere.must(); third.ID == ada.ID {
			t.Error("the same subject of another issuer is the same user")
		}
	})
}

func TestFirstLoginsAtOnceMakeOneUser(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		var all sync.WaitGroup
		ids := make([]string, 12)
		for i := range ids {
			b := r.begin()
			back := r.consent(b)
			all.Go(func() {
				token, err := r.Finish(t.Context(), back, b.cookie, audit.Entry{})
				if err != nil {
					t.Error(err)
					return
				}
				ids[i], _ = r.tokens.Verify(t.Context(), token.Text)
			})
		}
		all.Wait()
		for _, id := range ids {
			if id == "" || id != ids[0] {
				t.Fatal(ids)
			}
		}
	})
}

func TestDisabledUserIsRefused(t *testing.T) {
	r := newRig(t)
	disabled := &models.User{ID: "usr_1", Email: "ada@example.com", CreatedAt: 1, DisabledAt: 2}
	if err := r.store.CreateUserWithIdentity(t.Context(), disabled, &models.Identity{Issuer: r.idp.URL, Subject: "ada-1", UserID: "usr_1"}); err != nil {
		t.Fatal(err)
	}
	token, err := r.login()
	r.refuses(token, err, 401, "idp_rejected")
}

func TestInvisibleCharactersAreRemovedFromNames(t *testing.T) {
	long := make([]byte, 1000)
	for i := range long {
		long[i] = 'x'
	}
	for name, want := range map[string]string{
		" Ada Lovelace ": "Ada Lovelace", "Ada\x00\r\n\u202eLovelace": "AdaLovelace", "\xffAda": "Ada", "": "", "Zoë 李": "Zoë 李",
		string(long): string(long[:200]),
	} {
		if got := displayName(name); got != want {
			t.Errorf("%q became %q", name, got)
		}
	}
}
