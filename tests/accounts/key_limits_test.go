package accounts

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/servertest"
)

// jsonObject decodes an answer's JSON object.
func jsonObject(t testing.TB, a gatewaytest.Answer) map[string]any {
	t.Helper()
	var m map[string]any
	decoder := json.NewDecoder(strings.NewReader(a.Body))
	decoder.UseNumber()
	if err := decoder.Decode(&m); err != nil {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	return m
}

// checkMembers checks the members of an object that want, a JSON object, names.
func checkMembers(t testing.TB, what string, got map[string]any, want string) {
	t.Helper()
	for name, value := range jsonObject(t, gatewaytest.Answer{Body: want}) {
		if !reflect.DeepEqual(got[name], value) {
			t.Errorf("%s: %s is %v, not %v", what, name, got[name], value)
		}
	}
}

// loginAs registers and logs in a user of this name.
func loginAs(t testing.TB, p *gatewaytest.Program, name string) []string {
	t.Helper()
	email := name + "@example.com"
	if name == "root" {
		p.SetUp(t, email)
	} else {
		a := p.Patiently(t, "/auth/register", `{"email":"`+email+`","password":"correct horse battery","name":"`+name+`"}`)
		if a.Status != 201 && a.Status != 409 {
			t.Fatalf("register: %d %s", a.Status, a.Body)
		}
	}
	a := p.Patiently(t, "/auth/login", `{"email":"`+email+`","password":"correct horse battery"}`)
	if a.Status != 200 {
		t.Fatalf("login: %d %s", a.Status, a.Body)
	}
	return []string{"Authorization", "Bearer " + gatewaytest.Field(t, a, "token")}
}

// findListed returns the entry of this id from a list, or nil.
func findListed(t testing.TB, p *gatewaytest.Program, path, id string, token []string) map[string]any {
	t.Helper()
	list := jsonObject(t, p.Call(t, "GET", path, "", token...))
	data, _ := list["data"].([]any)
	for _, entry := range data {
		if m, _ := entry.(map[string]any); m["id"] == id {
			return m
		}
	}
	return nil
}

const unlimited = `{"expires_at":null,"models":null,"rpm_limit":null,"tpm_limit":null,"max_parallel_requests":null,"budget_usd":null,"budget_window":null,"budget_extra_usd":null,"budget_extra_until":null,"session_budget_usd":null,"budget_reserve":null,"limited_by":null}`

func TestKeyLimitsAreSetShownAndChanged(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		p := gatewaytest.Start(t, append(settings, "SIMULATOR=true", gatewaytest.JWTSecret)...)
		token := p.Login(t)
		plain, _ := p.CreateKey(t, token)
		checkMembers(t, "without limits", findListed(t, p, "/auth/keys", plain, token), unlimited)
		checkMembers(t, "without limits", findListed(t, p, "/auth/keys", plain, token), `{"spend_usd":0,"budget":null}`)

		all := `"expires_at":4102444800,"models":["gpt-4","gemini-2.5-flash"],"rpm_limit":1,"tpm_limit":1000000000,"max_parallel_requests":7,"budget_usd":0.000001,"budget_window":"total"`
		a := p.Call(t, "POST", "/auth/keys", `{"name":"all",`+all+`}`, token...)
		if a.Status != 201 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		checkMembers(t, "created", jsonObject(t, a), `{"limited_by":null,`+all+`}`)
		id := gatewaytest.Field(t, a, "id")
		checkMembers(
			t,
			"listed",
			findListed(t, p, "/auth/keys", id, token),
			`{"limited_by":null,"spend_usd":0,"budget":{"limit_usd":0.000001,"spent_usd":0,"remaining_usd":0.000001,"began_at":null,"resets_at":null},`+all+`}`,
		)

		change := func(body, want string) {
			t.Helper()
			a := p.Call(t, "PATCH", "/auth/keys/"+id, body, token...)
			if a.Status != 200 {
				t.Fatalf("%s: %d %s", body, a.Status, a.Body)
			}
			checkMembers(t, body, jsonObject(t, a), want)
			if listed := findListed(t, p, "/auth/keys", id, token); !reflect.DeepEqual(listed, jsonObject(t, a)) {
				t.Errorf("%s: the list has %v", body, listed)
			}
		}
		change(`{}`, `{"name":"all",`+all+`}`)
		change(`{"name":" other "}`, `{"name":"other",`+all+`}`)
		if a := p.Call(t, "PATCH", "/auth/keys/"+id, `{"name":"no","max_parallel":1}`, token...); a.Status != 400 ||
			*a.APIError(t).Param != "max_parallel" {
			t.Errorf("a limit that is misspelt: %d %s", a.Status, a.Body)
		}
		change(
			`{"rpm_limit":2}`,
			`{"rpm_limit":2,"tpm_limit":1000000000,"max_parallel_requests":7,"models":["gpt-4","gemini-2.5-flash"],"expires_at":4102444800}`,
		)
		change(
			`{"tpm_limit":3,"max_parallel_requests":4,"models":["gpt-4"],"expires_at":4102444801}`,
			`{"rpm_limit":2,"tpm_limit":3,"max_parallel_requests":4,"models":["gpt-4"],"expires_at":4102444801}`,
		)
		change(`{"budget_usd":25.5}`, `{"budget_usd":25.5,"budget_window":"total"}`)
		change(`{"budget_window":"day"}`, `{"budget_usd":25.5,"budget_window":"day"}`)
		change(`{"budget_reserve":"worst"}`, `{"budget_usd":25.5,"budget_window":"day","budget_reserve":"worst"}`)
		change(`{"budget_reserve":null}`, `{"budget_usd":25.5,"budget_window":"day","budget_reserve":null}`)
		change(`{"budget_usd":0}`, `{"budget_usd":0,"budget_window":"day","rpm_limit":2}`)
		change(`{"budget_usd":null}`, `{"budget_usd":null,"budget_window":null,"budget":null}`)
		change(`{"budget_usd":1000000000}`, `{"budget_usd":1000000000,"budget_window":"month"}`)
		change(
			`{"name":"last","expires_at":null,"models":null,"rpm_limit":null,"tpm_limit":null,"max_parallel_requests":null,"budget_usd":null,"budget_window":null}`,
			unlimited,
		)
		change(`{"budget_window":null}`, unlimited)
	})
}

