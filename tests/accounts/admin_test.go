package accounts

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/servertest"
)

const adminSetting = "ADMIN_EMAILS=Root@Example.com"

// listData returns the entries of a list, but for the entry of the audit of the set-up
// that loginAs has done.
func listData(t testing.TB, a gatewaytest.Answer) []map[string]any {
	t.Helper()
	if a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	data, _ := jsonObject(t, a)["data"].([]any)
	list := make([]map[string]any, len(data))
	for i, entry := range data {
		list[i], _ = entry.(map[string]any)
	}
	return slices.DeleteFunc(list, func(entry map[string]any) bool { return entry["action"] == "user.setup" })
}

// userID returns the id of the user with this address.
func userID(t testing.TB, p *gatewaytest.Program, email string, root []string) string {
	t.Helper()
	list := listData(t, p.Call(t, "GET", "/admin/users?email="+email, "", root...))
	if len(list) != 1 {
		t.Fatalf("%s: %v", email, list)
	}
	id, _ := list[0]["id"].(string)
	return id
}

// auditActions returns the actions of the audit log with their targets, the newest
// first.
func auditActions(t testing.TB, p *gatewaytest.Program, root []string) []string {
	t.Helper()
	var acts []string
	for _, entry := range listData(t, p.Call(t, "GET", "/admin/audit", "", root...)) {
		acts = append(acts, fmt.Sprint(entry["action"], " ", entry["target"]))
	}
	return acts
}

// adminOperations are the operations of administrators; %s stands for an id.
var adminOperations = []struct{ method, path, body string }{
	{"GET", "/admin/users", ""},
	{"POST", "/admin/users", `{"email":"new@example.com"}`},
	{"GET", "/admin/users/%s", ""},
	{"PATCH", "/admin/users/%s", `{"disabled":true}`},
	{"DELETE", "/admin/users/%s", ""},
	{"POST", "/admin/users/%s/erase", ""},
	{"POST", "/admin/users/%s/reset", ""},
	{"GET", "/admin/invitations", ""},
	{"POST", "/admin/invitations", `{}`},
	{"DELETE", "/admin/invitations/%s", ""},
	{"GET", "/admin/teams", ""},
	{"POST", "/admin/teams", `{"name":"n"}`},
	{"GET", "/admin/teams/%s", ""},
	{"PATCH", "/admin/teams/%s", `{"rpm_limit":1}`},
	{"DELETE", "/admin/teams/%s", ""},
	{"GET", "/admin/teams/%s/members", ""},
	{"POST", "/admin/teams/%s/members", `{"user_id":"usr_X"}`},
	{"PATCH", "/admin/teams/%s/members/%s", `{"role":"manager"}`},
	{"DELETE", "/admin/teams/%s/members/%s", ""},
	{"POST", "/admin/keys", `{"name":"n","user_id":"usr_X"}`},
	{"GET", "/admin/usage", ""},
	{"GET", "/admin/statement", ""},
	{"GET", "/admin/keys", ""},
	{"PATCH", "/admin/keys/%s", `{"rpm_limit":1}`},
	{"POST", "/admin/keys/%s/rotate", `{}`},
	{"DELETE", "/admin/keys/%s", ""},
	{"GET", "/admin/audit", ""},
	{"GET", "/admin/providers", ""},
	{"GET", "/admin/settings", ""},
	{"GET", "/admin/budget", ""},
	{"GET", "/admin/budgets", ""},
}

