package ledger

import (
	"database/sql"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"modelgateway/models"
	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/storetest"
)

// usageList is an answer of the usage endpoints.
type usageList struct {
	From, To string
	GroupBy  []string `json:"group_by"`
	Data     []map[string]any
	Total    struct {
		Calls   int64
		Failed  int64
		Tokens  int64       `json:"total_tokens"`
		CostUSD json.Number `json:"cost_usd"`
	}
}

func usage(t *testing.T, p *gatewaytest.Program, query string, credential ...string) usageList {
	t.Helper()
	a := p.Call(t, "GET", "/v1/usage"+query, "", credential...)
	var list usageList
	if err := json.Unmarshal([]byte(a.Body), &list); err != nil || a.Status != 200 {
		t.Fatalf("%s: %d %s %v", query, a.Status, a.Body, err)
	}
	return list
}

func TestUsageShowsOnlyTheCallersOwnCalls(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		p := gatewaytest.Start(t, append(settings, "SIMULATOR=true", gatewaytest.JWTSecret, "RATE_LIMIT_RPM=1000")...)
		token := p.Login(t)
		a := p.Call(t, "POST", "/auth/register", strings.ReplaceAll(gatewaytest.AdaAccount, "Ada", "Bob"))
		bob := gatewaytest.Field(t, a, "id")
		first, key := p.CreateKey(t, token)
		second, _ := p.CreateKey(t, token)
		store, err := models.Open(strings.TrimPrefix(settings[0], "DATABASE_URL="))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = store.Close() }()
		user, err := store.UserByEmail(t.Context(), "ada@example.com")
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		var calls []models.Call
		for i, of := range []struct {
			user, key, model, outcome string
			days                      int
		}{
			{user.ID, first, "m1", models.OutcomeOK, 0}, {user.ID, first, "m2", models.OutcomeTimeout, 1}, {user.ID, second, "m1", models.OutcomeOK, 1},
			{user.ID, "", "m1", models.OutcomeOK, 29}, {user.ID, "", "m1", models.OutcomeOK, 30}, {bob, "", "m1", models.OutcomeOK, 0}, {"", "", "m1", models.OutcomeOK, 0},
		} {
			at := now.AddDate(0, 0, -of.days)
			calls = append(calls, models.Call{
				ID: storetest.CallID(
					at, string(rune('a'+i)),
				), UserID: of.user, KeyID: of.key, Model: of.model, Provider: "openai", Outcome: of.outcome,
				Priced: true, InputTokens: 10, OutputTokens: 3, Cost: 1230, BeganAt: at.UnixMicro(),
			})
		}
		if err := store.WriteCalls(t.Context(), "r", calls); err != nil {
			t.Fatal(err)
		}

		today := models.DayOf(now)
		all := usage(t, p, "", token...)
		if all.From != models.DayOf(now.AddDate(0, 0, -29)) || all.To != today || len(all.Data) != 3 || all.Total.Calls != 4 ||
			all.Total.Failed != 1 ||
			all.Total.Tokens != 52 ||
			all.Total.CostUSD != "0.00492" {
			t.Errorf("%+v", all)
		}
		if row := all.Data[2]; row["day"] != today || row["calls"] != 1.0 || row["key_id"] != nil || len(row) != 12 ||
			row["cost_usd"] != 0.00123 {
			t.Errorf("%v", row)
		}
		for _, credential := range [][]string{{"Authorization", "Bearer " + key}, {"X-API-Key", key}} {
			own := usage(t, p, "?group_by=model,day", credential...)
			if own.Total.Calls != 2 || len(own.Data) != 2 || own.Data[0]["model"] != "m2" || own.Data[0]["provider"] != "openai" ||
				own.Data[1]["model"] != "m1" ||
				own.GroupBy[0] != "model" {
				t.Errorf("%+v", own)
			}
		}
		byModel := usage(t, p, "?group_by=model", token...) // calls without a key are of none
		if len(byModel.Data) != 2 || byModel.Data[0]["keys"] != 2.0 || byModel.Data[1]["keys"] != 1.0 {
			t.Errorf("keys by model: %+v", byModel.Data)
		}
		keys := usage(t, p, "?group_by=key&to="+today+"&from="+models.DayOf(now.AddDate(0, 0, -30)), token...)
		if keys.Total.Calls != 5 || len(keys.Data) != 3 || keys.Data[0]["key_id"] != nil || keys.Data[0]["calls"] != 2.0 ||
			len(keys.Data[0]) != 12 ||
			keys.Data[1]["key_name"] != "app" {
			t.Errorf("%+v", keys)
		}
		if past := usage(t, p, "?to=2020-02-29", token...); past.From != "2020-01-31" || len(past.Data) != 0 || past.Total.CostUSD != "0" {
			t.Errorf("%+v", past)
		}
		if a := p.Call(t, "GET", "/v1/usage", "", token...); a.Header.Get("X-Ratelimit-Limit-Requests") != "1000" ||
			!strings.Contains(a.Body, `"object":"list"`) {
			t.Errorf("%v %s", a.Header, a.Body)
		}
	})
}

