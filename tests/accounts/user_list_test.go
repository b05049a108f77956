package accounts

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"modelgateway/api"
	"modelgateway/tests/gatewaytest"
)

// names are the parts of the addresses before the @, in the order of the list.
func names(users []api.AdminUser) string {
	all := make([]string, len(users))
	for i := range users {
		all[i], _, _ = strings.Cut(users[i].Email, "@")
	}
	return strings.Join(all, " ")
}

func TestUsersAreFoundByNameTeamStateAndSignIn(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		settings = append(settings, "SIMULATOR=true", gatewaytest.JWTSecret, adminSetting)
		p := gatewaytest.Start(t, settings...)
		root := loginAs(t, p, "root") // named by the settings, and verified
		team := gatewaytest.Field(t, must(t, 201, p.Call(t, "POST", "/admin/teams", `{"name":"Crew"}`, root...)), "id")
		create := func(body string) string {
			t.Helper()
			return gatewaytest.Field(t, must(t, 201, p.Call(t, "POST", "/admin/users", body, root...)), "id")
		}
		create(`{"email":"eve@example.com","name":"Eve O'Neil 100%","team_id":"` + team + `"}`)
		gone := create(`{"email":"dan@example.com","name":"DAN","password":"correct horse battery","team_id":"` + team + `"}`)
		create(`{"email":"chief@example.com","name":"Chief","password":"correct horse battery","admin":true}`)
		must(t, 200, p.Call(t, "PATCH", "/admin/users/"+gone, `{"disabled":true}`, root...))
		must(t, 201, p.Call(t, "POST", "/auth/register", `{"email":"new@example.com","name":"Neu Änne","password":"correct horse battery"}`))

		read := func(query string) (list api.Page[api.AdminUser]) {
			t.Helper()
			must(t, 200, p.Call(t, "GET", "/admin/users?"+query, "", root...)).JSON(t, &list)
			return list
		}
		for query, want := range map[string]string{
			"":                                   "new chief dan eve root",
			"q=dan":                              "dan",
			"q=O'nEIL":                           "eve",
			"q=EXAMPLE.com":                      "new chief dan eve root",
			"q=" + url.QueryEscape("100%"):       "eve",
			"q=" + url.QueryEscape("%"):          "eve",
			"q=_":                                "",
			"q=" + url.QueryEscape("Änne"):       "new",
			"team_id=" + team:                    "dan eve",
			"state=active":                       "new chief eve root",
			"state=disabled":                     "dan",
			"state=admin":                        "chief root",
			"state=unverified":                   "new",
			"sign_in=password":                   "new chief dan root",
			"sign_in=none":                       "eve",
			"sign_in=identity_provider":          "",
			"team_id=" + team + "&state=active":  "eve",
			"state=active&sign_in=password&q=ch": "chief",
			"team_id=team_AAAAAAAAAAAAAAAA":      "",
		} {
			if got := names(read(query).Data); got != want {
				t.Errorf("%s: %q, want %q", query, got, want)
			}
		}
		var paged []string
		for after, more := "", true; more; {
			list := read("limit=1&state=active&after=" + after)
			paged, more = append(paged, names(list.Data)), list.HasMore
			after = list.Data[0].ID
		}
		if !slices.Equal(paged, []string{"new", "chief", "eve", "root"}) {
			t.Errorf("page by page: %v", paged)
		}
		if user := read("q=eve").Data[0]; len(user.SignIn) != 0 {
			t.Errorf("%+v", user)
		}
		for query, param := range map[string]string{"state=gone": "state", "sign_in=key": "sign_in", "q=%00": "q", "team_id=" + strings.Repeat("x", 300): "team_id"} {
			if e := must(t, 400, p.Call(t, "GET", "/admin/users?"+query, "", root...)).APIError(t); e.Param == nil || *e.Param != param || e.Code != "invalid_value" {
				t.Errorf("%s: %+v", query, e)
			}
		}
		for args, want := range map[string]string{
			"--state active --team Crew": "eve@example.com", "--search dan": "dan@example.com", "--sign-in none": "eve@example.com",
		} {
			if got := gatewaytest.Command(t, settings, append([]string{"user", "list", "--quiet"}, strings.Fields(args)...)...); got != want {
				t.Errorf("user list %s: %q", args, got)
			}
		}
		gatewaytest.Command(t, settings, "user", "rename", "eve@example.com", "Eva")
		if user := read("q=eva").Data; len(user) != 1 || user[0].Name != "Eva" {
			t.Errorf("renamed: %+v", user)
		}
	})
}

