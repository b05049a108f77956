package litellmtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Call is a row of LiteLLM_SpendLogs.
type Call struct {
	ID, Model string
	Booked    float64 // what LiteLLM says that it cost, in dollars
	Right     float64 // what it costs by the provider's list of prices
}

// priced is a model that the company calls, with dollars per million tokens.
type priced struct {
	group, model, provider             string
	input, output, cacheRead, cacheNew float64
}

var pricedModels = []priced{
	{"gpt-4o", "gpt-4o", "openai", 2.5, 10, 1.25, 0},
	{"gpt-4o-mini", "gpt-4o-mini", "openai", 0.15, 0.6, 0.075, 0},
	{"claude-sonnet", "claude-sonnet-4-5-20250929", "anthropic", 3, 15, 0.3, 3.75},
	{"claude-haiku", "claude-haiku-4-5-20251001", "anthropic", 1, 5, 0.1, 1.25},
	{"gemini-flash", "gemini-2.5-flash", "gemini", 0.3, 2.5, 0.03, 0},
}

// insertCalls adds 300 calls of the last 25 days. In fifty of them cache reads are booked like
// other input; six failed, and six were answered from LiteLLM's own cache and cost nothing.
func (d *Database) insertCalls(t testing.TB, c *Company, now time.Time) {
	t.Helper()
	var rows []row
	for n := range 300 {
		m, k := &pricedModels[n%len(pricedModels)], c.Keys[n*7%len(c.Keys)]
		prompt, completion, cached, written := 1000+n*13, 200+n, 0, 0
		if n%3 == 0 {
			cached = prompt / 2
		}
		if m.cacheNew > 0 && n%4 == 0 {
			written = 300
		}
		// LiteLLM's prompt tokens are all of the input, with what caches read and wrote.
		call := &Call{ID: fmt.Sprintf("chatcmpl-%04d", n), Model: m.model}
		call.Right = (float64(prompt-cached-written)*m.input + float64(cached)*m.cacheRead + float64(written)*m.cacheNew +
			float64(completion)*m.output) / 1e6
		call.Booked = call.Right
		if n%6 == 0 {
			call.Booked += float64(cached) * (m.input - m.cacheRead) / 1e6
		}
		status, hit, kind := "success", "False", "acompletion"
		if m.provider == "anthropic" && n%2 == 1 {
			kind = "anthropic_messages"
		}
		switch n % 50 {
		case 49:
			status, prompt, completion, cached, written, call.Booked, call.Right = "failure", 0, 0, 0, 0, 0, 0
		case 25:
			hit, call.Booked, call.Right = "True", 0, 0
		}
		began := now.Add(-time.Duration(n) * 2 * time.Hour)
		rows = append(rows, row{"request_id": call.ID, "call_type": kind, "api_key": k.Token, "spend": call.Booked, "total_tokens": prompt + completion,
			"prompt_tokens": prompt, "completion_tokens": completion, "startTime": began, "endTime": began.Add(2 * time.Second),
			"completionStartTime": began.Add(time.Second), "request_duration_ms": 2000, "model": m.model, "model_group": m.group, "model_id": "id-" + m.group,
			"custom_llm_provider": m.provider, "user": k.UserID, "team_id": k.TeamID, "cache_hit": hit, "status": status, "session_id": call.ID,
			"metadata": d.callMetadata(k, m, status, prompt, completion, cached, written)})
		c.Calls = append(c.Calls, call)
	}
	d.insert(t, "SpendLogs", rows...)
}