func TestAdminEndpointsRefuseEveryoneElse(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "SIMULATOR=true", gatewaytest.JWTSecret, adminSetting)
	root, bob := loginAs(t, p, "root"), loginAs(t, p, "bob")
	id, key := p.CreateKey(t, root)
	for _, op := range adminOperations {
		path := strings.ReplaceAll(op.path, "%s", id)
		for _, tt := range []struct {
			status     int
			typ, code  string
			credential []string
		}{
			{401, "authentication_error", "missing_credentials", nil},
			{401, "authentication_error", "invalid_token", []string{"Authorization", "Bearer " + key}},
			{401, "authentication_error", "missing_credentials", []string{"X-API-Key", key}},
			{401, "authentication_error", "invalid_token", []string{"Authorization", root[1] + "x"}},
			{403, "permission_error", "admin_required", bob},
		} {
			if a := p.Call(t, op.method, path, op.body, tt.credential...); a.Status != tt.status || a.APIError(t).Type != tt.typ ||
				a.APIError(t).Code != tt.code {
				t.Errorf("%s %s: %d %s, not %s", op.method, path, a.Status, a.Body, tt.code)
			}
		}
	}
	if acts := auditActions(t, p, root); len(acts) != 0 {
		t.Errorf("those who did not get in did %v", acts)
	}
	if findListed(t, p, "/admin/keys", id, root) == nil {
		t.Error("the key is gone")
	}
}

func TestAdminEndpointsRefuseEveryoneWithoutAdministrators(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "SIMULATOR=true", gatewaytest.JWTSecret)
	for _, op := range adminOperations {
		path := strings.ReplaceAll(op.path, "%s", "key_x")
		for _, name := range []string{"ada", "admin"} {
			if a := p.Call(t, op.method, path, op.body, loginAs(t, p, name)...); a.Status != 403 || a.APIError(t).Code != "admin_required" {
				t.Errorf("%s %s: %d %s", op.method, path, a.Status, a.Body)
			}
		}
		if a := p.Call(t, op.method, path, op.body); a.Status != 401 {
			t.Errorf("%s %s: %d %s", op.method, path, a.Status, a.Body)
		}
	}
}

// The e-mail claim of a token gives no rights.
func TestAdministratorIsDecidedByTheDatabaseNotTheToken(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		p := gatewaytest.Start(t, append(settings, "SIMULATOR=true", gatewaytest.JWTSecret, adminSetting)...)
		root, bob := loginAs(t, p, "root"), loginAs(t, p, "bob")
		if a := p.Call(t, "GET", "/admin/users", "", root...); a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		db := gatewaytest.OpenDatabase(t, settings)
		gatewaytest.Execute(t, db, "UPDATE users SET email = 'former@example.com', admin_at = 0 WHERE email = 'root@example.com'")
		gatewaytest.Execute(t, db, "UPDATE users SET email = 'root@example.com' WHERE email = 'bob@example.com'")
		if a := p.Call(t, "GET", "/admin/users", "", bob...); a.Status != 403 {
			t.Errorf("who has the address, not proven: %d", a.Status)
		}
		gatewaytest.Execute(t, db, "UPDATE users SET verified_at = 1 WHERE email = 'root@example.com'")
		if a := p.Call(t, "GET", "/admin/users", "", root...); a.Status != 403 {
			t.Errorf("who has the address no more: %d", a.Status)
		}
		if a := p.Call(t, "GET", "/admin/users", "", bob...); a.Status != 200 {
			t.Errorf("who has the address: %d", a.Status)
		}
	})
}

func TestGatewayRefusesToStartWithAnInvalidAdminEmail(t *testing.T) {
	t.Parallel()
	p, err := gatewaytest.TryStart(t, "ADMIN_EMAILS=a@example.com,root(x)@example.com")
	if err == nil {
		_ = p.Stop()
	}
	if err == nil || !strings.Contains(err.Error(), "ADMIN_EMAILS") || strings.Contains(err.Error(), "root") {
		t.Errorf("%v", err)
	}
}

