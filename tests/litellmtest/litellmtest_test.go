package litellmtest_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"
	"golang.org/x/crypto/nacl/secretbox"

	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/litellmtest"
)

func TestEachVersionHasItsTablesAndTheCompany(t *testing.T) {
	always := map[string]int64{"VerificationToken": 500, "UserTable": 60, "TeamTable": 12, "OrganizationTable": 2, "TeamMembership": 60,
		"OrganizationMembership": 50, "BudgetTable": 15, "SpendLogs": 300, "ProxyModelTable": 6, "CredentialsTable": 1, "Config": 3,
		"ModelTable": 1, "EndUserTable": 2, "DailyUserSpend": 2800}
	later := map[string]int64{"DailyTeamSpend": 2000, "DeprecatedVerificationToken": 10, "DeletedVerificationToken": 1, "AccessGroupTable": 1,
		"ObjectPermissionTable": 1, "MCPServerTable": 1, "GuardrailsTable": 1, "ManagedVectorStoresTable": 1, "PromptTable": 1,
		"AgentsTable": 1, "TagTable": 1, "ProjectTable": 1}
	for _, version := range litellmtest.Versions() {
		t.Run(version, func(t *testing.T) {
			d := litellmtest.Create(t, version)
			company := d.Fill(t)
			if len(company.Keys) != 500 || len(company.Users) != 60 || len(company.Teams) != 12 || len(company.Calls) != 300 {
				t.Errorf("%d keys, %d users, %d teams, %d calls", len(company.Keys), len(company.Users), len(company.Teams), len(company.Calls))
			}
			db := gatewaytest.OpenSQL(t, d.Address)
			for table, want := range always {
				if got := gatewaytest.Sum(t, db, `SELECT count(*) FROM "LiteLLM_`+table+`"`); got != want {
					t.Errorf("%s has %d rows, want %d", table, got, want)
				}
			}
			for table, want := range later {
				if has := version != "2025-03"; d.Has(table) != has {
					t.Errorf("%s: %t", table, d.Has(table))
				} else if !has {
					continue
				}
				if got := gatewaytest.Sum(t, db, `SELECT count(*) FROM "LiteLLM_`+table+`"`); got != want {
					t.Errorf("%s has %d rows, want %d", table, got, want)
				}
			}
		})
	}
}

// The keys of a Company have the values of their rows in the database.
func TestKeysAreAsListed(t *testing.T) {
	d := litellmtest.Create(t, "newest")
	company := d.Fill(t)
	db := gatewaytest.OpenSQL(t, d.Address)
	kinds := map[string]int{}
	for _, k := range company.Keys {
		if k.Token != litellmtest.Token(k.Text) || !strings.HasPrefix(k.Text, "sk-") || len(k.Text) < 20 {
			t.Errorf("key %q", k.Text)
		}
		n := gatewaytest.Sum(t, db, fmt.Sprintf(`SELECT count(*) FROM "LiteLLM_VerificationToken" WHERE token = '%s' AND COALESCE(user_id, '') = '%s'
			AND COALESCE(team_id, '') = '%s' AND COALESCE(max_budget, 0) = %v AND spend = %v`, k.Token, k.UserID, k.TeamID, k.Max, k.Spend))
		if n != 1 {
			t.Errorf("key %s: %d rows", k.Name, n)
		}
		kinds[fmt.Sprintf("user %t, team %t", k.UserID != "", k.TeamID != "")]++
	}
	if len(kinds) != 4 {
		t.Errorf("keys: %v", kinds)
	}
}

func TestSpendAddsToAllWhoPay(t *testing.T) {
	for _, version := range litellmtest.Versions() {
		t.Run(version, func(t *testing.T) {
			d := litellmtest.Create(t, version)
			company := d.Fill(t)
			db := gatewaytest.OpenSQL(t, d.Address)
			var key *litellmtest.Key
			for _, k := range company.Keys {
				if k.UserID != "" && k.TeamID != "" {
					key = k
				}
			}
			tables := map[string]string{"VerificationToken": "token = '" + key.Token + "'", "UserTable": "user_id = '" + key.UserID + "'",
				"TeamTable": "team_id = '" + key.TeamID + "'", "TeamMembership": "user_id = '" + key.UserID + "'",
				"DailyUserSpend": "user_id = '" + key.UserID + "'"}
			if d.Has("DailyTeamSpend") {
				tables["DailyTeamSpend"] = "team_id = '" + key.TeamID + "'"
			}
			spent := func(table string) int64 {
				return gatewaytest.Sum(t, db, `SELECT round(sum(spend) * 1000000)::bigint FROM "LiteLLM_`+table+`" WHERE `+tables[table])
			}
			before := map[string]int64{}
			for table := range tables {
				before[table] = spent(table)
			}
			var calls sync.WaitGroup
			for range 20 {
				calls.Go(func() { d.Spend(t, key.Token, 0.0125) })
			}
			calls.Wait()
			for table := range tables {
				if got := spent(table) - before[table]; math.Abs(float64(got-250_000)) > 1 {
					t.Errorf("%s: %d micro-dollars more, want 250000", table, got)
				}
			}
		})
	}
}

func TestValuesAreEncryptedInTheFormsOfTheVersion(t *testing.T) {
	forms := map[string]string{"2025-03": "box", "2026-02": "box", "newest": "box v2 v3"}
	for version, want := range forms {
		d := litellmtest.Create(t, version)
		d.Fill(t)
		db := gatewaytest.OpenSQL(t, d.Address)
		rows, err := db.QueryContext(t.Context(), `SELECT litellm_params->>'model' FROM "LiteLLM_ProxyModelTable" ORDER BY model_id`)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = rows.Close() }()
		var found []string
		for rows.Next() {
			var value string
			if err := rows.Scan(&value); err != nil {
				t.Fatal(err)
			}
			form, _, versioned := strings.Cut(value, ":gcm:")
			if !versioned {
				form = "box"
				if text := openBox(value); !strings.HasPrefix(text, "openai/") && !strings.HasPrefix(text, "azure/") && !strings.HasPrefix(text, "anthropic/") {
					t.Errorf("%s: %q is %q", version, value, text)
				}
			}
			if !strings.Contains(strings.Join(found, " "), form) {
				found = append(found, form)
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(found, " "); got != want {
			t.Errorf("%s: forms %q, want %q", version, got, want)
		}
	}
}

func openBox(value string) string {
	sealed, err := base64.URLEncoding.DecodeString(value)
	if err != nil {
		sealed, _ = base64.StdEncoding.DecodeString(value)
	}
	key := sha256.Sum256([]byte(litellmtest.SaltKey))
	text, _ := secretbox.Open(nil, sealed[24:], (*[24]byte)(sealed[:24]), &key)
	return string(text)
}

func TestConfigHasFortyDeploymentsOfNineProviders(t *testing.T) {
	var config struct {
		Models []struct {
			Params struct{ Model string } `yaml:"litellm_params"`
		} `yaml:"model_list"`
	}
	if err := yaml.Unmarshal([]byte(litellmtest.Config()), &config); err != nil {
		t.Fatal(err)
	}
	providers := map[string]bool{}
	for _, m := range config.Models {
		if provider, _, named := strings.Cut(m.Params.Model, "/"); named { // else LiteLLM knows it by the model
			providers[provider] = true
		}
	}
	if len(config.Models) != 40 || len(providers) != 9 {
		t.Errorf("%d deployments of %d providers: %v", len(config.Models), len(providers), providers)
	}
}
