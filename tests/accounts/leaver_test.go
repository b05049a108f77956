package accounts

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
)

// A user who made a call with a key of a team is deleted, and then erased.
func TestWhoWasDeletedIsNamedToAdministratorsUntilErased(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		settings = append(settings, "SIMULATOR=true", "AUTH_RATE_LIMIT_RPM=0", gatewaytest.JWTSecret, adminSetting)
		p := gatewaytest.Start(t, settings...)
		root, eve := loginAs(t, p, "root"), loginAs(t, p, "eve")
		loginAs(t, p, "ada")
		ada := userID(t, p, "ada@example.com", root)
		team := member(t, must(t, 201, p.Call(t, "POST", "/admin/teams", `{"name":"Research"}`, root...)), "id")
		must(t, 201, p.Call(t, "POST", "/admin/teams/"+team+"/members", `{"email":"eve@example.com","role":"manager"}`, root...))
		must(t, 201, p.Call(t, "POST", "/admin/teams/"+team+"/members", `{"email":"ada@example.com"}`, root...))
		key := member(t, must(t, 201, p.Call(t, "POST", "/admin/keys", `{"name":"n","user_id":"`+ada+`","team_id":"`+team+`","reveal":true}`, root...)), "key")
		must(t, 200, p.Call(t, "POST", "/v1/chat/completions", gatewaytest.HelloRequest, "Authorization", "Bearer "+key))
		gatewaytest.Until(t, "the call is in the ledger", func() bool {
			return strings.Contains(p.Call(t, "GET", "/admin/usage", "", root...).Body, `"calls":1`)
		})
		must(t, 200, p.Call(t, "DELETE", "/admin/users/"+ada, "", root...))
		call := fmt.Sprint(listData(t, p.Call(t, "GET", "/admin/calls?user_id="+ada, "", root...))[0]["id"])

		ofTeam := "/auth/teams/" + team
		lists := []struct {
			path   string
			rows   func(gatewaytest.Answer) []map[string]any
			toRoot bool
		}{
			{"/admin/calls?q=ADA@", nil, true}, {"/admin/calls?user_id=" + ada, nil, true}, {"/admin/calls/" + call, one(t), true},
			{"/admin/usage?group_by=user", nil, true}, {"/admin/usage?step=1d&group_by=user&user_id=" + ada, nil, true},
			{ofTeam + "/calls?user_id=" + ada, nil, false}, {ofTeam + "/calls/" + call, one(t), false},
			{ofTeam + "/usage?group_by=user", nil, false}, {ofTeam + "/usage?step=1d&group_by=user", nil, false},
		}
		named := func(what string, toRoot bool) {
			t.Helper()
			for _, list := range lists {
				token := eve
				if strings.HasPrefix(list.path, "/admin") {
					token = root
				}
				rows := func(a gatewaytest.Answer) []map[string]any { return listData(t, a) }
				if list.rows != nil {
					rows = list.rows
				}
				found := rows(must(t, 200, p.Call(t, "GET", list.path, "", token...)))
				want := list.toRoot && toRoot
				if strings.Contains(list.path, "?q=") && !want {
					if len(found) != 0 {
						t.Errorf("%s: %s finds %v", what, list.path, found)
					}
					continue
				}
				if len(found) != 1 || found[0]["user_id"] != ada || (found[0]["user_email"] == "ada@example.com") != want ||
					(found[0]["user_email"] != nil) != want || (found[0]["user_deleted_at"] != nil) != want {
					t.Errorf("%s: %s: %v", what, list.path, found)
				}
			}
		}
		named("deleted", true)
		if found := listData(t, p.Call(t, "GET", ofTeam+"/calls?q=ada@", "", eve...)); len(found) != 0 {
			t.Errorf("a manager finds %v", found)
		}
		table := p.Call(t, "GET", "/admin/usage?group_by=user", "", append(root, "Accept", "text/csv")...).Body
		if !strings.HasPrefix(table, "user_id,user_email,user_deleted_at,calls,") || !strings.Contains(table, ada+",ada@example.com,1") {
			t.Error(table)
		}
		today := "ada@example.com, deleted " + time.Now().Format("2 Jan") // a day that ends meanwhile is as good
		for _, command := range []string{"usage --by user", "calls " + call, "usage --by user --user ada@example.com"} {
			if out := gatewaytest.Command(t, settings, strings.Fields(command)...); !strings.Contains(out, today) {
				t.Errorf("%s:\n%s", command, out)
			}
		}

		erase := func(status int, id, body string) {
			t.Helper()
			must(t, status, p.Call(t, "POST", "/admin/users/"+id+"/erase", body, root...))
		}
		loginAs(t, p, "ada") // again, with the same address
		erase(409, ada, "")
		erase(400, ada, `{"del":true}`)
		erase(409, userID(t, p, "root@example.com", root), `{"delete":true}`)
		erase(409, userID(t, p, "eve@example.com", root), `{}`)
		named("not erased", true)
		again := userID(t, p, "ada@example.com", root)
		erase(200, ada, `{"delete":true}`)
		named("erased", false)
		erase(404, ada, "")
		erase(404, again, "")
		if a := p.Call(t, "GET", "/admin/users/"+again, "", root...); a.Status != 404 {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		trail := listData(t, p.Call(t, "GET", "/admin/audit?limit=200", "", root...))
		if text := strings.ToLower(fmt.Sprint(trail)); strings.Contains(text, "ada@") || !strings.Contains(text, "root@example.com") {
			t.Error(text)
		}
		at := slices.IndexFunc(trail, func(row map[string]any) bool { return row["action"] == "user.erase" })
		if at < 0 || trail[at]["target"] != ada || trail[at]["actor_email"] != "root@example.com" || trail[at]["target_name"] != nil {
			t.Errorf("%v", trail)
		}
	})
}

// one reads an answer with one object as a list of it.
func one(t *testing.T) func(gatewaytest.Answer) []map[string]any {
	return func(a gatewaytest.Answer) []map[string]any { return []map[string]any{jsonObject(t, a)} }
}
