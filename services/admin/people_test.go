package admin

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/tests/storetest"
)

var root = Actor{UserID: "ada", RequestID: "req", Address: "192.0.2.1"}

func budget(usd int64) api.KeyLimits {
	value := api.USD(usd * 1_000_000)
	return api.KeyLimits{Budget: api.Field[api.USD]{Named: true, Value: &value}}
}

// person is a new user with a key.
func person(t testing.TB, a *Service, in api.NewUser) *CreatedUser {
	t.Helper()
	if in.Password == "" {
		in.Password = "correct horse battery"
	}
	in.Reveal = true
	u, err := a.CreateUser(t.Context(), root, in)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func newTeam(t testing.TB, a *Service, name string) string {
	t.Helper()
	team, err := a.CreateTeam(t.Context(), root, api.NewTeam{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return team.ID
}

func actions(t testing.TB, a *Service) []string {
	t.Helper()
	page, err := a.Audit(t.Context(), AuditQuery{}, models.Page{Limit: 200})
	if err != nil {
		t.Fatal(err)
	}
	acts := make([]string, len(page.Rows))
	for i, row := range page.Rows {
		acts[i] = row.Action
	}
	return acts
}

func TestAUserIsCreatedWithLimitsTeamAndKeyOrNotAtAll(t *testing.T) {
	storetest.Each(t, func(t *testing.T, h *storetest.Database) {
		a := administered(h)
		team := newTeam(t, a, "Research")
		in := api.NewUser{
			Email: "Eve@Example.com ", Name: " Eve ", TeamID: team, Role: "manager", KeyLimits: budget(50), Admin: true,
			Key: &api.NewKey{Name: "laptop", TeamID: team}, Reveal: true,
		}
		u, err := a.CreateUser(t.Context(), root, in)
		if err != nil || u.Email != "eve@example.com" || u.Name != "Eve" || !u.Admin || u.BudgetWindow != models.Month ||
			u.Budget != 50_000_000 || len(u.Teams) != 1 || u.Teams[0].Role != models.RoleManager || u.Keys != 1 {
			t.Fatalf("%+v, %v", u, err)
		}
		if !keyOpens(a.keys, u.KeyText) || u.Key.TeamID != team {
			t.Errorf("the first key does not work: %+v", u.Key)
		}
		if u.Link == nil || !strings.HasPrefix(u.Link.URL, "http://gateway/") {
			t.Errorf("without a password there is no link: %+v", u.Link)
		}
		before := actions(t, a)
		for name, change := range map[string]func(*api.NewUser){
			"email_taken":    func(in *api.NewUser) { in.Email = "eve@example.com" },
			"team_not_found": func(in *api.NewUser) { in.TeamID = "team_X" },
			"invalid_value":  func(in *api.NewUser) { in.Role = "owner" },
			"weak_password":  func(in *api.NewUser) { in.Password = "short" },
			"missing_field":  func(in *api.NewUser) { in.Key = &api.NewKey{} },
			// The key is in a team that the user does not become a member of.
			"member_not_found": func(in *api.NewUser) { in.TeamID = "" },
		} {
			in := in
			in.Email = "zoe@example.com"
			change(&in)
			if _, err := a.CreateUser(t.Context(), root, in); code(err) != name {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := h.Store.UserByEmail(t.Context(), "zoe@example.com"); !errors.Is(err, models.ErrNotFound) {
			t.Errorf("a refused user exists: %v", err)
		}
		if after := actions(t, a); len(after) != len(before) {
			t.Errorf("refused acts are in the audit: %v", after)
		}
		text := strings.Join(h.Query(t, "SELECT detail FROM audit"), " ")
		for _, secret := range []string{u.KeyText, u.Key.Hash, u.Link.URL, "mgw_reset_", "token="} {
			if strings.Contains(text, secret) {
				t.Errorf("the audit has %s", secret)
			}
		}
	})
}

func TestADeletedUserLeavesTheLedgerAndNothingElse(t *testing.T) {
	storetest.Each(t, func(t *testing.T, h *storetest.Database) {
		a := administered(h)
		team := newTeam(t, a, "Research")
		u := person(t, a, api.NewUser{Email: "eve@example.com", TeamID: team, Key: &api.NewKey{Name: "k", TeamID: team}})
		shared, text, err := a.CreateKey(t.Context(), root, api.AdminNewKey{NewKey: api.NewKey{Name: "shared", TeamID: team}})
		if err != nil || !keyOpens(a.keys, text) || !keyOpens(a.keys, u.KeyText) {
			t.Fatalf("%+v, %v", shared, err)
		}
		h.Query(t, "INSERT INTO spend (account, day, cost) VALUES ('user:"+u.ID+"', '2026-11-20', 5)")
		if _, err := a.ResetLink(t.Context(), root, u.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := a.ResetLink(t.Context(), root, "usr_x"); code(err) != api.CodeUserNotFound {
			t.Errorf("a link for an unknown user: %v", err)
		}
		if err := a.DeleteUser(t.Context(), root, u.ID); err != nil {
			t.Fatal(err)
		}
		if keyOpens(a.keys, u.KeyText) || !keyOpens(a.keys, text) {
			t.Error("the user's key works, or the team's does not")
		}
		for query, want := range map[string]string{
			"SELECT COUNT(*) FROM users WHERE email = 'eve@example.com'":                               "0",
			"SELECT COUNT(*) FROM team_members":                                                        "0",
			"SELECT COUNT(*) FROM one_time_tokens WHERE user_id = '" + u.ID + "'":                      "0",
			"SELECT cost FROM spend WHERE account = 'user:" + u.ID + "'":                               "5",
			"SELECT COUNT(*) FROM api_keys WHERE user_id = '" + u.ID + "' AND revoked_at > 0":          "1",
			"SELECT COUNT(*) FROM api_keys WHERE team_id = '" + team + "' AND revoked_at = 0":          "1",
			"SELECT COUNT(*) FROM audit WHERE action = 'user.delete' AND detail LIKE '%revoked_keys%'": "1",
		} {
			if got := h.Query(t, query); got[0] != want {
				t.Errorf("%s: %v, not %s", query, got, want)
			}
		}
		if err := a.DeleteUser(t.Context(), root, u.ID); code(err) != api.CodeUserNotFound {
			t.Errorf("deleted twice: %v", err)
		}
		if err := a.DeleteUser(t.Context(), root, "ada"); code(err) != api.CodeInvalidValue {
			t.Errorf("an administrator deleted themselves: %v", err)
		}
	})
}

// Two administrators act on each other at the same time: one of them must be left.
func TestTheLastAdministratorStays(t *testing.T) {
	storetest.Each(t, func(t *testing.T, h *storetest.Database) {
		a := New(Options{Store: h.Store, Keys: keysOn(h), Now: administered(h).now})
		for i := range 10 {
			h.Query(t, "UPDATE users SET admin_at = 1, disabled_at = 0 WHERE id IN ('ada', 'bob')")
			no := false
			change := []api.UserChange{disable, {Admin: &no}}[i%2]
			var done atomic.Int64
			var both sync.WaitGroup
			for _, pair := range [][2]string{{"ada", "bob"}, {"bob", "ada"}} {
				both.Go(func() {
					_, err := a.ChangeUser(t.Context(), Actor{UserID: pair[0]}, pair[1], change)
					switch code(err) {
					case "":
						if err == nil {
							done.Add(1)
							return
						}
						t.Error(err)
					case api.CodeInvalidToken, api.CodeAdminRequired, api.CodeLastAdministrator:
					default:
						t.Error(err)
					}
				})
			}
			both.Wait()
			if left := h.Query(t, "SELECT COUNT(*) FROM users WHERE admin_at > 0 AND disabled_at = 0"); left[0] != "1" || done.Load() != 1 {
				t.Fatalf("%s administrators are left, %d acts succeeded", left[0], done.Load())
			}
		}
		last := h.Query(t, "SELECT id FROM users WHERE admin_at > 0 AND disabled_at = 0")[0]
		if err := a.DeleteUser(t.Context(), CommandLine(), last); code(err) != api.CodeLastAdministrator {
			t.Errorf("the command line deleted the last administrator: %v", err)
		}
	})
}

func TestATeamWithMembersKeepsAManager(t *testing.T) {
	storetest.Each(t, func(t *testing.T, h *storetest.Database) {
		a := administered(h)
		for range 10 {
			team := newTeam(t, a, "Research")
			for _, id := range []string{"ada", "bob"} {
				if _, _, err := a.AddMember(t.Context(), root, team, api.NewTeamMember{UserID: id, Role: "manager"}); err != nil {
					t.Fatal(err)
				}
			}
			var done atomic.Int64
			var both sync.WaitGroup
			for i, id := range []string{"ada", "bob"} {
				both.Go(func() {
					var err error
					if i == 0 {
						_, err = a.ChangeMember(t.Context(), root, team, id, api.RoleChange{Role: "member"})
					} else {
						err = a.RemoveMember(t.Context(), Actor{UserID: id, Team: team}, team, id)
					}
					if err == nil {
						done.Add(1)
					} else if code(err) != api.CodeLastManager {
						t.Error(err)
					}
				})
			}
			both.Wait()
			if n := h.Query(t, "SELECT COUNT(*) FROM team_members WHERE role = 'manager'"); n[0] != "1" || done.Load() != 1 {
				t.Fatalf("%s managers, %d acts succeeded", n[0], done.Load())
			}
			if err := a.DeleteTeam(t.Context(), root, team); err != nil {
				t.Fatal(err)
			}
		}
		team := newTeam(t, a, "Research")
		eve := person(t, a, api.NewUser{Email: "eve@example.com", TeamID: team, Role: "manager"})
		if _, err := a.ChangeMember(t.Context(), root, team, eve.ID, api.RoleChange{Role: "member"}); code(err) != api.CodeLastManager {
			t.Errorf("the only member is no manager any more: %v", err)
		}
		if _, _, err := a.AddMember(t.Context(), root, team, api.NewTeamMember{Email: "Bob@example.com"}); err != nil {
			t.Fatal(err)
		}
		if err := a.DeleteUser(t.Context(), root, eve.ID); code(err) != api.CodeLastManager {
			t.Errorf("the last manager is deleted: %v", err)
		}
		if err := a.RemoveMember(t.Context(), root, team, "bob"); err != nil {
			t.Error(err)
		}
		if err := a.RemoveMember(t.Context(), root, team, eve.ID); err != nil {
			t.Errorf("the last member cannot leave: %v", err)
		}
	})
}

// A key is made while its user, its membership or its team ends: no such key works.
func TestAKeyThatIsMadeWhileItsOwnerEndsDoesNotWork(t *testing.T) {
	storetest.Each(t, func(t *testing.T, h *storetest.Database) {
		a := administered(h)
		for i := range 12 {
			team := newTeam(t, a, fmt.Sprint("team ", i))
			eve := person(t, a, api.NewUser{Email: "eve@example.com", TeamID: team})
			ends := []func() error{
				func() error { return a.DeleteUser(t.Context(), root, eve.ID) },
				func() error { return a.DeleteTeam(t.Context(), root, team) },
				func() error { return a.RemoveMember(t.Context(), root, team, eve.ID) },
			}
			var all sync.WaitGroup
			var mu sync.Mutex
			var made []string
			for range 4 {
				all.Go(func() {
					_, text, err := a.keys.Create(t.Context(), eve.ID, api.NewKey{Name: "k", TeamID: team})
					if err == nil {
						mu.Lock()
						made = append(made, text)
						mu.Unlock()
					} else if c := code(err); c != api.CodeTeamNotFound && c != api.CodeInvalidToken {
						t.Error(err)
					}
				})
			}
			all.Go(func() {
				if err := ends[i%3](); err != nil {
					t.Error(err)
				}
			})
			all.Wait()
			for _, text := range made {
				if keyOpens(keysOn(h), text) {
					t.Fatalf("end %d: a key works", i%3)
				}
			}
			if i%3 != 0 {
				if err := a.DeleteUser(t.Context(), root, eve.ID); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

func TestManagersActOnTheirOwnTeamOnly(t *testing.T) {
	storetest.Each(t, func(t *testing.T, h *storetest.Database) {
		a := administered(h)
		team, other := newTeam(t, a, "Research"), newTeam(t, a, "Sales")
		eve := person(t, a, api.NewUser{Email: "eve@example.com", TeamID: team, Role: "manager"})
		mia := person(t, a, api.NewUser{Email: "mia@example.com", TeamID: team, Key: &api.NewKey{Name: "k", TeamID: team}})
		foreign, _, err := a.CreateKey(t.Context(), root, api.AdminNewKey{NewKey: api.NewKey{Name: "s", TeamID: other}})
		if err != nil {
			t.Fatal(err)
		}
		shared, _, err := a.CreateKey(t.Context(), root, api.AdminNewKey{NewKey: api.NewKey{Name: "of the team", TeamID: team}})
		if err != nil {
			t.Fatal(err)
		}
		try := func(by Actor, key string) map[string]error {
			page := models.Page{Limit: 5}
			errs := map[string]error{}
			_, errs["members"] = a.Members(t.Context(), by, by.Team)
			_, errs["role"] = a.ChangeMember(t.Context(), by, by.Team, mia.ID, api.RoleChange{Role: "member"})
			_, _, errs["invitations"] = a.Invitations(t.Context(), by, page)
			_, errs["invite"] = a.Invite(t.Context(), by, api.NewInvitation{Email: "new@example.com"})
			_, _, errs["keys"] = a.Keys(t.Context(), by, KeyQuery{}, page)
			_, _, errs["create"] = a.CreateKey(t.Context(), by, api.AdminNewKey{NewKey: api.NewKey{Name: "n"}})
			_, errs["change"] = a.ChangeKey(t.Context(), by, key, api.AdminKeyChange{KeyChange: ofRPM(5)})
			_, _, errs["rotate"] = a.RotateKey(t.Context(), by, shared.ID, api.AdminKeyRotation{KeyRotation: api.KeyRotation{OverlapSeconds: new(int64)}})
			errs["usage"] = a.CheckTeam(t.Context(), by)
			return errs
		}
		manager := Actor{UserID: eve.ID, Team: team}
		for what, err := range try(manager, mia.Key.ID) {
			if err != nil {
				t.Errorf("a manager, %s: %v", what, err)
			}
		}
		for what, err := range try(Actor{UserID: mia.ID, Team: team}, mia.Key.ID) {
			if code(err) != api.CodeManagerRequired {
				t.Errorf("a member, %s: %v", what, err)
			}
		}
		for _, id := range []string{other, "team_X", "\x00"} {
			for what, err := range try(Actor{UserID: eve.ID, Team: id}, foreign.ID) {
				if c := code(err); c != api.CodeTeamNotFound {
					t.Errorf("another team, %s: %v", what, err)
				}
			}
		}
		if _, err := a.ChangeKey(t.Context(), manager, foreign.ID, api.AdminKeyChange{KeyChange: ofRPM(5)}); code(err) != api.CodeKeyNotFound {
			t.Errorf("a key of another team is changed: %v", err)
		}
		if err := a.RevokeKey(t.Context(), manager, foreign.ID); code(err) != api.CodeKeyNotFound {
			t.Errorf("a key of another team is revoked: %v", err)
		}
		if err := a.RemoveMember(t.Context(), Actor{UserID: mia.ID, Team: team}, team, eve.ID); code(err) != api.CodeManagerRequired {
			t.Errorf("a member removed a manager: %v", err)
		}
		if err := a.RemoveMember(t.Context(), Actor{UserID: mia.ID, Team: team}, team, mia.ID); err != nil {
			t.Errorf("a member cannot leave: %v", err)
		}
	})
}

func TestManagersDoNotChangeLimitsOfAdministratorsNorOwnersThoseOfManagers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, h *storetest.Database) {
		a := administered(h)
		team := newTeam(t, a, "Research")
		eve := person(t, a, api.NewUser{Email: "eve@example.com", TeamID: team, Role: "manager"})
		mia := person(t, a, api.NewUser{Email: "mia@example.com", TeamID: team, Key: &api.NewKey{Name: "k", TeamID: team}})
		manager, id := Actor{UserID: eve.ID, Team: team}, mia.Key.ID
		limited := func(by Actor, in api.AdminKeyChange) string {
			k, err := a.ChangeKey(t.Context(), by, id, in)
			if err != nil {
				return code(err)
			}
			return k.LimitedBy
		}
		own := func() string {
			_, err := a.keys.Change(t.Context(), mia.ID, id, ofRPM(9))
			return code(err)
		}
		if got := limited(manager, api.AdminKeyChange{KeyChange: ofRPM(5)}); got != models.LimitedByManager || own() != api.CodeLimitsFixed {
			t.Errorf("limited by %s, and the owner: %s", got, own())
		}
		if got := limited(manager, api.AdminKeyChange{LimitedBy: api.Field[string]{Named: true}}); got != "" || own() != "" {
			t.Errorf("given back: %s, and the owner: %s", got, own())
		}
		if got := limited(root, api.AdminKeyChange{KeyChange: ofRPM(5)}); got != models.LimitedByAdmin {
			t.Errorf("limited by %s", got)
		}
		for _, in := range []api.AdminKeyChange{{KeyChange: ofRPM(50)}, {LimitedBy: api.Field[string]{Named: true}}} {
			if got := limited(manager, in); got != api.CodeLimitsFixed {
				t.Errorf("a manager raised an administrator's limit: %s", got)
			}
		}
		_, text, err := a.keys.Rotate(t.Context(), mia.ID, id, api.KeyRotation{})
		if err != nil || rpmOf(t, a.keys, text) != 5 {
			t.Errorf("rotated: %v", err)
		}
	})
}

// The secret of a key that was made for somebody is shown to that user only, once.
func TestTheSecretOfAKeyIsShownToItsOwner(t *testing.T) {
	storetest.Each(t, func(t *testing.T, h *storetest.Database) {
		a := administered(h)
		team := newTeam(t, a, "Research")
		eve := person(t, a, api.NewUser{Email: "eve@example.com", TeamID: team, Role: "manager"})
		mia := person(t, a, api.NewUser{Email: "mia@example.com", TeamID: team})
		manager := Actor{UserID: eve.ID, Team: team}
		of := func(user string) api.AdminNewKey {
			return api.AdminNewKey{NewKey: api.NewKey{Name: "k", TeamID: team}, UserID: user}
		}
		for by, shown := range map[Actor]bool{manager: false, root: false, CommandLine(): true} {
			key, text, err := a.CreateKey(t.Context(), by, of(mia.ID))
			if err != nil || (text != "") != shown || key.Pending() == shown {
				t.Fatalf("%+v: %q, %+v, %v", by, text, key, err)
			}
			if shown {
				continue
			}
			if _, _, err := a.keys.Rotate(t.Context(), mia.ID, key.ID, api.KeyRotation{}); code(err) != api.CodeKeyPending {
				t.Errorf("a key without a secret is rotated: %v", err)
			}
			if _, _, err := a.keys.Fetch(t.Context(), eve.ID, key.ID); code(err) != api.CodeKeyNotFound {
				t.Errorf("another user fetches it: %v", err)
			}
			if keyOpens(a.keys, key.Hash) {
				t.Error("what stands for the secret opens it")
			}
			fetched, text, err := a.keys.Fetch(t.Context(), mia.ID, key.ID)
			if err != nil || !keyOpens(a.keys, text) || fetched.Pending() || fetched.Prefix == "" {
				t.Errorf("%+v, %v", fetched, err)
			}
			if _, _, err := a.keys.Fetch(t.Context(), mia.ID, key.ID); code(err) != api.CodeSecretFetched {
				t.Errorf("twice: %v", err)
			}
			in := api.AdminKeyRotation{}
			switch rotated, _, err := a.RotateKey(t.Context(), by, key.ID, in); {
			case by == manager && code(err) != api.CodeSecretWithheld:
				t.Errorf("a manager rotates a member's key: %v", err)
			case by == root && (err != nil || !rotated.Pending() || !keyOpens(a.keys, text)): // the former secret works on
				t.Errorf("%+v, %v", rotated, err)
			}
		}
		reveal := of(mia.ID)
		reveal.Reveal = true
		if _, _, err := a.CreateKey(t.Context(), manager, reveal); code(err) != api.CodeSecretWithheld {
			t.Errorf("a manager is shown a secret: %v", err)
		}
		key, text, err := a.CreateKey(t.Context(), root, reveal)
		if err != nil || !keyOpens(a.keys, text) {
			t.Errorf("%v", err)
		}
		detail := h.Query(t, "SELECT detail FROM audit WHERE target = '"+key.ID+"'")
		if len(detail) != 1 || !strings.Contains(detail[0], `"secret_shown_to":"ada@example.com"`) {
			t.Errorf("the audit: %s", detail)
		}
		if n := len(h.Query(t, "SELECT detail FROM audit WHERE detail LIKE '%secret_shown_to%'")); n != 2 { // and the command line
			t.Errorf("%d secrets are shown by the audit", n)
		}
		for _, own := range []api.AdminNewKey{of(""), of(eve.ID)} { // of the team alone, and of the manager
			if _, text, err := a.CreateKey(t.Context(), manager, own); err != nil || !keyOpens(a.keys, text) {
				t.Errorf("%+v: %v", own, err)
			}
		}
	})
}

func TestTheCommandLineActsAsAnAdministrator(t *testing.T) {
	storetest.Each(t, func(t *testing.T, h *storetest.Database) {
		a := administered(h)
		if _, err := a.ChangeUser(t.Context(), CommandLine(), "bob", disable); err != nil {
			t.Fatal(err)
		}
		if got := h.Query(t, "SELECT actor_id, actor_email, action FROM audit"); strings.Join(got, "|") != "|command line|user.disable" {
			t.Errorf("%q", got)
		}
	})
}

func TestInvitationsAreListedUntilTheyAreUsedOrEnded(t *testing.T) {
	storetest.Each(t, func(t *testing.T, h *storetest.Database) {
		a := administered(h)
		team := newTeam(t, a, "Research")
		eve := person(t, a, api.NewUser{Email: "eve@example.com", TeamID: team, Role: "manager"})
		manager := Actor{UserID: eve.ID, Team: team}
		anyone, err := a.Invite(t.Context(), root, api.NewInvitation{})
		if err != nil {
			t.Fatal(err)
		}
		member, err := a.Invite(t.Context(), manager, api.NewInvitation{Email: "new@example.com", Role: "manager", TeamID: "team_OTHER"})
		if err != nil || member.TeamID != team || member.Role != models.RoleManager || member.ProvesEmail {
			t.Fatalf("%+v, %v", member, err)
		}
		list := func(by Actor) (ids []string) {
			tokens, _, err := a.Invitations(t.Context(), by, models.Page{Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			for _, token := range tokens {
				ids = append(ids, token.ID)
			}
			return ids
		}
		if all, own := list(root), list(manager); len(all) != 2 || len(own) != 1 || own[0] != member.ID {
			t.Errorf("%v, %v", all, own)
		}
		if err := a.DeleteInvitation(t.Context(), manager, anyone.ID); code(err) != api.CodeInvitationNotFound {
			t.Errorf("a manager ended another's: %v", err)
		}
		if err := a.DeleteInvitation(t.Context(), manager, member.ID); err != nil {
			t.Error(err)
		}
		if err := a.DeleteInvitation(t.Context(), root, member.ID); code(err) != api.CodeInvitationNotFound {
			t.Errorf("ended twice: %v", err)
		}
		if all := list(root); len(all) != 1 || all[0] != anyone.ID {
			t.Errorf("%v", all)
		}
		if _, err := a.Invite(t.Context(), root, api.NewInvitation{TeamID: "team_X"}); code(err) != api.CodeTeamNotFound {
			t.Error(err)
		}
	})
}

func TestUsersShowTheirBudgetAndTeamsTheirSums(t *testing.T) {
	storetest.Each(t, func(t *testing.T, h *storetest.Database) {
		a := administered(h)
		team, err := a.CreateTeam(t.Context(), root, api.NewTeam{Name: "Research", KeyLimits: budget(10)})
		if err != nil {
			t.Fatal(err)
		}
		eve := person(t, a, api.NewUser{Email: "eve@example.com", TeamID: team.ID, Role: "manager", KeyLimits: budget(50)})
		day := models.DayOf(a.now())
		for account, cost := range map[string]string{models.UserAccount(eve.ID): "1500000", models.TeamAccount(team.ID): "11000000"} {
			h.Query(t, "INSERT INTO spend (account, day, cost) VALUES ('"+account+"', '"+day+"', "+cost+")")
		}
		state, err := a.User(t.Context(), eve.ID)
		if err != nil {
			t.Fatal(err)
		}
		if b := ShowUser(state).BudgetState; b == nil || b.Spent != 1_500_000 || b.Remaining != 48_500_000 || b.ResetsAt == nil {
			t.Errorf("%+v", b)
		}
		teams, _, err := a.Teams(t.Context(), models.Page{Limit: 10})
		if err != nil || len(teams) != 1 || teams[0].Members != 1 {
			t.Fatalf("%+v, %v", teams, err)
		}
		if shown := ShowTeam(&teams[0]); shown.Spend != 11_000_000 || shown.BudgetState.Remaining != 0 {
			t.Errorf("%+v", shown)
		}
		if _, err := a.CreateTeam(t.Context(), root, api.NewTeam{Name: " Research "}); code(err) != api.CodeTeamNameTaken {
			t.Error(err)
		}
		own, err := a.OwnTeams(t.Context(), eve.ID)
		if err != nil || len(own) != 1 || own[0].Role != models.RoleManager {
			t.Errorf("%+v, %v", own, err)
		}
		if _, err := a.ChangeTeam(t.Context(), root, team.ID, api.TeamChange{KeyLimits: api.KeyLimits{Budget: api.Field[api.USD]{Named: true}}}); err != nil {
			t.Error(err)
		}
	})
}

func TestACreatedUserWithoutAPasswordKeepsTheKeyAtTheFirstIdentity(t *testing.T) {
	storetest.Each(t, func(t *testing.T, h *storetest.Database) {
		a := administered(h)
		eve, err := a.CreateUser(t.Context(), root, api.NewUser{Email: "eve@example.com", Key: &api.NewKey{Name: "k"}, Reveal: true})
		if err != nil {
			t.Fatal(err)
		}
		zoe := person(t, a, api.NewUser{Email: "zoe@example.com"})
		takeOver := func(email, subject string) (*models.User, error) {
			return h.Store.TakeOver(t.Context(), email, &models.Identity{Issuer: "i", Subject: subject, CreatedAt: 5},
				func(models.User) (*models.Audit, error) { return nil, nil })
		}
		if u, err := takeOver("eve@example.com", "1"); err != nil || u.ID != eve.ID || !keyOpens(keysOn(h), eve.KeyText) {
			t.Errorf("%+v, %v", u, err)
		}
		if _, err := takeOver("eve@example.com", "2"); !errors.Is(err, models.ErrTaken) {
			t.Errorf("a second identity: %v", err)
		}
		if _, err := takeOver("zoe@example.com", "3"); !errors.Is(err, models.ErrTaken) {
			t.Errorf("%s has a password: %v", zoe.ID, err)
		}
	})
}