func TestDisabledUserIsRefusedOnBothReplicasWithinASecond(t *testing.T) {
	settings := []string{
		"SIMULATOR=true",
		"REQUIRE_AUTH=true",
		gatewaytest.JWTSecret,
		adminSetting,
		"DATABASE_URL=" + servertest.Postgres(t),
		"REDIS_URL=" + servertest.Redis(t),
	}
	here, there := gatewaytest.Start(t, settings...), gatewaytest.Start(t, settings...)
	root, bob := loginAs(t, here, "root"), loginAs(t, here, "bob")
	_, key := here.CreateKey(t, bob)
	id := userID(t, here, "bob@example.com", root)
	opens := func(p *gatewaytest.Program) (n int) {
		for _, credential := range [][]string{bob, {"X-API-Key", key}} {
			if p.Call(t, "GET", "/v1/models", "", credential...).Status == 200 {
				n++
			}
		}
		return n
	}
	set := func(disabled bool) map[string]any {
		a := here.Call(t, "PATCH", "/admin/users/"+id, fmt.Sprintf(`{"disabled":%t}`, disabled), root...)
		if a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		return jsonObject(t, a)
	}
	if opens(here)+opens(there) != 4 {
		t.Fatal("bob's credentials open nothing")
	}
	before := time.Now().Unix()
	if u := set(true); u["disabled_at"] == nil || u["disabled_at"].(interface{ String() string }).String() < fmt.Sprint(before) {
		t.Errorf("%v", u)
	}
	for began := time.Now(); opens(here)+opens(there) > 0; {
		if time.Since(began) > time.Second {
			t.Fatal("still accepted a second later")
		}
	}
	if a := here.Call(t, "POST", "/auth/login", `{"email":"bob@example.com","password":"correct horse battery"}`); a.Status != 401 {
		t.Errorf("logged in: %d", a.Status)
	}
	checkMembers(t, "disabled again", set(true), `{"email":"bob@example.com","admin":false,"keys":1,"spend_usd":0}`)
	checkMembers(t, "enabled", set(false), `{"disabled_at":null,"keys":1}`)
	set(false)
	gatewaytest.Until(t, "the key opens again", func() bool { return opens(here)+opens(there) == 2 })
	if a := here.Call(t, "GET", "/auth/keys", "", bob...); a.Status != 401 {
		t.Errorf("a token from before the disable: %d", a.Status)
	}
	bob = loginAs(t, here, "bob")
	gatewaytest.Until(t, "bob's credentials open again", func() bool { return opens(here)+opens(there) == 4 })
	if acts := auditActions(t, here, root); len(acts) != 2 || acts[0] != "user.enable "+id || acts[1] != "user.disable "+id {
		t.Errorf("%v", acts) // a change without effect is not recorded
	}
}

func TestAdministratorCannotDisableThemselvesOrUnknownUsers(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "SIMULATOR=true", gatewaytest.JWTSecret, adminSetting)
	root := loginAs(t, p, "root")
	self := userID(t, p, "root@example.com", root)
	for _, tt := range []struct {
		id, body    string
		status      int
		code, param string
	}{
		{self, `{"disabled":true}`, 409, "invalid_value", "disabled"},
		{"usr_NOBODY", `{"disabled":true}`, 404, "user_not_found", ""},
		{"%00", `{"disabled":true}`, 404, "user_not_found", ""},
		{self, `{}`, 400, "missing_field", "disabled"},
		{self, `{"disabled":null}`, 400, "missing_field", "disabled"},
		{self, `{"disabled":1}`, 400, "invalid_value", "disabled"},
		{self, `{"disabled":"true"}`, 400, "invalid_value", "disabled"},
		{self, `{`, 400, "invalid_json", ""},
	} {
		a := p.Call(t, "PATCH", "/admin/users/"+tt.id, tt.body, root...)
		f := a.APIError(t)
		if a.Status != tt.status || f.Code != tt.code || f.Type != "invalid_request_error" ||
			tt.param != "" && (f.Param == nil || *f.Param != tt.param) {
			t.Errorf("%+v: %d %s", tt, a.Status, a.Body)
		}
	}
	checkMembers(
		t,
		"enabled already",
		jsonObject(t, p.Call(t, "PATCH", "/admin/users/"+self, `{"disabled":false}`, root...)),
		`{"disabled_at":null,"admin":true,"email":"root@example.com"}`,
	)
	if acts := auditActions(t, p, root); len(acts) != 0 {
		t.Errorf("%v", acts)
	}
}

