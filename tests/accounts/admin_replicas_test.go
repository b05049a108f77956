package accounts

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/longtest"
)

// TestAdministratorSeesAndLimitsUsersOnBothReplicas has an administrator limit a
// user of two replicas: both enforce it, and the audit log has it.
func TestAdministratorSeesAndLimitsUsersOnBothReplicas(t *testing.T) {
	t.Parallel()
	p := gatewaytest.StartReplicaPair(t, adminSetting)
	here, there := p.Programs[0], p.Programs[1]
	root, bob := loginAs(t, here, "root"), loginAs(t, there, "bob")
	id, key := there.CreateLimitedKey(t, bob, `"budget_usd":5`)
	var answers strings.Builder
	ask := func(at *gatewaytest.Program, method, path, body string, want int, credential []string) gatewaytest.Answer {
		t.Helper()
		a := at.Call(t, method, path, body, append([]string{"X-Request-Id", "admin-" + method}, credential...)...)
		if a.Status != want {
			t.Errorf("%s %s %s: %d %s", method, path, body, a.Status, a.Body)
		}
		answers.WriteString(a.Body)
		return a
	}
	for range 3 {
		if o := gatewaytest.Send(t.Context(), p.Client, there.URL, gatewaytest.PricedRequest(10, 20, 30, "spend", false), key); !o.Served(
			t,
		) {
			t.Fatal(o.Body)
		}
	}
	gatewaytest.Until(t, "it is in the ledger",
		func() bool { return gatewaytest.Sum(t, p.DB, "SELECT count(*) FROM ledger_calls") == 3 })

	user := userID(t, here, "bob@example.com", root)
	const cost = 3 * (10*gatewaytest.InputPrice + 20*gatewaytest.OutputPrice)
	checkMembers(
		t,
		"the user",
		jsonObject(t, ask(here, "GET", "/admin/users?email=bob@example.com", "", 200, root))["data"].([]any)[0].(map[string]any),
		`{"keys":1,"spend_usd":0.0045,"admin":false,"disabled_at":null}`,
	)
	checkMembers(t, "the key", findListed(t, there, "/admin/keys", id, root), `{"budget_usd":5,"spend_usd":0.0045,"user_email":"bob@example.com"}`)
	checkMembers(
		t,
		"the usage",
		jsonObject(t, ask(there, "GET", "/admin/usage?group_by=key", "", 200, root))["total"].(map[string]any),
		`{"calls":3,"input_tokens":30,"output_tokens":60,"cost_usd":0.0045}`,
	)
	if cost != 4500 {
		t.Fatal(cost)
	}
	for _, path := range []string{"/admin/users", "/admin/keys", "/admin/usage", "/admin/audit"} {
		for credential, want := range map[*[]string]int{&bob: 403, {"X-API-Key", key}: 401, {}: 401} {
			ask(there, "GET", path, "", want, *credential)
		}
	}

	opens := func() string {
		var all []string
		for _, at := range p.Programs {
			o := gatewaytest.Send(t.Context(), p.Client, at.URL, gatewaytest.PricedRequest(1, 1, 2000, "spend", false), key)
			all = append(all, fmt.Sprint(o.Status), fmt.Sprint(at.Call(t, "GET", "/auth/keys", "", bob...).Status))
		}
		return strings.Join(all, " ")
	}
	becomes := func(want string) {
		t.Helper()
		began, late := time.Now(), longtest.Lateness(t)
		for got := opens(); got != want; got = opens() {
			if time.Since(began) > time.Second+late() {
				t.Fatalf("a second later it is %s, not %s", got, want)
			}
		}
	}
	becomes("200 200 200 200")
	ask(here, "PATCH", "/admin/keys/"+id, `{"budget_usd":0.05}`, 200, root)
	becomes("402 200 402 200")
	for _, body := range []string{`{"budget_usd":5}`, `{"budget_usd":null}`, `{"budget_window":"day"}`, `{"models":null}`, `{"expires_at":null}`} {
		if f := ask(there, "PATCH", "/auth/keys/"+id, body, 403, bob).APIError(t); f.Code != "limits_fixed" ||
			f.Type != "permission_error" {
			t.Errorf("%s: %+v", body, f)
		}
	}
	ask(here, "PATCH", "/admin/users/"+user, `{"disabled":true}`, 200, root)
	becomes("401 401 401 401")
	ask(there, "PATCH", "/admin/users/"+user, `{"disabled":false}`, 200, root)
	becomes("402 401 402 401") // the tokens of before stay ended
	bob = loginAs(t, there, "bob")
	becomes("402 200 402 200")
	ask(there, "PATCH", "/admin/keys/"+id, `{"budget_usd":5,"limited_by":null}`, 200, root)
	becomes("200 200 200 200")
	ask(here, "DELETE", "/admin/keys/"+id, "", 200, root)
	becomes("401 200 401 200")

	list := listData(t, ask(here, "GET", "/admin/audit", "", 200, root))
	wants := []string{"key.revoke", "key.limit", "user.enable", "user.disable", "key.limit"}
	if len(list) != len(wants) {
		t.Fatalf("%v", list)
	}
	for i, want := range wants {
		request, target := "admin-PATCH", id
		if want == "key.revoke" {
			request = "admin-DELETE"
		}
		if strings.HasPrefix(want, "user.") {
			target = user
		}
		checkMembers(
			t,
			want,
			list[i],
			fmt.Sprintf(
				`{"action":%q,"target":%q,"request_id":%q,"actor_email":"root@example.com","address":"127.0.0.1"}`,
				want,
				target,
				request,
			),
		)
		detail, _ := list[i]["detail"].(map[string]any)
		if detail["before"] == nil || detail["after"] == nil {
			t.Errorf("%s: %v", want, detail)
		}
	}
	for _, statement := range []string{"UPDATE audit SET actor_email = 'nobody'", "DELETE FROM audit", "TRUNCATE audit"} {
		if _, err := p.DB.ExecContext(t.Context(), statement); err == nil {
			t.Errorf("%s is done", statement)
		}
	}
	digest := sha256.Sum256([]byte(key))
	for _, secret := range []string{
		key, root[1][len("Bearer "):], bob[1][len("Bearer "):], "correct horse", hex.EncodeToString(digest[:]), `"hash"`, `"password":`, "password_hash",
	} {
		if strings.Contains(answers.String(), secret) {
			t.Errorf("an answer has %.12s", secret)
		}
	}
}
