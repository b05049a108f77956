package auth

import (
	"crypto"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/tests/storetest"
)

func TestATokenCarriesItsUserAndExpiry(t *testing.T) {
	d := newTokenDatabase(t, storetest.SQLite(t))
	u := d.register(t, "ada@x.com")
	token := d.login(t, "ada@x.com")
	parts := strings.Split(token.Text, ".")
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(payload, &got); err != nil {
		t.Fatal(err)
	}
	now := float64(november.Unix())
	for name, want := range map[string]any{"sub": u.ID, "email": "ada@x.com", "iss": testIssuer, "iat": now, "nbf": now, "exp": now + 3600} {
		if got[name] != want {
			t.Errorf("%s is %v, not %v", name, got[name], want)
		}
	}
	if id, _ := got["jti"].(string); len(id) < 26 || strings.Contains(string(payload), id+id) {
		t.Errorf("jti %q", id)
	}
	if again := d.login(t, "ada@x.com"); again.Text == token.Text {
		t.Error("two logins have one token")
	}
	if strings.Contains(string(payload), u.PasswordHash[len(u.PasswordHash)-20:]) {
		t.Error("the token holds the password's hash")
	}
}

func TestATokenEndsAtItsExpiry(t *testing.T) {
	s := newSmith(t)
	token := s.login(t, "ada@x.com")
	s.clock.at = november.Add(time.Hour - time.Millisecond)
	s.accepts(t, "just before", token.Text)
	for _, later := range []time.Duration{time.Hour, time.Hour + time.Second, 2 * time.Hour, 1000 * time.Hour} {
		s.clock.at = november.Add(later)
		s.refuses(t, "after "+later.String(), token.Text, api.CodeTokenExpired)
	}
}

func TestOursIgnoresTheTimesOfAToken(t *testing.T) {
	s := newSmith(t)
	token := s.login(t, "ada@x.com").Text
	long := s.forge(hs256, s.with(map[string]any{"exp": 1}))
	strange := s.forge(hs256, s.with(map[string]any{"exp": "never", "sub": 1, "iss": "x"}))
	s.clock.at = s.clock.at.Add(1000 * time.Hour)
	for name, text := range map[string]string{"expired": token, "long expired": long, "with strange claims": strange} {
		if !s.tokens.Ours(text) {
			t.Errorf("%s is not taken for ours", name)
		}
		if _, err := s.tokens.Verify(t.Context(), text); api.AsError(err).Status != 401 {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"sk-dummy": "sk-dummy", "nothing": "", "another's": forge(hs256, s.with(nil), []byte("another secret that is long enough"), crypto.SHA256),
		"without a signature": forge(hs256, s.with(nil), nil, crypto.SHA256),
	} {
		if s.tokens.Ours(text) {
			t.Errorf("%s is taken for ours", name)
		}
	}
}

func TestTokensEndWithTheirUser(t *testing.T) {
	for _, tt := range []struct{ name, query string }{
		{"disabled", "UPDATE users SET disabled_at = 1 WHERE id = '%s'"},
		{"deleted", "DELETE FROM users WHERE id = '%s'"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			storetest.Each(t, func(t *testing.T, d *storetest.Database) {
				s := smithOn(t, d)
				token := s.login(t, "ada@x.com").Text
				s.accepts(t, "before", token)
				s.exec(t, fmt.Sprintf(tt.query, s.user))
				s.clock.at = s.clock.at.Add(keyTTL)
				s.refuses(t, "after", token, api.CodeInvalidToken)
				if keyTTL >= time.Second {
					t.Errorf("what is known of a user may be %v old", keyTTL)
				}
				if tt.name == "deleted" {
					return
				}
				s.exec(t, fmt.Sprintf("UPDATE users SET disabled_at = 0 WHERE id = '%s'", s.user))
				s.clock.at = s.clock.at.Add(keyTTL)
				s.accepts(t, "enabled again", token)
			})
		})
	}
}

func TestAHigherGenerationEndsTokens(t *testing.T) {
	storetest.Each(t, func(t *testing.T, d *storetest.Database) {
		s := smithOn(t, d)
		token := s.login(t, "ada@x.com").Text
		s.accepts(t, "before", token)
		ahead := s.forge(hs256, s.with(map[string]any{"gen": 2})) // of a replica that knows of the change already
		s.accepts(t, "the next generation", ahead)
		s.exec(t, fmt.Sprintf("UPDATE users SET generation = 2 WHERE id = '%s'", s.user))
		s.clock.at = s.clock.at.Add(keyTTL)
		s.refuses(t, "after", token, api.CodeInvalidToken)
		s.accepts(t, "the next generation, now", ahead)
		s.accepts(t, "a new login", s.login(t, "ada@x.com").Text)
	})
}

func TestAnEndedTokenIsRefusedAndOthersAreNot(t *testing.T) {
	storetest.Each(t, func(t *testing.T, d *storetest.Database) {
		s := smithOn(t, d)
		ended, other := s.login(t, "ada@x.com").Text, s.login(t, "ada@x.com").Text
		for _, text := range []string{ended, other} {
			s.accepts(t, "before", text)
		}
		for range 2 { // a second time is no error
			if err := s.tokens.End(t.Context(), ended); err != nil {
				t.Fatal(err)
			}
		}
		s.refuses(t, "ended", ended, api.CodeInvalidToken)
		s.accepts(t, "another", other)
		if rows := s.Query(t, "SELECT user_id FROM ended_tokens"); len(rows) != 1 || rows[0] != s.user {
			t.Errorf("%v", rows)
		}
		s.clock.at = s.clock.at.Add(2 * time.Hour)
		late := s.login(t, "ada@x.com").Text
		if err := s.tokens.End(t.Context(), late); err != nil {
			t.Fatal(err)
		}
		if rows := s.Query(t, "SELECT id FROM ended_tokens"); len(rows) != 1 {
			t.Errorf("expired rows are kept: %v", rows)
		}
		s.refuses(t, "the late one", late, api.CodeInvalidToken)
		if err := s.tokens.End(t.Context(), "a.b.c"); code(err) != api.CodeInvalidToken {
			t.Errorf("no token: %v", err)
		}
	})
}