func TestOwnerCannotChangeLimitsSetByAnAdministrator(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		p := gatewaytest.Start(t, append(settings, "SIMULATOR=true", gatewaytest.JWTSecret, adminSetting)...)
		root, bob := loginAs(t, p, "root"), loginAs(t, p, "bob")
		id, _ := p.CreateKey(t, bob)
		p.Call(t, "PATCH", "/auth/keys/"+id, `{"tpm_limit":5}`, bob...)
		owner := `"user_email":"bob@example.com","user_id":"` + userID(t, p, "bob@example.com", root) + `"`

		limit := func(body, want string) {
			t.Helper()
			a := p.Call(t, "PATCH", "/admin/keys/"+id, body, root...)
			if a.Status != 200 {
				t.Fatalf("%s: %d %s", body, a.Status, a.Body)
			}
			checkMembers(t, body, jsonObject(t, a), want)
			checkMembers(t, body, findListed(t, p, "/admin/keys", id, root), want)
		}
		limit(`{"name":"renamed"}`, `{"name":"renamed","limited_by":null,"tpm_limit":5,`+owner+`}`)
		limit(
			`{"rpm_limit":1,"budget_usd":3}`,
			`{"limited_by":"admin","rpm_limit":1,"tpm_limit":5,"budget_usd":3,"budget_window":"month","budget":{"limit_usd":3,"spent_usd":0,"remaining_usd":3,"began_at":`+fmt.Sprint(
				time.Unix(nextMonth(), 0).UTC().AddDate(0, -1, 0).Unix(),
			)+`,"resets_at":`+fmt.Sprint(nextMonth())+`},`+owner+`}`,
		)
		for _, body := range []string{`{"rpm_limit":null}`, `{"rpm_limit":1}`, `{"tpm_limit":6}`, `{"name":"b","models":null}`, `{"expires_at":null}`, `{"max_parallel_requests":1}`, `{"budget_usd":4}`, `{"budget_window":"day"}`} {
			if a := p.Call(t, "PATCH", "/auth/keys/"+id, body, bob...); a.Status != 403 || a.APIError(t).Type != "permission_error" ||
				a.APIError(t).Code != "limits_fixed" {
				t.Errorf("%s: %d %s", body, a.Status, a.Body)
			}
		}
		a := p.Call(t, "PATCH", "/auth/keys/"+id, `{"name":"mine"}`, bob...)
		checkMembers(t, "a name", jsonObject(t, a), `{"name":"mine","limited_by":"admin","rpm_limit":1}`)

		limit(`{"limited_by":null}`, `{"limited_by":null,"rpm_limit":1,"tpm_limit":5}`)
		if a := p.Call(t, "PATCH", "/auth/keys/"+id, `{"rpm_limit":9}`, bob...); a.Status != 200 {
			t.Errorf("given back: %d %s", a.Status, a.Body)
		}
		limit(`{"limited_by":"admin"}`, `{"limited_by":"admin","rpm_limit":9}`)
		limit(`{"limited_by":null,"rpm_limit":2}`, `{"limited_by":null,"rpm_limit":2}`)
		limit(`{}`, `{"limited_by":null,"rpm_limit":2}`)
		limit(`{"rpm_limit":2}`, `{"limited_by":"admin","rpm_limit":2}`)
		limit(`{"rpm_limit":2}`, `{"limited_by":"admin","rpm_limit":2}`)
		acts := strings.Join(auditActions(t, p, root), ",")
		if want := strings.Repeat("key.limit "+id+",", 5) + "key.rename " + id; acts != want {
			t.Errorf("%s, not %s", acts, want) // a change without effect is not recorded
		}
	})
}

func nextMonth() int64 {
	now := time.Now().UTC()
	return time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC).Unix()
}