func TestKeyListShowsSpend(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		p := gatewaytest.Start(t, append(settings, "SIMULATOR=true", gatewaytest.JWTSecret)...)
		token := p.Login(t)
		id, _ := p.CreateKey(t, token)
		other, _ := p.CreateKey(t, token)
		now := time.Now().UTC()
		if tomorrow := now.Truncate(24 * time.Hour).Add(24 * time.Hour); tomorrow.Sub(now) < time.Minute {
			t.Skip("a day is about to end")
		}
		today := now.Format(time.DateOnly)
		for _, row := range []string{
			"('key:" + id + "', '2020-02-29', 5000000)", "('key:" + id + "', '" + today + "', 1500000)",
			"('key:" + other + "', '" + today + "', 7)", "('gateway', '" + today + "', 9000000)",
		} {
			gatewaytest.Execute(t, gatewaytest.OpenDatabase(t, settings), "INSERT INTO spend (account, day, cost) VALUES "+row)
		}
		end := now.Truncate(24 * time.Hour).Add(24 * time.Hour).Unix()
		for body, want := range map[string]string{
			`{"budget_usd":2,"budget_window":"day"}`:    fmt.Sprintf(`{"spend_usd":6.5,"budget":{"limit_usd":2,"spent_usd":1.5,"remaining_usd":0.5,"began_at":%d,"resets_at":%d}}`, end-86400, end),
			`{"budget_usd":10,"budget_window":"total"}`: `{"spend_usd":6.5,"budget":{"limit_usd":10,"spent_usd":6.5,"remaining_usd":3.5,"began_at":null,"resets_at":null}}`,
			`{"budget_usd":1,"budget_window":"month"}`: fmt.Sprintf(`{"spend_usd":6.5,"budget":{"limit_usd":1,"spent_usd":1.5,"remaining_usd":0,"began_at":%d,"resets_at":%d}}`,
				time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC).Unix(),
				time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC).Unix()),
		} {
			a := p.Call(t, "PATCH", "/auth/keys/"+id, body, token...)
			checkMembers(t, body, jsonObject(t, a), want)
			checkMembers(t, body, findListed(t, p, "/auth/keys", id, token), want)
		}
		checkMembers(t, "the other key", findListed(t, p, "/auth/keys", other, token), `{"spend_usd":0.000007,"budget":null}`)
	})
}

