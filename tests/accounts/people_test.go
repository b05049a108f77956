package accounts

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/longtest"
)

// must returns the answer of a request that has to succeed with this status.
func must(t testing.TB, status int, a gatewaytest.Answer) gatewaytest.Answer {
	t.Helper()
	if a.Status != status {
		t.Fatalf("%d, not %d: %s", a.Status, status, a.Body)
	}
	return a
}

func member(t testing.TB, a gatewaytest.Answer, path ...string) string {
	t.Helper()
	value := any(jsonObject(t, a))
	for _, name := range path {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	text, _ := value.(string)
	return text
}

func TestFivePeopleWithABudgetAndAKeyEachTakeSevenCalls(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		p := gatewaytest.Start(t, append(settings, "SIMULATOR=true", "REQUIRE_AUTH=true", gatewaytest.JWTSecret, adminSetting)...)
		root := loginAs(t, p, "root") // the set-up and a login
		for i := range 5 {
			a := must(t, 201, p.Call(t, "POST", "/admin/users",
				fmt.Sprintf(`{"email":"p%d@example.com","budget_usd":50,"key":{"name":"first"},"reveal":true}`, i), root...))
			checkMembers(t, "user", jsonObject(t, a), `{"budget_usd":50,"budget_window":"month","keys":1,"verified":true}`)
			if member(t, a, "link", "url") == "" {
				t.Error("there is no link to set a password")
			}
			must(t, 200, p.Call(t, "POST", "/v1/chat/completions", `{"model":"gpt-6-luna",`+gatewaytest.HiMessages+`,"max_tokens":5}`,
				"Authorization", "Bearer "+member(t, a, "key", "key")))
		}
	})
}

// teamOperations are the operations of managers; %s stands for the id of a team.
var teamOperations = []struct{ method, path, body string }{
	{"GET", "/auth/teams/%s/members", ""},
	{"PATCH", "/auth/teams/%s/members/usr_X", `{"role":"member"}`},
	{"DELETE", "/auth/teams/%s/members/usr_X", ""},
	{"GET", "/auth/teams/%s/invitations", ""},
	{"POST", "/auth/teams/%s/invitations", `{}`},
	{"DELETE", "/auth/teams/%s/invitations/ott_X", ""},
	{"GET", "/auth/teams/%s/usage", ""},
	{"GET", "/auth/teams/%s/keys", ""},
	{"POST", "/auth/teams/%s/keys", `{"name":"n"}`},
	{"PATCH", "/auth/teams/%s/keys/key_X", `{"rpm_limit":1}`},
	{"DELETE", "/auth/teams/%s/keys/key_X", ""},
	{"POST", "/auth/teams/%s/keys/key_X/rotate", ""},
	{"POST", "/auth/teams/%s/keys/key_X/restore", ""},
}

func TestTeamEndpointsAreForManagersOfTheTeam(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		p := gatewaytest.Start(t, append(settings, "SIMULATOR=true", "AUTH_RATE_LIMIT_RPM=0", gatewaytest.JWTSecret, adminSetting)...)
		root, eve, mia := loginAs(t, p, "root"), loginAs(t, p, "eve"), loginAs(t, p, "mia")
		team := member(t, must(t, 201, p.Call(t, "POST", "/admin/teams", `{"name":"Research"}`, root...)), "id")
		other := member(t, must(t, 201, p.Call(t, "POST", "/admin/teams", `{"name":"Sales"}`, root...)), "id")
		must(t, 201, p.Call(t, "POST", "/admin/teams/"+team+"/members", `{"email":"eve@example.com","role":"manager"}`, root...))
		must(t, 201, p.Call(t, "POST", "/admin/teams/"+team+"/members", `{"email":"mia@example.com"}`, root...))
		_, key := p.CreateKey(t, eve)
		for _, op := range teamOperations {
			for _, tt := range []struct {
				team, code string
				status     int
				credential []string
			}{
				{team, "missing_credentials", 401, nil},
				{team, "invalid_token", 401, []string{"Authorization", "Bearer " + key}},
				{team, "manager_required", 403, mia},
				{other, "team_not_found", 404, eve},
				{"team_X", "team_not_found", 404, eve},
				{"%00", "team_not_found", 404, eve},
				{team, "team_not_found", 404, root}, // administrators have /admin
			} {
				a := p.Call(t, op.method, fmt.Sprintf(op.path, tt.team), op.body, tt.credential...)
				if a.Status != tt.status || a.APIError(t).Code != tt.code {
					t.Errorf("%s %s: %d %s, not %s", op.method, op.path, a.Status, a.Body, tt.code)
				}
			}
		}
		list := listData(t, p.Call(t, "GET", "/auth/teams", "", mia...))
		if len(list) != 1 || list[0]["role"] != "member" || list[0]["id"] != team {
			t.Errorf("%v", list)
		}
	})
}

