package accounts

import (
	"fmt"
	"testing"

	"modelgateway/api"
	"modelgateway/tests/gatewaytest"
)

func TestListsOfKeysHaveRevokedOnesAndCallsByDay(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		p := gatewaytest.Start(t, append(settings, "SIMULATOR=true", gatewaytest.JWTSecret, adminSetting,
			"MAX_BUDGET_USD=5", "DEFAULT_KEY_RPM=7", "DEFAULT_KEY_EXPIRY_DAYS=30")...)
		root, bob := loginAs(t, p, "root"), loginAs(t, p, "bob")
		id, key := p.CreateKey(t, bob)
		gone, _ := p.CreateLimitedKey(t, bob, `"budget_usd":1,"budget_window":"week"`)
		if a := p.Call(t, "DELETE", "/auth/keys/"+gone, "", bob...); a.Status != 200 {
			t.Fatal(a.Body)
		}
		if a := p.Call(t, "POST", "/v1/chat/completions", gatewaytest.HelloRequest, "Authorization", "Bearer "+key); a.Status != 200 {
			t.Fatal(a.Body)
		}
		var list api.Page[api.AdminKey]
		read := func(path string, token []string) []api.AdminKey {
			t.Helper()
			a := p.Call(t, "GET", path, "", token...)
			if a.Status != 200 {
				t.Fatalf("%s: %d %s", path, a.Status, a.Body)
			}
			list = api.Page[api.AdminKey]{}
			a.JSON(t, &list)
			return list.Data
		}
		gatewaytest.Until(t, "the call is counted", func() bool {
			keys := read("/auth/keys?days=14", bob)
			return len(keys) == 1 && len(keys[0].Calls) == 14 && keys[0].Calls[13] == 1
		})
		for path, want := range map[string]int{
			"/auth/keys": 1, "/auth/keys?state=active": 1, "/auth/keys?state=revoked": 1, "/auth/keys?state=all": 2, "/auth/keys?q=zzz": 0,
		} {
			if keys := read(path, bob); len(keys) != want {
				t.Errorf("%s: %+v", path, keys)
			}
		}
		all := read("/admin/keys?state=all&days=2&q=APP", root)
		if len(all) != 2 || all[0].RevokedAt == nil || all[0].BudgetState.BeganAt == nil ||
			*all[0].BudgetState.ResetsAt-*all[0].BudgetState.BeganAt != 7*86400 ||
			all[1].ID != id || fmt.Sprint(all[1].Calls) != "[0 1]" || all[1].RevokedAt != nil {
			t.Errorf("%+v", all)
		}
		for path, token := range map[string][]string{"/auth/keys/": bob, "/admin/keys/": root} { // one is shown, revoked or not
			for _, one := range []string{id, gone} {
				var key api.AdminKey
				p.Call(t, "GET", path+one, "", token...).JSON(t, &key)
				if key.ID != one || (key.RevokedAt != nil) != (one == gone) || (one == id) != (key.Spend > 0) {
					t.Errorf("%s: %+v", path, key)
				}
			}
		}
		var own api.KeyList
		p.Call(t, "GET", "/auth/keys", "", bob...).JSON(t, &own)
		if d := own.Defaults; d == nil || d.ExpiryDays == nil || *d.ExpiryDays != 30 ||
			d.RPMLimit == nil || *d.RPMLimit != 7 || d.Budget != nil {
			t.Errorf("%+v", own.Defaults)
		}
		for _, path := range []string{"/auth/keys?state=gone", "/auth/keys?days=0", "/admin/keys?days=x", "/admin/keys?q=%00"} {
			if a := p.Call(t, "GET", path, "", root...); a.Status != 400 {
				t.Errorf("%s: %d %s", path, a.Status, a.Body)
			}
		}
		var budget api.GatewayBudget
		p.Call(t, "GET", "/admin/budget", "", root...).JSON(t, &budget)
		if budget.Limit == nil || *budget.Limit != 5_000_000 || budget.Window != "month" ||
			budget.Remaining == nil || budget.BeganAt == nil ||
			*budget.Remaining+budget.Spent != *budget.Limit {
			t.Errorf("%+v", budget)
		}
	})
}

func TestWithoutABudgetTheSpendOfTheMonthIsShown(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, gatewaytest.JWTSecret, "SIMULATOR=true")
	var budget api.GatewayBudget
	p.Call(t, "GET", "/admin/budget", "", p.Administrator(t)...).JSON(t, &budget)
	if budget.Limit != nil || budget.Window != "" || budget.Spent != 0 || budget.BeganAt == nil || budget.ResetsAt == nil {
		t.Errorf("%+v", budget)
	}
}

func TestBudgetsThatAreNearlySpentAreListedToAdministrators(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		settings = append(settings, "SIMULATOR=true", gatewaytest.JWTSecret, adminSetting)
		var root []string
		var id string
		var spent api.USD
		t.Run("spend", func(t *testing.T) {
			p := gatewaytest.Start(t, settings...)
			root = loginAs(t, p, "root")
			bob := loginAs(t, p, "bob")
			var key string
			id, key = p.CreateKey(t, bob)
			p.Call(t, "POST", "/v1/chat/completions", gatewaytest.HelloRequest, "Authorization", "Bearer "+key)
			gatewaytest.Until(t, "the call is counted", func() bool {
				var own api.KeyList
				p.Call(t, "GET", "/auth/keys", "", bob...).JSON(t, &own)
				spent = own.Data[0].Spend
				return spent > 0
			})
			limit := fmt.Sprintf(`{"budget_usd":%g,"budget_window":"week"}`, float64(spent)/1e6)
			if a := p.Call(t, "PATCH", "/auth/keys/"+id, limit, bob...); a.Status != 200 {
				t.Fatal(a.Body)
			}
		})
		p := gatewaytest.Start(t, settings...) // counts at its start
		var list api.List[api.AccountBudget]
		gatewaytest.Until(t, "the budgets are counted", func() bool {
			p.Call(t, "GET", "/admin/budgets", "", root...).JSON(t, &list)
			return len(list.Data) > 0
		})
		b := list.Data[0]
		if len(list.Data) != 1 || b.Kind != "key" || b.ID != id || b.Name == "" || *b.Limit != spent || b.Spent != spent ||
			*b.Remaining != 0 || b.Window != "week" || *b.ResetsAt-*b.BeganAt != 7*86400 {
			t.Errorf("%+v", list.Data)
		}
	})
}