func TestInvalidLimitsFromAdministratorsAreRefused(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "SIMULATOR=true", gatewaytest.JWTSecret, adminSetting)
	root, bob := loginAs(t, p, "root"), loginAs(t, p, "bob")
	id, _ := p.CreateKey(t, bob)
	bad := append([]struct{ members, code, param string }{
		{`"limited_by":"owner"`, "invalid_value", "limited_by"},
		{`"limited_by":""`, "invalid_value", "limited_by"},
		{`"limited_by":true`, "invalid_value", "limited_by"},
	}, invalidLimits...)
	for _, bad := range bad {
		a := p.Call(t, "PATCH", "/admin/keys/"+id, `{"name":"another",`+bad.members+`}`, root...)
		if f := a.APIError(t); a.Status != 400 || f.Code != bad.code || f.Param == nil || *f.Param != bad.param {
			t.Errorf("%s: %d %s", bad.members, a.Status, a.Body)
		}
	}
	for _, unknown := range []string{"key_UNKNOWN", "%00", "usr_x"} {
		if a := p.Call(t, "PATCH", "/admin/keys/"+unknown, `{"rpm_limit":1}`, root...); a.Status != 404 ||
			a.APIError(t).Code != "key_not_found" {
			t.Errorf("%s: %d %s", unknown, a.Status, a.Body)
		}
		if a := p.Call(t, "DELETE", "/admin/keys/"+unknown, "", root...); a.Status != 404 || a.APIError(t).Code != "key_not_found" {
			t.Errorf("%s: %d %s", unknown, a.Status, a.Body)
		}
	}
	checkMembers(t, "the key", findListed(t, p, "/auth/keys", id, bob), `{"name":"app","rpm_limit":null,"limited_by":null}`)
	if acts := auditActions(t, p, root); len(acts) != 0 {
		t.Errorf("%v", acts)
	}
}

func TestAdministratorRevokesTheKeyOfAnyUser(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		p := gatewaytest.Start(t, append(settings, "SIMULATOR=true", "REQUIRE_AUTH=true", gatewaytest.JWTSecret, adminSetting)...)
		root, bob := loginAs(t, p, "root"), loginAs(t, p, "bob")
		id, key := p.CreateKey(t, bob)
		if a := p.Chat(t, gatewaytest.HelloRequest, "X-API-Key", key); a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		if a := p.Call(t, "DELETE", "/admin/keys/"+id, "", root...); a.Status != 200 ||
			a.Body != `{"id":"`+id+`","object":"api_key","deleted":true}` {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		if a := p.Chat(t, gatewaytest.HelloRequest, "X-API-Key", key); a.Status != 401 || a.APIError(t).Code != "invalid_api_key" {
			t.Errorf("a revoked key: %d %s", a.Status, a.Body)
		}
		if a := p.Call(t, "DELETE", "/admin/keys/"+id, "", root...); a.Status != 404 {
			t.Errorf("twice: %d", a.Status)
		}
		if findListed(t, p, "/admin/keys", id, root) != nil || findListed(t, p, "/auth/keys", id, bob) != nil {
			t.Error("still listed")
		}
		if acts := auditActions(t, p, root); len(acts) != 1 || acts[0] != "key.revoke "+id {
			t.Errorf("%v", acts)
		}
	})
}