// TestUsageIsSummedByTeam has calls with a key of a team, a member's key in it, and
// another key.
func TestUsageIsSummedByTeam(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		p := gatewaytest.Start(t, append(settings, "SIMULATOR=true", gatewaytest.JWTSecret, adminSetting)...)
		root, eve := loginAs(t, p, "root"), loginAs(t, p, "eve")
		team := member(t, must(t, 201, p.Call(t, "POST", "/admin/teams", `{"name":"Research"}`, root...)), "id")
		must(t, 201, p.Call(t, "POST", "/admin/teams/"+team+"/members", `{"email":"eve@example.com","role":"manager"}`, root...))
		_, plain := p.CreateKey(t, eve)
		keys := []string{
			plain,
			member(t, must(t, 201, p.Call(t, "POST", "/auth/keys", `{"name":"mine","team_id":"`+team+`"}`, eve...)), "key"),
			member(t, must(t, 201, p.Call(t, "POST", "/auth/teams/"+team+"/keys", `{"name":"shared"}`, eve...)), "key"),
		}
		for i, key := range keys {
			for range i + 1 {
				must(t, 200, p.Call(t, "POST", "/v1/chat/completions", gatewaytest.HelloRequest, "Authorization", "Bearer "+key))
			}
		}
		calls := func(path string, token []string) string {
			var all []string
			for _, row := range listData(t, p.Call(t, "GET", path, "", token...)) {
				all = append(all, fmt.Sprint(row["team_name"], "/", row["user_email"], "/", row["calls"]))
			}
			return strings.Join(all, " ")
		}
		gatewaytest.Until(t, "all calls are summed", func() bool {
			return strings.Contains(p.Call(t, "GET", "/admin/usage", "", root...).Body, `"calls":6`)
		})
		for _, tt := range []struct {
			path, want string
			token      []string
		}{
			{"/admin/usage?group_by=team", "<nil>/<nil>/1 Research/<nil>/5", root},
			{"/admin/usage?group_by=user,team", "Research/<nil>/3 <nil>/eve@example.com/1 Research/eve@example.com/2", root},
			{"/admin/usage?group_by=user&team_id=" + team, "<nil>/<nil>/3 <nil>/eve@example.com/2", root},
			{"/v1/usage?group_by=team", "<nil>/<nil>/1 Research/<nil>/2", eve},
			{"/v1/usage?team_id=" + team, "<nil>/<nil>/2", eve},
			{"/auth/teams/" + team + "/usage", "<nil>/<nil>/5", eve},
			{"/auth/teams/" + team + "/usage?group_by=user", "<nil>/<nil>/3 <nil>/eve@example.com/2", eve},
		} {
			if got := calls(tt.path, tt.token); got != tt.want {
				t.Errorf("%s: %s, not %s", tt.path, got, tt.want)
			}
		}
		must(t, 200, p.Call(t, "DELETE", "/admin/teams/"+team, "", root...))
		if got := calls("/admin/usage?group_by=team", root); got != "<nil>/<nil>/1 <nil>/<nil>/5" {
			t.Errorf("after the team is deleted: %s", got)
		}
		if a := p.Call(t, "GET", "/v1/models", "", "X-API-Key", keys[2]); a.Status != 401 {
			t.Errorf("a key of a deleted team: %d", a.Status)
		}
	})
}