func TestUsersOfAnIdentityProviderAreFoundAsSuch(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		p, _ := startWithIDP(t, append(settings, adminSetting)...)
		root := loginAs(t, p, "root")
		b := newBrowser(t, p)
		must(t, 302, b.consent(t, must(t, 302, b.send(t, "GET", "/auth/idp?console=1", nil)).Header.Get("Location")))
		var list api.Page[api.AdminUser]
		must(t, 200, p.Call(t, "GET", "/admin/users?sign_in=identity_provider", "", root...)).JSON(t, &list)
		if len(list.Data) != 1 || !slices.Equal(list.Data[0].SignIn, []string{"identity_provider"}) {
			t.Errorf("%+v", list.Data)
		}
	})
}

func TestInvitationsNameTheirTeamAndWhoInvited(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		settings = append(settings, "SIMULATOR=true", gatewaytest.JWTSecret, adminSetting)
		p := gatewaytest.Start(t, settings...)
		root := loginAs(t, p, "root")
		team := gatewaytest.Field(t, must(t, 201, p.Call(t, "POST", "/admin/teams", `{"name":"Crew"}`, root...)), "id")
		check := func(what string, i api.Invitation, team, by api.Maybe) {
			t.Helper()
			if i.TeamName != team || i.CreatedByEmail != by {
				t.Errorf("%s: %+v", what, i)
			}
		}
		var made api.CreatedInvitation
		must(t, 201, p.Call(t, "POST", "/admin/invitations", `{"team_id":"`+team+`"}`, root...)).JSON(t, &made)
		check("made", made.Invitation, "Crew", "root@example.com")
		made = api.CreatedInvitation{}
		must(t, 201, p.Call(t, "POST", "/admin/invitations", "", root...)).JSON(t, &made)
		check("without a team", made.Invitation, "", "root@example.com")
		gatewaytest.Command(t, settings, "user", "invite", "--team", "Crew", "--quiet")
		var list api.Page[api.Invitation]
		must(t, 200, p.Call(t, "GET", "/admin/invitations", "", root...)).JSON(t, &list)
		if len(list.Data) != 3 {
			t.Fatalf("%+v", list)
		}
		check("of the command line", list.Data[0], "Crew", "")
		check("listed, without a team", list.Data[1], "", "root@example.com")
		check("listed", list.Data[2], "Crew", "root@example.com")
		must(t, 200, p.Call(t, "DELETE", "/admin/invitations/"+list.Data[2].ID, "", root...))
	})
}

func TestUsersChangeTheirOwnName(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		p := gatewaytest.Start(t, append(settings, "SIMULATOR=true", gatewaytest.JWTSecret)...)
		token := p.Login(t)
		session := signIn(t, p, adaLogin)
		var user api.User
		must(t, 200, p.Call(t, "PATCH", "/auth/user", `{"name":" Ada L. "}`, token...)).JSON(t, &user)
		if user.Name != "Ada L." || user.Email != "ada@example.com" {
			t.Errorf("%+v", user)
		}
		must(t, 200, p.Call(t, "PATCH", "/auth/user", `{"name":"Ada Lovelace"}`, session...))
		var shown api.Session
		must(t, 200, p.Call(t, "GET", "/auth/session", "", session...)).JSON(t, &shown) // which has not ended
		if shown.User.Name != "Ada Lovelace" {
			t.Errorf("%+v", shown.User)
		}
		for body, code := range map[string]string{
			`{}`: "missing_field", `{"name":"  "}`: "missing_field", `{"name":"a\u0000b"}`: "invalid_value", `{"name":7}`: "invalid_value",
			`{"name":"` + strings.Repeat("x", 201) + `"}`: "invalid_value", `{"email":"eve@example.com"}`: "invalid_value",
		} {
			if e := must(t, 400, p.Call(t, "PATCH", "/auth/user", body, token...)).APIError(t); e.Code != code {
				t.Errorf("%s: %+v", body, e)
			}
		}
		wantRefusal(t, 401, "missing_credentials", p.Call(t, "PATCH", "/auth/user", `{"name":"x"}`))
		wantRefusal(t, 403, "cross_origin", p.Call(t, "PATCH", "/auth/user", `{"name":"x"}`, append(session, "Sec-Fetch-Site", "cross-site")...))
	})
}