func TestUsageNeedsACredential(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"REQUIRE_AUTH=false", "REQUIRE_AUTH=true"} {
		p := gatewaytest.Start(t, mode, gatewaytest.JWTSecret)
		if a := p.Get(t, "/v1/usage"); a.Status != 401 || a.APIError(t).Code != "missing_credentials" ||
			a.Header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s: %d %s", mode, a.Status, a.Body)
		}
	}
	p := gatewaytest.Start(t, gatewaytest.JWTSecret)
	if a := p.Call(t, "GET", "/v1/usage", "", "Authorization", "Bearer sk-dummy"); a.Status != 401 ||
		a.APIError(t).Code != "missing_credentials" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := p.Call(t, "POST", "/v1/usage", "{}"); a.Status != 405 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

func TestUsageRefusesInvalidQueries(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, gatewaytest.JWTSecret)
	token := p.Login(t)
	for query, param := range map[string]string{
		"from=yesterday":                "from",
		"from=2026-13-01":               "from",
		"from=2026-1-1":                 "from",
		"to=20261121":                   "to",
		"to=":                           "to",
		"from=2026-02-02&to=2026-02-01": "from",
		"from=2025-01-01&to=2026-01-02": "from", // 367 days
		"from=0000-01-01&to=9999-12-31": "from",
		"from=2099-01-01":               "from",
		"group_by=":                     "group_by",
		"group_by=hour":                 "group_by",
		"group_by=day,day":              "group_by",
		"group_by=day,":                 "group_by",
		"group_by=day, key":             "group_by",
		"group_by=user":                 "group_by",
		"group_by=day&group_by=key":     "group_by",
		"user_id=x":                     "user_id",
		"model=":                        "model",
		"groupby=day":                   "groupby",
		"from=%00":                      "from",
		"from=2026-01-01T00:00:00":      "from",
		"step=1":                        "step",
		"step=15m":                      "step", // 2,880 of them
		"step=1d&time_zone=Local":       "time_zone",
		"time_zone=..%2FUTC":            "time_zone",
		"previous=1":                    "previous",
		"provider=":                     "provider",
		strings.Repeat("x", 60) + "=1":  strings.Repeat("x", 50),
	} {
		a := p.Call(t, "GET", "/v1/usage?"+strings.ReplaceAll(query, " ", "%20"), "", token...)
		if f := a.APIError(t); a.Status != 400 || f.Code != "invalid_value" || f.Param == nil || *f.Param != param {
			t.Errorf("%s: %d %s", query, a.Status, a.Body)
		}
	}
	for _, query := range []string{"from=%zz", "from=2026-01-01;to=2026-01-02"} {
		if a := p.Call(t, "GET", "/v1/usage?"+query, "", token...); a.Status != 400 || a.APIError(t).Code != "invalid_value" {
			t.Errorf("%s: %d %s", query, a.Status, a.Body)
		}
	}
	if list := usage(t, p, "?from=2024-01-01&to=2024-12-31", token...); list.From != "2024-01-01" { // 366 days
		t.Errorf("%+v", list)
	}
}

func TestUsageWithoutItsDatabaseIsServiceUnavailable(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		p := gatewaytest.Start(t, append(settings, gatewaytest.JWTSecret)...)
		token := p.Login(t)
		if a := p.Call(t, "GET", "/v1/usage", "", token...); a.Status != 200 || !strings.Contains(a.Body, `"data":[]`) {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		hideTable(t, settings[0], "ledger_sums")
		if a := p.Call(t, "GET", "/v1/usage", "", token...); a.Status != 503 || a.APIError(t).Code != "service_unavailable" ||
			strings.Contains(a.Body, "ledger_sums") {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	})
}

// hideTable renames a table, so that queries of it fail.
func hideTable(t *testing.T, setting, table string) {
	t.Helper()
	address := strings.TrimPrefix(setting, "DATABASE_URL=")
	driver := "pgx"
	if path, ok := strings.CutPrefix(address, "sqlite:"); ok {
		driver, address = "sqlite", "file:"+path+"?_pragma=busy_timeout(5000)"
	}
	db, err := sql.Open(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(), "DROP TABLE "+table); err != nil {
		t.Fatal(err)
	}
}
