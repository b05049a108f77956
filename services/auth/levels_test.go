package auth

import (
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/models"
)

// ownedKeys makes keys of ada with other owners by hand, and returns a replica whose
// users have default limits.
func ownedKeys(t *testing.T, h *keyDatabase, c *clock) (*Keys, map[string]string) {
	t.Helper()
	h.Query(t, `INSERT INTO teams (id, name, created_at, tpm_limit, budget, budget_window) VALUES ('t1', 'Research', 1, 70, 7000000, 'week')`)
	h.Query(t, `UPDATE users SET rpm_limit = 3, models = 'gpt-4' WHERE id = 'ada'`)
	k := NewKeys(KeyOptions{
		Store: h.Store, Log: slog.New(slog.DiscardHandler), Now: c.now, UserDefaults: models.Limits{
			Models: "gemini-2.5-pro", Numbers: models.Numbers{RPMLimit: 9, MaxParallel: 4}, Budget: 5, BudgetWindow: models.Day,
		},
	})
	texts := map[string]string{}
	for name, owners := range map[string]string{
		"user": "", "both": "team_id = 't1'", "team": "team_id = 't1', user_id = ''", "none": "user_id = ''",
		"no such team": "team_id = 't2'", "no such user": "user_id = 'nemo'",
	} {
		key, text := createKey(t, k, "ada")
		texts[name] = text
		if owners != "" {
			h.Query(t, "UPDATE api_keys SET "+owners+" WHERE id = '"+key.ID+"'")
		}
	}
	return k, texts
}