func TestAuditLogRecordsActorActionTargetAndAddress(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		p := gatewaytest.Start(t, append(settings, "SIMULATOR=true", gatewaytest.JWTSecret, adminSetting)...)
		root, bob := loginAs(t, p, "root"), loginAs(t, p, "bob")
		id, key := p.CreateKey(t, bob)
		began := time.Now().Unix()
		p.Call(
			t,
			"PATCH",
			"/admin/keys/"+id,
			`{"rpm_limit":4,"budget_usd":1.25,"budget_window":"day"}`,
			append([]string{"X-Request-Id", "the-request"}, root...)...)
		self, other := userID(t, p, "root@example.com", root), userID(t, p, "bob@example.com", root)
		a := p.Call(t, "GET", "/admin/audit", "", root...)
		list := listData(t, a)
		if len(list) != 1 || strings.Contains(a.Body, key[8:]) {
			t.Fatalf("%s", a.Body)
		}
		none := strings.Trim(unlimited, "{}")
		checkMembers(
			t,
			"the entry",
			list[0],
			`{"object":"audit_entry","actor_id":"`+self+`","actor_email":"root@example.com","action":"key.limit","target":"`+id+`","request_id":"the-request","address":"127.0.0.1",
			"detail":{"user_id":"`+other+`","prefix":"`+key[:8]+`","before":{"name":"app","revoked":false,`+none+`},
			"after":{"name":"app","revoked":false,"expires_at":null,"models":null,"rpm_limit":4,"tpm_limit":null,"max_parallel_requests":null,"budget_usd":1.25,"budget_window":"day","budget_extra_usd":null,"budget_extra_until":null,"session_budget_usd":null,"budget_reserve":null,"limited_by":"admin"}}}`,
		)
		if at, err := list[0]["at"].(interface{ Int64() (int64, error) }).Int64(); err != nil || at < began || at > time.Now().Unix() {
			t.Errorf("at %v", list[0]["at"])
		}

		p.Call(t, "PATCH", "/admin/users/"+other, `{"disabled":true}`, root...)
		p.Call(t, "PATCH", "/admin/users/"+other, `{"disabled":false}`, root...)
		p.Call(t, "DELETE", "/admin/keys/"+id, "", root...)
		list = listData(t, p.Call(t, "GET", "/admin/audit", "", root...))
		if len(list) != 4 {
			t.Fatalf("%v", list)
		}
		for i, want := range []string{`{"revoked":true,"rpm_limit":4}`, `{"disabled":false}`, `{"disabled":true}`, `{"rpm_limit":4}`} {
			detail, _ := list[i]["detail"].(map[string]any)
			after, _ := detail["after"].(map[string]any)
			checkMembers(t, want, after, want)
		}
		for query, want := range map[string]int{
			"target=" + id: 2, "target=" + other: 2, "target=" + self: 0, "actor_id=" + self: 4, "actor_id=" + other: 0,
			"actor_id=" + self + "&target=" + id: 2, "limit=3": 3, "after=" + fmt.Sprint(list[1]["id"]): 2,
			"after=" + fmt.Sprint(list[0]["id"]) + "&limit=1&target=" + id: 1, "action=key.limit": 1, "action=key.": 2, "q=BOB@example": 2,
			"from=2026-01-01": 4, "to=2026-01-01": 0, "from=2026-01-01T00:00:00%2B01:00&action=user.": 2, "q=the-request": 1,
		} {
			if got := listData(t, p.Call(t, "GET", "/admin/audit?"+query, "", root...)); len(got) != want {
				t.Errorf("%s: %d entries, not %d", query, len(got), want)
			}
		}
		if list[0]["target_name"] != "app" || list[1]["target_name"] != "bob" || list[0]["actor_name"] != "root" {
			t.Errorf("%v", list[:2])
		}
		for _, query := range []string{"from=yesterday", "to=2026-13-01", "action=key.limit'",
			"q=" + strings.Repeat("x", 201), "q=%00", "action=Key"} {
			if a := p.Call(t, "GET", "/admin/audit?"+query, "", root...); a.Status != 400 {
				t.Errorf("%s: %d %s", query, a.Status, a.Body)
			}
		}
	})
}

