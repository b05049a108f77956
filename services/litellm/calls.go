package litellm

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"

	"modelgateway/catalog"
)

// Call is a row of LiteLLM_SpendLogs.
type Call struct {
	ID, Type, Provider, Server string
	Model, Base, PublicName    string // Base: the model whose price LiteLLM took, where it says so
	Began                      time.Time
	Spend                      float64 // dollars
	CacheHit                   bool    // LiteLLM answered from its own cache
	Amounts                    catalog.Amounts
	Way                        catalog.Way
	OtherOutput                int64 // tokens of the answer that are sounds or images
}

// Calls reads the calls since a time, one after the other, in a transaction that changes nothing. What each gets is valid
// until it returns. Of contents it reads no more than OpenAI's service tier, which is nowhere else.
func (d *Database) Calls(ctx context.Context, since time.Time, each func(*Call) error) error {
	const query = `SELECT request_id, call_type, COALESCE(custom_llm_provider, ''), COALESCE(api_base, ''), model,
			COALESCE(metadata->'model_map_information'->>'model_map_key', ''), COALESCE(model_group, ''), "startTime", spend,
			COALESCE(cache_hit = 'True', false), prompt_tokens, completion_tokens, total_tokens,
			COALESCE(u->0->>'service_tier', u->1->>'service_tier', response->>'service_tier', ''),
			COALESCE(u->0->>'speed', u->1->>'speed', ''), COALESCE(u->0->>'inference_geo', u->1->>'inference_geo', ''), u
		FROM "LiteLLM_SpendLogs", jsonb_build_array(metadata->'usage_object', metadata->'additional_usage_values') u
		WHERE "startTime" >= $1`
	err := pgx.BeginTxFunc(ctx, d.conn, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, query, since.UTC()) // an error is one of rows as well
		var c Call
		var input, output, total int64
		var text []byte
		_, err := pgx.ForEachRow(rows, []any{
			&c.ID, &c.Type, &c.Provider, &c.Server, &c.Model, &c.Base, &c.PublicName, &c.Began, &c.Spend,
			&c.CacheHit, &input, &output, &total, &c.Way.Tier, &c.Way.Speed, &c.Way.Geo, &text,
		}, func() error {
			var u usage
			_ = json.Unmarshal(text, &u) // what is no object has no details
			c.count(u, input, output, total)
			return each(&c)
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("read LiteLLM_SpendLogs: %w", err)
	}
	return nil
}

// count sets what is paid for. In LiteLLM's own form of a usage prompt_tokens are all input, also of Claude: calculate_usage
// in litellm/llms/anthropic/chat/transformation.py adds what was read from the cache and written to it, which Anthropic's
// input_tokens leave out (2026-11). Where the details have Anthropic's form, the column may be Anthropic's number as well.
func (c *Call) count(u usage, input, output, total int64) {
	const read, written, hour = "cache_read_input_tokens", "cache_creation_input_tokens", "ephemeral_1h_input_tokens"
	const prompt = "prompt_tokens_details."
	if own, cache := u.most("input_tokens"), u.most(read)+u.most(written); own > 0 && cache > 0 {
		input = own + cache
	}
	reasoning := u.most("completion_tokens_details.reasoning_tokens", "output_tokens_details.reasoning_tokens")
	if reasoning > 0 && total == input+output+reasoning { // as xAI counts
		output += reasoning
	}
	c.Amounts = catalog.Amounts{
		catalog.InputTokens: input, catalog.OutputTokens: output, catalog.ReasoningTokens: reasoning,
		catalog.CachedTokens:         u.most(read, prompt+"cached_tokens", "input_tokens_details.cached_tokens"),
		catalog.CacheWriteTokens:     u.most(written, prompt+"cache_creation_tokens", prompt+"cache_write_tokens"),
		catalog.CacheWriteHourTokens: u.most("cache_creation."+hour, prompt+"cache_creation_token_details."+hour),
		catalog.AudioTokens:          u.most(prompt + "audio_tokens"),
		catalog.Searches:             u.most("server_tool_use.web_search_requests", prompt+"web_search_requests"),
	}
	c.OtherOutput = u.most("completion_tokens_details.audio_tokens") + u.most("completion_tokens_details.image_tokens")
}

// usage is what LiteLLM keeps of the provider's usage: as it understands it, and what it does not understand of it.
type usage [2]map[string]any

// most is the largest of the numbers at these paths; 0 where there is none.
func (u usage) most(paths ...string) (most int64) {
	for _, object := range u {
		for _, path := range paths {
			at := any(object)
			for name := range strings.SplitSeq(path, ".") {
				inner, _ := at.(map[string]any)
				at = inner[name]
			}
			number, _ := at.(float64)
			most = max(most, int64(number))
		}
	}
	return most
}