// callMetadata is the column of that name. The oldest version has only what a usage has
// beside its three sums, and only newer ones say how long a cache keeps what was written.
func (d *Database) callMetadata(k *Key, m *priced, status string, prompt, completion, cached, written int) row {
	details := row{"cached_tokens": cached, "audio_tokens": nil, "text_tokens": nil, "image_tokens": nil}
	additional := row{"prompt_tokens_details": details,
		"completion_tokens_details": row{"reasoning_tokens": completion / 4, "audio_tokens": nil, "text_tokens": completion - completion/4}}
	if m.provider == "anthropic" {
		additional["cache_read_input_tokens"], additional["cache_creation_input_tokens"] = cached, written
		if d.Version != "2025-03" {
			details["cache_creation_tokens"] = written
			details["cache_creation_token_details"] = row{"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0}
		}
	}
	all := row{"user_api_key": k.Token, "user_api_key_alias": null(k.Alias), "user_api_key_user_id": null(k.UserID),
		"user_api_key_team_id": null(k.TeamID), "status": status, "additional_usage_values": additional}
	if d.Version != "2025-03" {
		usage := row{"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
		for name, value := range additional {
			usage[name] = value
		}
		all["usage_object"] = usage
	}
	return all
}

// daysOfHistory is how far back the daily sums go.
const daysOfHistory = 40

// insertDays adds daily sums: each key was used on every fifth day.
func (d *Database) insertDays(t testing.TB, c *Company, now time.Time) {
	t.Helper()
	var ofUsers, ofTeams []row
	for i, k := range c.Keys {
		for day := range daysOfHistory {
			if (i+day)%5 != 0 {
				continue
			}
			r := func(kind, column, owner string) row {
				m, n := &pricedModels[day%len(pricedModels)], i%20+1
				date := now.AddDate(0, 0, -day).Format(time.DateOnly)
				return row{"id": dayID(kind, k.Token, m.model, date), column: owner, "date": date, "api_key": k.Token, "model": m.model,
					"model_group": m.group, "custom_llm_provider": m.provider, "mcp_namespaced_tool_name": "", "endpoint": "/chat/completions",
					"prompt_tokens": 1000 * n, "completion_tokens": 100 * n, "cache_read_input_tokens": 250 * n, "cache_creation_input_tokens": 0,
					"spend":        float64(n) * (750*m.input + 250*m.cacheRead + 100*m.output) / 1e6,
					"api_requests": n, "successful_requests": n - n/10, "failed_requests": n / 10, "updated_at": now}
			}
			if k.UserID != "" {
				ofUsers = append(ofUsers, r("user", "user_id", k.UserID))
			}
			if k.TeamID != "" {
				ofTeams = append(ofTeams, r("team", "team_id", k.TeamID))
			}
		}
	}
	d.insert(t, "DailyUserSpend", ofUsers...)
	d.insert(t, "DailyTeamSpend", ofTeams...)
}

func dayID(kind, token, model, date string) string {
	return kind + "-" + token + "-" + model + "-" + date
}

// Spend does what a call of gpt-4o-mini for so many dollars does: it adds them to the key, its
// user, its team and the user's part of it, and to the sums of the day. It may be called concurrently.
func (d *Database) Spend(t testing.TB, token string, dollars float64) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	err := pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error {
		var user, team string
		err := tx.QueryRow(ctx, `UPDATE "LiteLLM_VerificationToken" SET spend = spend + $1 WHERE token = $2
			RETURNING COALESCE(user_id, ''), COALESCE(team_id, '')`, dollars, token).Scan(&user, &team)
		if err != nil {
			return err
		}
		var b pgx.Batch
		b.Queue(`UPDATE "LiteLLM_UserTable" SET spend = spend + $1 WHERE user_id = $2`, dollars, user)
		b.Queue(`UPDATE "LiteLLM_TeamTable" SET spend = spend + $1 WHERE team_id = $2`, dollars, team)
		b.Queue(`UPDATE "LiteLLM_TeamMembership" SET spend = spend + $1 WHERE user_id = $2 AND team_id = $3`, dollars, user, team)
		for kind, owner := range map[string]string{"user": user, "team": team} {
			table := map[string]string{"user": "DailyUserSpend", "team": "DailyTeamSpend"}[kind]
			if owner == "" || !d.Has(table) {
				continue
			}
			m, date := &pricedModels[1], time.Now().UTC().Format(time.DateOnly)
			b.Queue(`INSERT INTO "LiteLLM_`+table+`" AS day (id, `+kind+`_id, date, api_key, model, model_group, custom_llm_provider,
				spend, api_requests, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 1, now())
				ON CONFLICT (id) DO UPDATE SET spend = day.spend + EXCLUDED.spend, api_requests = day.api_requests + 1, updated_at = now()`,
				dayID(kind, token, m.model, date), owner, date, token, m.model, m.group, m.provider, dollars)
		}
		return tx.SendBatch(ctx, &b).Close()
	})
	if err != nil {
		t.Errorf("spend %v with key %.8s…: %v", dollars, token, err)
	}
}