// invalidLimits are members that are refused, with the error of each.
var invalidLimits = []struct{ members, code, param string }{
	{`"expires_at":1`, "invalid_value", "expires_at"},
	{`"expires_at":-1`, "invalid_value", "expires_at"},
	{`"expires_at":0`, "invalid_value", "expires_at"},
	{`"expires_at":253402300800`, "invalid_value", "expires_at"},
	{`"expires_at":9223372036854775807`, "invalid_value", "expires_at"},
	{`"expires_at":4102444800.5`, "invalid_value", "expires_at"},
	{`"expires_at":"2100-01-01"`, "invalid_value", "expires_at"},
	{`"models":"gpt-4"`, "invalid_value", "models"},
	{`"models":[]`, "invalid_value", "models"},
	{`"models":["gpt-4","no-such-model"]`, "invalid_value", "models[1]"},
	{`"models":["gpt-4",null]`, "invalid_value", "models[1]"},
	{`"models":["gpt-4",5]`, "invalid_value", "models[1]"},
	{`"models":["gpt-4","gemini-2.5-flash","gpt-4"]`, "invalid_value", "models[2]"},
	{`"models":["gpt-4,gemini-2.5-flash"]`, "invalid_value", "models[0]"},
	{`"models":["GPT-4"]`, "invalid_value", "models[0]"},
	{`"models":[` + strings.Repeat(`"gpt-4",`, 100) + `"gpt-4"]`, "invalid_value", "models"},
	{`"rpm_limit":0`, "invalid_value", "rpm_limit"},
	{`"rpm_limit":-5`, "invalid_value", "rpm_limit"},
	{`"rpm_limit":1.5`, "invalid_value", "rpm_limit"},
	{`"rpm_limit":"5"`, "invalid_value", "rpm_limit"},
	{`"rpm_limit":true`, "invalid_value", "rpm_limit"},
	{`"rpm_limit":1000000001`, "invalid_value", "rpm_limit"},
	{`"tpm_limit":0`, "invalid_value", "tpm_limit"},
	{`"tpm_limit":1000000001`, "invalid_value", "tpm_limit"},
	{`"max_parallel_requests":0`, "invalid_value", "max_parallel_requests"},
	{`"max_parallel_requests":[1]`, "invalid_value", "max_parallel_requests"},
	{`"budget_usd":-0.01`, "invalid_value", "budget_usd"},
	{`"budget_usd":0.0000001`, "invalid_value", "budget_usd"},
	{`"budget_usd":1000000000.000001`, "invalid_value", "budget_usd"},
	{`"budget_usd":"5"`, "invalid_value", "budget_usd"},
	{`"budget_usd":5,"budget_window":"year"`, "invalid_value", "budget_window"},
	{`"budget_usd":5,"budget_window":"Day"`, "invalid_value", "budget_window"},
	{`"budget_usd":5,"budget_window":""`, "invalid_value", "budget_window"},
	{`"budget_usd":5,"budget_window":null`, "invalid_value", "budget_window"},
	{`"budget_usd":5,"budget_reserve":"expected"`, "invalid_value", "budget_reserve"},
	{`"budget_reserve":""`, "invalid_value", "budget_reserve"},
	{`"budget_window":"day"`, "missing_field", "budget_usd"},
	{`"budget_usd":null,"budget_window":"day"`, "missing_field", "budget_usd"},
	{`"rpm_limit":5,"rpm_limit":6`, "invalid_json", "rpm_limit"},
}

func TestInvalidKeyLimitsAreRefusedWithoutPartialChanges(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		p := gatewaytest.Start(t, append(settings, "SIMULATOR=true", gatewaytest.JWTSecret)...)
		token := p.Login(t)
		id, _ := p.CreateKey(t, token)
		before := p.Call(t, "GET", "/auth/keys", "", token...).Body
		for _, bad := range invalidLimits {
			// A valid member comes first: it must not be applied.
			for _, ask := range [][2]string{{"POST", "/auth/keys"}, {"PATCH", "/auth/keys/" + id}} {
				body := `{"name":"another","max_parallel_requests":9,` + bad.members + `}`
				if strings.HasPrefix(bad.members, `"max_`) {
					body = `{"name":"another","rpm_limit":9,` + bad.members + `}`
				}
				a := p.Call(t, ask[0], ask[1], body, token...)
				if a.Status != 400 {
					t.Errorf("%s %s: %d", ask[0], bad.members, a.Status)
					continue
				}
				f := a.APIError(t)
				if f.Type != "invalid_request_error" || f.Code != bad.code || f.Param == nil || *f.Param != bad.param {
					t.Errorf("%s %s: %d %s", ask[0], bad.members, a.Status, a.Body)
				}
			}
		}
		for body, want := range map[string]string{`{"name":null}`: "invalid_value", `{"name":""}`: "missing_field", `{"name":7}`: "invalid_value", `{"name":"a\nb","rpm_limit":5}`: "invalid_value"} {
			if a := p.Call(t, "PATCH", "/auth/keys/"+id, body, token...); a.Status != 400 || a.APIError(t).Code != want ||
				*a.APIError(t).Param != "name" {
				t.Errorf("%s: %d %s", body, a.Status, a.Body)
			}
		}
		if after := p.Call(t, "GET", "/auth/keys", "", token...).Body; after != before {
			t.Errorf("changed by what was refused:\n%s\n%s", before, after)
		}
	})
}