func TestAdminListsArePaginated(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		p := gatewaytest.Start(t, append(settings, "SIMULATOR=true", gatewaytest.JWTSecret, adminSetting)...)
		root := loginAs(t, p, "root")
		db := gatewaytest.OpenDatabase(t, settings)
		for i := range 4 { // two at one moment
			gatewaytest.Execute(t, db, "INSERT INTO users (id, email, name, password_hash, created_at) VALUES (?, ?, 'n', 'x', ?)",
				fmt.Sprint("usr_", i), fmt.Sprint(i, "@example.com"), 1000000*(i/2))
			for j := range 2 {
				gatewaytest.Execute(
					t, db,
					"INSERT INTO api_keys (id, user_id, name, hash, prefix, created_at) VALUES (?, ?, 'n', ?, 'mgw_abcd', ?)",
					fmt.Sprintf("key_%d%d", i, j), fmt.Sprint("usr_", i), fmt.Sprintf("%d%d", i, j), 1000000*(i/2),
				)
			}
		}
		gatewaytest.Execute(t, db, "UPDATE api_keys SET revoked_at = 5 WHERE id = 'key_21'")
		gatewaytest.Execute(t, db, "INSERT INTO spend (account, day, cost) VALUES ('user:usr_2', '2020-01-01', 2500000), "+
			"('user:usr_2', '2020-01-02', 1)")
		for path, want := range map[string]string{
			"/admin/users": "root usr_3 usr_2 usr_1 usr_0",
			"/admin/keys":  "key_31 key_30 key_20 key_11 key_10 key_01 key_00",
		} {
			for _, limit := range []int{1, 2, 3, 5, 7, 200} {
				var ids []string
				for after, more := "", true; more; {
					a := p.Call(t, "GET", fmt.Sprintf("%s?limit=%d%s", path, limit, after), "", root...)
					list := listData(t, a)
					for _, entry := range list {
						id, _ := entry["id"].(string)
						if entry["email"] == "root@example.com" {
							id = "root"
						}
						ids = append(ids, id)
					}
					more, _ = jsonObject(t, a)["has_more"].(bool)
					if len(list) == 0 || len(list) > limit || more && len(list) < limit {
						t.Fatalf("%d entries of %d, more: %t", len(list), limit, more)
					}
					after = "&after=" + fmt.Sprint(list[len(list)-1]["id"])
				}
				if got := strings.Join(ids, " "); got != want {
					t.Errorf("%s by %d: %s", path, limit, got)
				}
			}
		}
		checkMembers(
			t,
			"sums",
			findListed(t, p, "/admin/users", "usr_2", root),
			`{"keys":1,"spend_usd":2.500001,"admin":false,"created_at":1,"disabled_at":null,"name":"n"}`,
		)
		if list := listData(t, p.Call(t, "GET", "/admin/keys?user_id=usr_1&after=key_11", "", root...)); len(list) != 1 ||
			list[0]["id"] != "key_10" ||
			list[0]["user_id"] != "usr_1" ||
			list[0]["user_email"] != "1@example.com" {
			t.Errorf("%v", list)
		}
		if list := listData(t, p.Call(t, "GET", "/admin/keys?after=key_21", "", root...)); len(list) != 5 {
			t.Errorf("after a key that was revoked since: %v", list)
		}
		for query, want := range map[string]int{"users?email=2@Example.com": 1, "users?email=unknown@example.com": 0, "keys?user_id=usr_9": 0} {
			if list := listData(t, p.Call(t, "GET", "/admin/"+query, "", root...)); len(list) != want {
				t.Errorf("%s: %v", query, list)
			}
		}
		for query, param := range map[string]string{
			"users?limit=0": "limit", "users?limit=201": "limit", "keys?limit=x": "limit", "audit?limit=-1": "limit", "users?limit=": "limit",
			"users?after=usr_9": "after", "keys?after=key_9": "after", "keys?after=%00": "after", "audit?after=a%20b": "after",
			"keys?user_id=%00": "user_id", "audit?target=a%2Fb": "target", "audit?actor_id=%FF": "actor_id", "users?email=x": "email",
		} {
			if a := p.Call(t, "GET", "/admin/"+query, "", root...); a.Status != 400 || a.APIError(t).Param == nil ||
				*a.APIError(t).Param != param {
				t.Errorf("%s: %d %s", query, a.Status, a.Body)
			}
		}
	})
}
