package litellmtest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"testing"
	"time"
)

// Token is what LiteLLM keeps of a key: the SHA-256 of its text, in hex.
func Token(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// generated is a key of the form that LiteLLM generates: sk- and 16 bytes in base64.
func generated(seed string) string {
	sum := sha256.Sum256([]byte(seed))
	return "sk-" + base64.RawURLEncoding.EncodeToString(sum[:16])
}

func keyName(text string) string { return "sk-..." + text[len(text)-4:] }

func keys(c *Company, now time.Time) []*Key {
	var all []*Key
	for i := range 500 {
		k := &Key{Text: generated(fmt.Sprintf("key %d", i)), Alias: fmt.Sprintf("key-%03d", i)}
		if i%100 == 50 {
			k.Text = fmt.Sprintf("sk-my-own-team-key-%d", i/100+1) // an administrator chose it
		}
		if i%17 == 16 {
			k.Alias = ""
		}
		k.Token, k.Name = Token(k.Text), keyName(k.Text)
		user := c.Users[i%len(c.Users)]
		switch owner := (i + i/len(c.Users)) % 10; { // of ten: four personal, three of a user in a team, two of a team, one of neither
		case owner < 4:
			k.UserID = user.ID
		case owner < 7:
			k.UserID, k.TeamID = user.ID, user.TeamID
		case owner < 9:
			k.TeamID = user.TeamID
		}
		k.limit(i, now)
		all = append(all, k)
	}
	return all
}

// limit gives the i-th key its budget, limits, models and state.
func (k *Key) limit(i int, now time.Time) {
	k.Spend = float64(i) * 0.0137
	if i%3 == 0 {
		k.Budget = budget(i/3, now)
	}
	if i%7 == 0 {
		k.RPM = int64(60 + i)
	}
	if i%11 == 0 {
		k.TPM = 100_000
	}
	if i%13 == 0 {
		k.Parallel = int64(2 + i%5)
	}
	models := [19][]string{1: {"gpt-4o", "claude-sonnet"}, 3: {"all-team-models"}, 5: {"no-default-models"},
		7: {"anthropic/*"}, 9: {"beta-models"}, 11: {"all-proxy-models"}}
	k.Models = append([]string{}, models[i%len(models)]...)
	switch i % 25 {
	case 24:
		k.Expires = now.Add(-48 * time.Hour)
	case 12:
		k.Expires = now.AddDate(0, 0, 90)
	}
	k.Blocked = i%31 == 30
	if i%41 == 40 {
		k.BudgetID = "budget-shared"
	}
	if i%50 == 21 {
		k.PreviousText, k.GraceEnds = generated(fmt.Sprintf("key %d before", i)), now.Add(24*time.Hour)
	}
	if i == 71 {
		k.GraceEnds = now.Add(-time.Hour)
	}
}

func (d *Database) insertKeys(t testing.TB, c *Company, now time.Time) {
	t.Helper()
	d.insert(t, "BudgetTable", row{"budget_id": "budget-shared", "max_budget": 25.25, "budget_duration": "7d", "budget_reset_at": now.Add(72 * time.Hour),
		"rpm_limit": 120, "created_by": "admin", "updated_by": "admin"})
	var rows, deprecated []row
	for i, k := range c.Keys {
		r := row{"token": k.Token, "key_name": k.Name, "key_alias": null(k.Alias), "user_id": null(k.UserID), "team_id": null(k.TeamID),
			"models": k.Models, "expires": null(k.Expires), "blocked": null(k.Blocked), "budget_id": null(k.BudgetID), "aliases": row{},
			"metadata": row{}, "model_max_budget": row{}, "allowed_routes": []string{}, "access_group_ids": []string{}, "project_id": nil,
			"created_by": "user-00", "updated_by": "user-00"}
		switch i {
		case 7:
			r["aliases"] = row{"fast": "gpt-4o-mini"}
		case 8:
			r["model_max_budget"] = row{"gpt-4o": row{"budget_limit": 5.0, "time_period": "1d"}}
		case 9:
			r["metadata"] = row{"guardrails": []string{"pii"}, "tags": []string{"batch"}}
		case 10:
			r["allowed_routes"] = []string{"llm_api_routes"}
		case 11:
			r["access_group_ids"], r["project_id"] = []string{"group-frontier"}, "project-1"
		}
		rows = append(rows, k.columns(r))
		if k.PreviousText != "" {
			deprecated = append(deprecated, row{"id": fmt.Sprintf("deprecated-%d", i), "token": Token(k.PreviousText), "active_token_id": k.Token, "revoke_at": k.GraceEnds})
		}
	}
	d.insert(t, "VerificationToken", rows...)
	d.insert(t, "DeprecatedVerificationToken", deprecated...)
	c.DeletedKey = generated("deleted")
	d.insert(t, "DeletedVerificationToken", row{"id": "deleted-1", "token": Token(c.DeletedKey), "key_name": keyName(c.DeletedKey),
		"user_id": "user-03", "models": []string{}, "spend": 1.25, "deleted_at": now.Add(-time.Hour), "deleted_by": "user-00"})
}
