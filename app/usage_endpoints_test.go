package app

import (
	"database/sql"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"modelgateway/models"
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

func (p *program) usage(t *testing.T, query string, credential ...string) usageList {
	t.Helper()
	a := p.call(t, "GET", "/v1/usage"+query, "", credential...)
	var list usageList
	if err := json.Unmarshal([]byte(a.body), &list); err != nil || a.status != 200 {
		t.Fatalf("%s: %d %s %v", query, a.status, a.body, err)
	}
	return list
}

func TestUsageIsOnesOwn(t *testing.T) {
	storages(t, func(t *testing.T, settings []string) {
		p := start(t, append(settings, "SIMULATOR=true", goodSecret, "RATE_LIMIT_RPM=1000")...)
		token := p.login(t)
		a := p.call(t, "POST", "/auth/register", strings.ReplaceAll(ada, "Ada", "Bob"))
		bob := field(t, a, "id")
		first, key := p.createKey(t, token)
		second, _ := p.createKey(t, token)
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
				ID: models.CallID(at, string(rune('a'+i))), UserID: of.user, KeyID: of.key, Model: of.model, Provider: "openai", Outcome: of.outcome,
				Priced: true, InputTokens: 10, OutputTokens: 3, Cost: 1230, BeganAt: at.UnixMicro(),
			})
		}
		if err := store.WriteCalls(t.Context(), "r", calls); err != nil {
			t.Fatal(err)
		}

		today := models.DayOf(now)
		all := p.usage(t, "", token...)
		if all.From != models.DayOf(now.AddDate(0, 0, -29)) || all.To != today || len(all.Data) != 3 || all.Total.Calls != 4 || all.Total.Failed != 1 || all.Total.Tokens != 52 || all.Total.CostUSD != "0.00492" {
			t.Errorf("%+v", all)
		}
		if row := all.Data[2]; row["day"] != today || row["calls"] != 1.0 || row["key_id"] != nil || len(row) != 12 || row["cost_usd"] != 0.00123 {
			t.Errorf("%v", row)
		}
		for _, credential := range [][]string{{"Authorization", "Bearer " + key}, {"X-API-Key", key}} {
			own := p.usage(t, "?group_by=model,day", credential...)
			if own.Total.Calls != 2 || len(own.Data) != 2 || own.Data[0]["model"] != "m2" || own.Data[0]["provider"] != "openai" || own.Data[1]["model"] != "m1" || own.GroupBy[0] != "model" {
				t.Errorf("%+v", own)
			}
		}
		keys := p.usage(t, "?group_by=key&to="+today+"&from="+models.DayOf(now.AddDate(0, 0, -30)), token...)
		if keys.Total.Calls != 5 || len(keys.Data) != 3 || keys.Data[0]["key_id"] != nil || keys.Data[0]["calls"] != 2.0 || len(keys.Data[0]) != 12 || keys.Data[1]["key_name"] != "app" {
			t.Errorf("%+v", keys)
		}
		if past := p.usage(t, "?to=2020-02-29", token...); past.From != "2020-01-31" || len(past.Data) != 0 || past.Total.CostUSD != "0" {
			t.Errorf("%+v", past)
		}
		if a := p.call(t, "GET", "/v1/usage", "", token...); a.header.Get("X-Ratelimit-Limit-Requests") != "1000" || !strings.Contains(a.body, `"object":"list"`) {
			t.Errorf("%v %s", a.header, a.body)
		}
	})
}

func TestUsageOfNobodyIsNotShown(t *testing.T) {
	for _, mode := range []string{"REQUIRE_AUTH=false", "REQUIRE_AUTH=true"} {
		p := start(t, mode, goodSecret)
		if a := p.get(t, "/v1/usage"); a.status != 401 || a.fault(t).Code != "missing_credentials" || a.header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s: %d %s", mode, a.status, a.body)
		}
	}
	p := start(t, goodSecret)
	if a := p.call(t, "GET", "/v1/usage", "", "Authorization", "Bearer sk-dummy"); a.status != 401 || a.fault(t).Code != "missing_credentials" {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := p.call(t, "POST", "/v1/usage", "{}"); a.status != 405 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestUsageRefusesWhatItDoesNotUnderstand(t *testing.T) {
	p := start(t, goodSecret)
	token := p.login(t)
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
		"key_id=x":                      "key_id",
		"model=x":                       "model",
		"groupby=day":                   "groupby",
		"from=%00":                      "from",
		strings.Repeat("x", 60) + "=1":  strings.Repeat("x", 50),
	} {
		a := p.call(t, "GET", "/v1/usage?"+strings.ReplaceAll(query, " ", "%20"), "", token...)
		if f := a.fault(t); a.status != 400 || f.Code != "invalid_value" || f.Param == nil || *f.Param != param {
			t.Errorf("%s: %d %s", query, a.status, a.body)
		}
	}
	for _, query := range []string{"from=%zz", "from=2026-01-01;to=2026-01-02"} {
		if a := p.call(t, "GET", "/v1/usage?"+query, "", token...); a.status != 400 || a.fault(t).Code != "invalid_value" {
			t.Errorf("%s: %d %s", query, a.status, a.body)
		}
	}
	if list := p.usage(t, "?from=2024-01-01&to=2024-12-31", token...); list.From != "2024-01-01" { // 366 days
		t.Errorf("%+v", list)
	}
}

func TestUsageWithoutItsDatabaseIsAFaultOfOurs(t *testing.T) {
	storages(t, func(t *testing.T, settings []string) {
		p := start(t, append(settings, goodSecret)...)
		token := p.login(t)
		if a := p.call(t, "GET", "/v1/usage", "", token...); a.status != 200 || !strings.Contains(a.body, `"data":[]`) {
			t.Fatalf("%d %s", a.status, a.body)
		}
		breakTable(t, settings[0], "usage_days")
		if a := p.call(t, "GET", "/v1/usage", "", token...); a.status != 503 || a.fault(t).Code != "service_unavailable" || strings.Contains(a.body, "usage_days") {
			t.Errorf("%d %s", a.status, a.body)
		}
	})
}

// breakTable takes a table away.
func breakTable(t *testing.T, setting, table string) {
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