// TestEndsHoldOnBothProgramsWithinASecond ends what a credential depends on in one
// program, while it is used in the other.
func TestEndsHoldOnBothProgramsWithinASecond(t *testing.T) {
	t.Parallel()
	p := gatewaytest.StartReplicaPair(t, adminSetting, "REQUIRE_AUTH=true", "AUTH_RATE_LIMIT_RPM=0", "RATE_LIMIT_RPM=0")
	here, there := p.Programs[0], p.Programs[1]
	root := loginAs(t, here, "root")
	opens := func(at *gatewaytest.Program, secret string) bool {
		return at.Call(t, http.MethodGet, "/v1/usage", "", "Authorization", "Bearer "+secret).Status == 200
	}
	ends := map[string]func(user, team, key string){
		"the user is deleted": func(user, _, _ string) { must(t, 200, here.Call(t, "DELETE", "/admin/users/"+user, "", root...)) },
		"the team is deleted": func(_, team, _ string) { must(t, 200, here.Call(t, "DELETE", "/admin/teams/"+team, "", root...)) },
		"the key is revoked":  func(_, _, key string) { must(t, 200, here.Call(t, "DELETE", "/admin/keys/"+key, "", root...)) },
		"the membership is ended": func(user, team, _ string) {
			must(t, 200, here.Call(t, "DELETE", "/admin/teams/"+team+"/members/"+user, "", root...))
		},
	}
	worst := time.Duration(0)
	for i := range longtest.Size(3, 15) {
		for what, end := range ends {
			name := fmt.Sprintf("%s-%d", strings.ReplaceAll(what, " ", "-"), i)
			team := member(t, must(t, 201, here.Call(t, "POST", "/admin/teams", `{"name":"`+name+`"}`, root...)), "id")
			a := must(t, 201, here.Call(t, "POST", "/admin/users", `{"email":"`+name+`@example.com","password":"correct horse battery","team_id":"`+
				team+`","reveal":true,"key":{"name":"k","team_id":"`+team+`"}}`, root...))
			user, key, old := member(t, a, "id"), member(t, a, "key", "id"), member(t, a, "key", "key")
			rotated := must(t, 201, here.Call(t, "POST", "/admin/keys/"+key+"/rotate", `{"overlap_seconds":60,"reveal":true}`, root...))
			secrets := []string{old, member(t, rotated, "key")}
			if what == "the user is deleted" {
				login := there.Call(t, "POST", "/auth/login", `{"email":"`+name+`@example.com","password":"correct horse battery"}`)
				secrets = append(secrets, member(t, must(t, 200, login), "token"))
			}
			for _, secret := range secrets {
				if !opens(here, secret) || !opens(there, secret) {
					t.Fatalf("%s: a secret does not work before", what)
				}
			}
			end(user, team, key)
			began, late := time.Now(), longtest.Lateness(t)
			for _, secret := range secrets {
				if strings.HasPrefix(secret, "mgw_") && opens(here, secret) { // a token may end a second later here as well
					t.Errorf("%s: open where it was done", what)
				}
				for opens(here, secret) || opens(there, secret) {
					if time.Since(began) > time.Second+late() {
						t.Fatalf("%s: open a second later", what)
					}
				}
			}
			worst = max(worst, time.Since(began))
		}
	}
	t.Logf("the last use passed at most %v later", worst)
}

func TestARotationEndsOnBothProgramsOnTime(t *testing.T) {
	t.Parallel()
	p := gatewaytest.StartReplicaPair(t, "REQUIRE_AUTH=true", "AUTH_RATE_LIMIT_RPM=0", "RATE_LIMIT_RPM=0")
	here, there := p.Programs[0], p.Programs[1]
	opens := func(at *gatewaytest.Program, secret string) bool {
		return at.Call(t, http.MethodGet, "/v1/usage", "", "X-API-Key", secret).Status == 200
	}
	for range longtest.Size(1, 8) {
		id, old := here.CreateKey(t, p.Token)
		a := must(t, 201, here.Call(t, "POST", "/auth/keys/"+id+"/rotate", `{"overlap_seconds":1}`, p.Token...))
		checkMembers(t, "rotated", jsonObject(t, a), `{"id":"`+id+`","name":"app"}`)
		if b := there.Call(t, "POST", "/auth/keys/"+id+"/rotate", "", p.Token...); b.Status != 409 ||
			b.APIError(t).Code != "rotation_running" {
			t.Errorf("%d %s", b.Status, b.Body)
		}
		var at int64
		if _, err := fmt.Sscan(fmt.Sprint(jsonObject(t, a)["previous_expires_at"]), &at); err != nil {
			t.Fatal(err)
		}
		end := time.Unix(at, 0)
		for n := 0; ; n++ {
			began := time.Now()
			open := opens(here, old) && opens(there, old)
			if !open {
				if began = time.Now(); began.Before(end) {
					t.Errorf("the former secret ended %v early", end.Sub(began))
				}
				break
			}
			if began.After(end) {
				t.Fatalf("the former secret works %v after its end", began.Sub(end))
			}
		}
		time.Sleep(time.Until(end))
		for _, at := range p.Programs {
			if opens(at, old) || !opens(at, gatewaytest.Field(t, a, "key")) {
				t.Error("after the end the former secret works, or the new one does not")
			}
		}
	}
}