func TestKeyMayBeLimitedToOneHundredModels(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "SIMULATOR=true", gatewaytest.JWTSecret)
	token := p.Login(t)
	var all struct{ Data []struct{ ID string } }
	if err := json.Unmarshal([]byte(p.Get(t, "/v1/models").Body), &all); err != nil || len(all.Data) < 2 {
		t.Fatal(err)
	}
	ids := make([]string, len(all.Data))
	for i, m := range all.Data {
		ids[i] = `"` + m.ID + `"`
	}
	body := `{"name":"all","models":[` + strings.Join(ids, ",") + `]}`
	if a := p.Call(t, "POST", "/auth/keys", body, token...); a.Status != 201 ||
		!strings.Contains(a.Body, `"models":[`+strings.Join(ids, ",")+`]`) {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

func TestOnlyTheOwnerChangesAKey(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "SIMULATOR=true", gatewaytest.JWTSecret)
	token := p.Login(t)
	id, key := p.CreateKey(t, token)
	for _, tt := range []struct {
		path, code string
		status     int
		credential []string
	}{
		{id, "key_not_found", 404, loginAs(t, p, "bob")},
		{"key_UNKNOWN", "key_not_found", 404, token},
		{"%00", "key_not_found", 404, token},
		{id, "missing_credentials", 401, nil},
		{id, "invalid_token", 401, []string{"Authorization", "Bearer " + key}},
		{id, "missing_credentials", 401, []string{"X-API-Key", key}},
	} {
		if a := p.Call(t, "PATCH", "/auth/keys/"+tt.path, `{"rpm_limit":1}`, tt.credential...); a.Status != tt.status ||
			a.APIError(t).Code != tt.code {
			t.Errorf("%+v: %d %s", tt, a.Status, a.Body)
		}
	}
	checkMembers(t, "the key", findListed(t, p, "/auth/keys", id, token), unlimited)
	p.Call(t, "DELETE", "/auth/keys/"+id, "", token...)
	if a := p.Call(t, "PATCH", "/auth/keys/"+id, `{"rpm_limit":1}`, token...); a.Status != 404 {
		t.Errorf("a revoked key: %d %s", a.Status, a.Body)
	}
}

func TestExpiredKeyIsRefusedAtItsExpiryAndStillListed(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		for _, mode := range []string{"REQUIRE_AUTH=true", "REQUIRE_AUTH=false"} {
			t.Run(mode, func(t *testing.T) {
				testExpiry(t, append(slices.Clone(settings), "SIMULATOR=true", mode, gatewaytest.JWTSecret))
			})
		}
	})
}