func TestACallerHasTheLevelsOfItsKey(t *testing.T) {
	t.Parallel()
	eachKeyDatabase(t, func(t *testing.T, h *keyDatabase) {
		k, texts := ownedKeys(t, h, &clock{november})
		user := models.Level{Account: "user:ada", Name: "your account", Limits: models.Limits{
			Models: "gpt-4", Numbers: models.Numbers{RPMLimit: 3, MaxParallel: 4}, Budget: 5, BudgetWindow: models.Day,
		}}
		team := models.Level{Account: "team:t1", Name: "the team Research", Limits: models.Limits{
			Numbers: models.Numbers{TPMLimit: 70}, Budget: 7_000_000, BudgetWindow: models.Week,
		}}
		for name, want := range map[string]models.Levels{"user": {user}, "both": {user, team}, "team": {team}} {
			c, err := k.Authenticate(t.Context(), texts[name])
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if len(c.Levels) != len(want)+1 || c.Levels[0].Account != "key:"+c.KeyID || c.Levels[0].Name != "this API key" ||
				c.Account() != c.Levels[0].Account {
				t.Fatalf("%s: %+v", name, c)
			}
			for i, level := range want {
				if c.Levels[i+1] != level {
					t.Errorf("%s: %+v, not %+v", name, c.Levels[i+1], level)
				}
			}
			if (c.UserID == "ada") != (name != "team") || (c.TeamID == "t1") != (name != "user") {
				t.Errorf("%s: %+v", name, c)
			}
		}
		for _, name := range []string{"none", "no such team", "no such user"} {
			if _, err := k.Authenticate(t.Context(), texts[name]); !refusedKey(err) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestAKeyIsRefusedWhenAnOwnerHasExpiredOrIsDisabled(t *testing.T) {
	t.Parallel()
	eachKeyDatabase(t, func(t *testing.T, h *keyDatabase) {
		c := &clock{november}
		k, texts := ownedKeys(t, h, c)
		end := november.Add(time.Hour).UnixMicro()
		h.Query(t, "UPDATE users SET expires_at = "+strconv.FormatInt(end, 10)+" WHERE id = 'ada'")
		h.Query(t, "UPDATE teams SET expires_at = "+strconv.FormatInt(end+1, 10))
		for i, step := range []struct {
			at   int64
			want map[string]string
		}{
			{end - 1, map[string]string{"user": "", "both": "", "team": ""}},
			{end, map[string]string{"user": "your account has expired", "both": "your account has expired", "team": ""}},
			{end + 1, map[string]string{"both": "your account has expired", "team": "the team Research has expired"}},
		} {
			c.at = time.UnixMicro(step.at)
			for name, want := range step.want {
				_, err := k.Authenticate(t.Context(), texts[name])
				if e := api.AsError(err); err != nil && (e.Message != want || e.Code != api.CodeAccountExpired || e.Status != 401) ||
					(err == nil) != (want == "") {
					t.Errorf("step %d, %s: %v", i, name, err)
				}
			}
		}
		h.Query(t, "UPDATE users SET expires_at = 0, disabled_at = 1 WHERE id = 'ada'")
		h.Query(t, "UPDATE teams SET expires_at = 0")
		c.at = c.at.Add(keyTTL)
		for name, text := range texts {
			if _, err := k.Authenticate(t.Context(), text); refusedKey(err) != (name != "team") {
				t.Errorf("disabled, %s: %v", name, err)
			}
		}
		h.Query(t, "DELETE FROM teams")
		c.at = c.at.Add(keyTTL)
		if _, err := k.Authenticate(t.Context(), texts["team"]); !refusedKey(err) {
			t.Errorf("the team is deleted: %v", err)
		}
	})
}

// Every column that is cached must be covered by a trigger that counts revisions.
func TestAChangedLimitOfAnOwnerIsEffectiveWithoutANewQueryPerSecond(t *testing.T) {
	t.Parallel()
	eachKeyDatabase(t, func(t *testing.T, h *keyDatabase) {
		c := &clock{november}
		k, texts := ownedKeys(t, h, c)
		k.cache.revisions = NewRevisions(h.Store, c.now)
		last := func() models.Level {
			k.cache.revisions.poll(t.Context())
			caller, err := k.Authenticate(t.Context(), texts["both"])
			if err != nil {
				t.Fatal(err)
			}
			return caller.Levels[len(caller.Levels)-1]
		}
		if l := last(); l.TPMLimit != 70 {
			t.Fatalf("%+v", l)
		}
		for _, change := range []struct {
			query string
			seen  func(models.Level) bool
		}{
			{"UPDATE teams SET tpm_limit = 5", func(l models.Level) bool { return l.TPMLimit == 5 }},
			{"UPDATE teams SET name = 'Sales'", func(l models.Level) bool { return strings.HasSuffix(l.Name, " Sales") }},
			{"UPDATE teams SET budget = 1", func(l models.Level) bool { return l.Budget == 1 }},
			{"UPDATE teams SET models = 'gpt-4'", func(l models.Level) bool { return l.Models == "gpt-4" }},
		} {
			for range 4 { // the entry stays in memory
				c.at = c.at.Add(keyTTL / 2)
				last()
			}
			h.Query(t, change.query)
			c.at = c.at.Add(revisionInterval)
			last()
			c.at = c.at.Add(keyTTL - revisionInterval)
			if l := last(); !change.seen(l) {
				t.Errorf("%s: %+v", change.query, l)
			}
		}
	})
}

func TestATokenHasTheLevelOfItsUser(t *testing.T) {
	s := newSmith(t)
	token := s.login(t, "ada@x.com")
	s.tokens.userDefaults = models.Limits{Numbers: models.Numbers{TPMLimit: 8, MaxParallel: 2}}
	s.Query(t, "UPDATE users SET tpm_limit = 7, expires_at = "+strconv.FormatInt(november.Add(time.Minute).UnixMicro(), 10))
	c, err := s.tokens.Authenticate(t.Context(), token.Text)
	if err != nil || len(c.Levels) != 1 || c.Levels[0].Account != "user:"+c.UserID || c.Levels[0].Name != "your account" ||
		c.Levels[0].Numbers != (models.Numbers{TPMLimit: 7, MaxParallel: 2}) || c.Account() != c.Levels[0].Account {
		t.Fatalf("%+v, %v", c, err)
	}
	s.clock.at = november.Add(time.Minute)
	if _, err := s.tokens.Authenticate(t.Context(), token.Text); code(err) != api.CodeAccountExpired {
		t.Errorf("expired: %v", err)
	}
	if _, err := s.tokens.Verify(t.Context(), token.Text); code(err) != api.CodeAccountExpired {
		t.Errorf("expired: %v", err)
	}
}

func TestAnAccountIsTheKeysElseTheUsersElseTheAddress(t *testing.T) {
	for want, c := range map[string]Caller{
		"key:k":             {KeyID: "k", UserID: "u", Address: "192.0.2.1", Levels: models.Levels{{Account: "key:k"}, {Account: "user:u"}}},
		"user:u":            {UserID: "u", Address: "192.0.2.1"}, // of a request that manages keys
		"address:192.0.2.1": {Address: "192.0.2.1"},
	} {
		if got := c.Account(); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
}

func TestProjectsBelongToTheTeamElseTheUserElseTheKey(t *testing.T) {
	for want, caller := range map[string]Caller{
		"team:t": {TeamID: "t", UserID: "ada", KeyID: "k"}, "user:ada": {UserID: "ada", KeyID: "k"}, "key:k": {KeyID: "k"},
		models.GatewayAccount: {Address: "::1"},
	} {
		if got := caller.ProjectOwner(); got != want {
			t.Errorf("%+v: %s", caller, got)
		}
	}
}