// A user who logs in and out again and again must not fill the memory of the replicas.
func TestManyEndedTokensEndAllTokensOfTheirUser(t *testing.T) {
	storetest.Each(t, func(t *testing.T, d *storetest.Database) {
		s := smithOn(t, d)
		kept := s.login(t, "ada@x.com").Text
		for range 100 {
			if err := s.tokens.End(t.Context(), s.login(t, "ada@x.com").Text); err != nil {
				t.Fatal(err)
			}
		}
		s.accepts(t, "after a hundred", kept)
		if err := s.tokens.End(t.Context(), s.login(t, "ada@x.com").Text); err != nil {
			t.Fatal(err)
		}
		s.refuses(t, "after one more", kept, api.CodeInvalidToken)
		if rows := s.Query(t, "SELECT id FROM ended_tokens"); len(rows) != 0 {
			t.Errorf("%d rows are kept", len(rows))
		}
		s.accepts(t, "a new login", s.login(t, "ada@x.com").Text)
	})
}

func TestTheLastUseOfATokenIsWrittenLater(t *testing.T) {
	storetest.Each(t, func(t *testing.T, d *storetest.Database) {
		s := smithOn(t, d)
		used := func() int64 {
			u, err := s.Store.User(t.Context(), s.user)
			if err != nil {
				t.Fatal(err)
			}
			return u.LastUsedAt
		}
		s.accepts(t, "a token", s.login(t, "ada@x.com").Text)
		if used() != 0 {
			t.Error("a request wrote to the database")
		}
		s.tokens.flushOrLog(t.Context())
		if at := used(); at != s.clock.at.UnixMicro() {
			t.Errorf("%d", at)
		}
	})
}

func TestASecretIsRotated(t *testing.T) {
	s := newSmith(t)
	old := s.login(t, "ada@x.com").Text
	oldSecret := s.tokens.secret
	replace := func(secret, previous string) {
		s.tokens = NewTokens(TokenOptions{
			Secret: []byte(secret), Previous: []byte(previous), Expiry: time.Hour, Issuer: testIssuer, Store: s.Store, Now: s.clock.now,
		})
	}
	replace("a new secret, as long as the old", string(oldSecret))
	s.accepts(t, "the old one", old)
	young := s.login(t, "ada@x.com").Text
	s.accepts(t, "a new one", young)
	if !s.tokens.Ours(old) || !s.tokens.Ours(young) {
		t.Error("not taken for ours")
	}
	replace("a new secret, as long as the old", "")
	s.foreign(t, "the old one when it is over", old)
	s.accepts(t, "the new one then", young)
	replace("", "")
	s.foreign(t, "without any secret", forge(hs256, s.with(nil), nil, crypto.SHA256))
	u, err := s.Store.UserByEmail(t.Context(), "ada@x.com")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.tokens.Issue(u); code(err) != api.CodeInternal {
		t.Errorf("signed with nothing: %v", err)
	}
}

func TestAnAPIKeyIsNoToken(t *testing.T) {
	s := newSmith(t)
	for _, key := range []string{"mgw_" + strings.Repeat("a", 50), "sk-proj-abc", "mgw_a.b.c"} {
		s.foreign(t, key, key)
	}
}

func TestUsersAreCached(t *testing.T) {
	s := newSmith(t)
	token := s.login(t, "ada@x.com").Text
	s.accepts(t, "at first", token)
	if err := s.Store.Close(); err != nil {
		t.Fatal(err)
	}
	s.clock.at = s.clock.at.Add(keyTTL - time.Millisecond)
	s.accepts(t, "from the cache", token)
	s.clock.at = s.clock.at.Add(time.Millisecond)
	if _, err := s.tokens.Verify(t.Context(), token); api.AsError(err).Status != 503 {
		t.Errorf("a stale entry is used: %v", err)
	}
}

func FuzzVerify(f *testing.F) {
	s := newSmith(f)
	good := s.login(f, "ada@x.com").Text
	forged := s.forge(hs256, s.with(nil))
	known := map[string]bool{good: true, forged: true}
	parts := strings.Split(good, ".")
	for _, text := range []string{
		good, forged, good + "=", good + "\n", parts[0] + "." + parts[1] + ".", encode(`{"alg":"none"}`) + "." + parts[1] + ".", "..", "", "mgw_abc", "sk-dummy",
		s.forge(hs256, s.with(map[string]any{"exp": 1e18})), s.forge(hs256, `null`), s.forge(hs256, `{"exp":"1"}`), s.forge(`{"alg":"HS256","crit":[]}`, s.with(nil)),
		forge(`{"alg":"HS512"}`, s.with(nil), s.tokens.secret, crypto.SHA512), strings.Repeat(".", 100), encode(strings.Repeat("[", 1000)) + ".e30.",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := s.tokens.Verify(t.Context(), text)
		if err == nil {
			if id != s.user || !known[text] {
				t.Errorf("%q is accepted for %q", text, id)
			}
			return
		}
		if e := api.AsError(err); id != "" || e.Status != 401 || e.Type != api.TypeAuthentication {
			t.Errorf("%q: %q, %v", text, id, err)
		}
	})
}