func testExpiry(t *testing.T, settings []string) {
	t.Helper()
	p := gatewaytest.Start(t, settings...)
	token := p.Login(t)
	end := time.Now().Add(2 * time.Second).Unix()
	a := p.Call(t, "POST", "/auth/keys", fmt.Sprintf(`{"name":"short","expires_at":%d}`, end), token...)
	if a.Status != 201 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	id, key := gatewaytest.Field(t, a, "id"), gatewaytest.Field(t, a, "key")
	for {
		before := time.Now()
		a := p.Call(t, "GET", "/v1/models", "", "X-API-Key", key)
		if a.Status == 200 && !before.Before(time.Unix(end, 0)) {
			t.Fatalf("open %s after its end", time.Since(time.Unix(end, 0)))
		}
		if a.Status == 200 {
			time.Sleep(2 * time.Millisecond)
			continue
		}
		if f := a.APIError(t); a.Status != 401 || f.Type != "authentication_error" || f.Code != "api_key_expired" ||
			a.Header.Get("WWW-Authenticate") != "Bearer" {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		if time.Now().Before(time.Unix(end, 0)) {
			t.Error("refused before its end")
		}
		break
	}
	if a := p.Chat(t, gatewaytest.HelloRequest, "Authorization", "Bearer "+key); a.Status != 401 || a.APIError(t).Code != "api_key_expired" {
		t.Errorf("as bearer: %d %s", a.Status, a.Body)
	}
	checkMembers(t, "an expired key", findListed(t, p, "/auth/keys", id, token), fmt.Sprintf(`{"expires_at":%d}`, end))
	if a := p.Call(t, "PATCH", "/auth/keys/"+id, `{"expires_at":null}`, token...); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	if a := p.Chat(t, gatewaytest.HelloRequest, "Authorization", "Bearer "+key); a.Status != 200 {
		t.Errorf("after its end was taken away: %d %s", a.Status, a.Body)
	}
}

func TestChangedExpiryReachesTheOtherReplicaWithinASecond(t *testing.T) {
	database := "DATABASE_URL=" + servertest.Postgres(t)
	for name, settings := range map[string][]string{
		"with Redis":    {database, "REDIS_URL=" + servertest.Redis(t)},
		"without Redis": {database},
	} {
		t.Run(name, func(t *testing.T) {
			settings := append(settings, "SIMULATOR=true", "REQUIRE_AUTH=true", gatewaytest.JWTSecret)
			here, there := gatewaytest.Start(t, settings...), gatewaytest.Start(t, settings...)
			token := here.Login(t)
			end := time.Now().Add(time.Second).Unix()
			a := here.Call(t, "POST", "/auth/keys", fmt.Sprintf(`{"name":"short","expires_at":%d}`, end+1), token...)
			id, key := gatewaytest.Field(t, a, "id"), gatewaytest.Field(t, a, "key")
			opens := func(p *gatewaytest.Program) bool {
				return p.Call(t, http.MethodGet, "/v1/models", "", "X-API-Key", key).Status == 200
			}
			gatewaytest.Until(t, "expired", func() bool { return !opens(here) && !opens(there) })
			if a := here.Call(t, "PATCH", "/auth/keys/"+id, `{"expires_at":null}`, token...); a.Status != 200 {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
			changed := time.Now()
			if !opens(here) {
				t.Error("not at once where it was changed")
			}
			for !opens(there) {
				if time.Since(changed) > time.Second {
					t.Fatal("not a second later on the other replica")
				}
			}
		})
	}
}

func TestNewKeysHaveTheDefaultLimitsUnlessTheyNameTheirOwn(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(
		t, "SIMULATOR=true", gatewaytest.JWTSecret, "DEFAULT_KEY_EXPIRY_DAYS=30",
		"DEFAULT_KEY_MODELS=gpt-4,gemini-2.5-flash", "DEFAULT_KEY_RPM=10", "DEFAULT_KEY_TPM=1000",
		"DEFAULT_KEY_MAX_PARALLEL=3", "DEFAULT_KEY_BUDGET_USD=2.50", "DEFAULT_KEY_BUDGET_WINDOW=week",
	)
	token := p.Login(t)
	const rest = `"models":["gpt-4","gemini-2.5-flash"],"rpm_limit":10,"tpm_limit":1000,"max_parallel_requests":3,"limited_by":null`
	for body, want := range map[string]string{
		`{"name":"a"}`:                                     `{` + rest + `,"budget_usd":2.5,"budget_window":"week"}`,
		`{"name":"a","budget_window":"day"}`:               `{` + rest + `,"budget_usd":2.5,"budget_window":"day"}`,
		`{"name":"a","budget_usd":9}`:                      `{` + rest + `,"budget_usd":9,"budget_window":"week"}`,
		`{"name":"a","budget_usd":null}`:                   `{` + rest + `,"budget_usd":null,"budget_window":null}`,
		`{"name":"a","rpm_limit":7,"models":null}`:         `{"models":null,"rpm_limit":7,"tpm_limit":1000,"budget_usd":2.5}`,
		`{"name":"a","tpm_limit":null,"models":["gpt-4"]}`: `{"models":["gpt-4"],"rpm_limit":10,"tpm_limit":null}`,
		`{"name":"a","max_parallel_requests":null}`:        `{"max_parallel_requests":null,"rpm_limit":10}`,
		`{"name":"a","expires_at":null}`:                   `{"expires_at":null,` + rest + `}`,
		`{"name":"a","expires_at":4102444800}`:             `{"expires_at":4102444800,` + rest + `}`,
	} {
		before := time.Now().Add(30 * 24 * time.Hour).Unix()
		a := p.Call(t, "POST", "/auth/keys", body, token...)
		if a.Status != 201 {
			t.Errorf("%s: %d %s", body, a.Status, a.Body)
			continue
		}
		checkMembers(t, body, jsonObject(t, a), want)
		if strings.Contains(body, "expires_at") {
			continue
		}
		end, err := jsonObject(t, a)["expires_at"].(json.Number).Int64()
		if err != nil || end < before || end > time.Now().Add(30*24*time.Hour).Unix() {
			t.Errorf("%s: expires at %d, %v", body, end, err)
		}
	}
}
