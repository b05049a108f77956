package takeover_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"modelgateway/services/litellm"
	"modelgateway/services/takeover"
	"modelgateway/tests/servertest"
)

// spendLogs are the columns that the table had in early 2025; later ones are not read.
const spendLogs = `CREATE TABLE "LiteLLM_SpendLogs" (
	request_id TEXT PRIMARY KEY, call_type TEXT NOT NULL, api_key TEXT NOT NULL DEFAULT '', spend DOUBLE PRECISION NOT NULL DEFAULT 0,
	total_tokens INTEGER NOT NULL DEFAULT 0, prompt_tokens INTEGER NOT NULL DEFAULT 0, completion_tokens INTEGER NOT NULL DEFAULT 0,
	"startTime" TIMESTAMP(3) NOT NULL, "endTime" TIMESTAMP(3) NOT NULL, model TEXT NOT NULL DEFAULT '', model_id TEXT DEFAULT '',
	model_group TEXT DEFAULT '', custom_llm_provider TEXT DEFAULT '', api_base TEXT DEFAULT '', "user" TEXT DEFAULT '',
	metadata JSONB DEFAULT '{}', cache_hit TEXT DEFAULT '', messages JSONB DEFAULT '{}', response JSONB DEFAULT '{}')`

// logged is a row of it.
type logged struct {
	provider, model, group, server, kind, hit string
	input, output, total                      int
	spend                                     float64
	metadata, response                        string
	began                                     time.Time
}

func now() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

// audit is the bill of these calls, whose ids are call-0, call-1 and so on.
func audit(t *testing.T, calls ...logged) *takeover.Bill {
	t.Helper()
	return auditDays(t, 30, calls...)
}

func auditDays(t *testing.T, days int, calls ...logged) *takeover.Bill {
	t.Helper()
	address := servertest.Postgres(t)
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	execute := func(statement string, values ...any) {
		if _, err := conn.Exec(t.Context(), statement, values...); err != nil {
			t.Fatal(err)
		}
	}
	execute(spendLogs)
	for i, c := range calls {
		if c.began.IsZero() {
			c.began = now().Add(-time.Hour)
		}
		if c.kind == "" {
			c.kind = "acompletion"
		}
		if c.metadata == "" {
			c.metadata = "{}"
		}
		if c.total == 0 {
			c.total = c.input + c.output
		}
		if c.response == "" {
			c.response = "{}"
		}
		execute(`INSERT INTO "LiteLLM_SpendLogs" (request_id, call_type, spend, total_tokens, prompt_tokens, completion_tokens, "startTime", "endTime",
			model, model_group, custom_llm_provider, api_base, metadata, cache_hit, response)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $7, $8, $9, $10, $11, $12, $13, $14)`,
			fmt.Sprint("call-", i), c.kind, c.spend, c.total, c.input, c.output, c.began, c.model, c.group, c.provider, c.server, c.metadata, c.hit, c.response)
	}
	db, err := litellm.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(t.Context())
	prices, err := takeover.Prices("")
	if err != nil {
		t.Fatal(err)
	}
	bill, err := takeover.Audit(t.Context(), db, prices, days, now())
	if err != nil {
		t.Fatal(err)
	}
	return bill
}

// item is what the tests compare of a takeover.BillItem.
type item struct {
	name                      string
	calls, booked, difference int64 // micro-dollars
}

func compare(t *testing.T, what string, got []*takeover.BillItem, want ...item) {
	t.Helper()
	for i, w := range want {
		if i >= len(got) {
			t.Fatalf("%s: %+v is missing", what, w)
		}
		g := got[i]
		if have := (item{g.Name, g.Calls, int64(g.Booked), int64(g.Difference)}); have != w {
			t.Errorf("%s: %+v, want %+v", what, have, w)
		}
	}
	if len(got) > len(want) {
		t.Errorf("%s: %d parts, want %d; the first too many: %+v", what, len(got), len(want), got[len(want)])
	}
}

// gpt is a call of gpt-5.4 with a thousand times so many tokens of input and from the cache, and 1,000 of output: of a million cost input
// 2.50 dollars, input from the cache 0.25 and output 15.
func gpt(input, cached int, spend float64) logged {
	return logged{
		provider: "openai", model: "gpt-5.4", server: "https://api.openai.com", input: input * 1000, output: 1000, spend: spend,
		metadata: fmt.Sprintf(`{"usage_object": {"prompt_tokens": %d, "prompt_tokens_details": {"cached_tokens": %d, "audio_tokens": null}}}`, input*1000, cached*1000),
	}
}

const claude = `{"usage_object": {"cache_read_input_tokens": 30000, "cache_creation_input_tokens": 15000, "prompt_tokens": 50000,
	"prompt_tokens_details": {"cached_tokens": 30000, "cache_creation_token_details": {"ephemeral_5m_input_tokens": 5000, "ephemeral_1h_input_tokens": 10000}}}}`

// messages is the same usage in Anthropic's form, which has the input without the cache.
const messages = `{"additional_usage_values": {"input_tokens": 5000, "output_tokens": 2000, "cache_read_input_tokens": 30000,
	"cache_creation_input_tokens": 15000, "cache_creation": {"ephemeral_1h_input_tokens": 10000}, "service_tier": "standard"}}`

func TestABillNamesWhatWasBookedWronglyByModel(t *testing.T) {
	bill := audit(t,
		gpt(100, 80, 0.085), // 20 × 2500 + 80 × 250 + 15000 = 85000
		gpt(100, 80, 0.265), // 100 × 2500 + 15000
		gpt(10, 8, 0.04), gpt(20, 16, 0.065), gpt(40, 32, 0.115),

		// 5 × 3000 + 30 × 300 + 5 × 3750 + 10 × 6000 + 2 × 15000 = 132750
		logged{provider: "anthropic", model: "anthropic/claude-sonnet-4-5-20250929", input: 50000, output: 2000, spend: 0.13275000000000003, metadata: claude},
		// 10 tokens for an hour as for five minutes: 22500 less
		logged{provider: "anthropic", model: "claude-sonnet-4-5-20250929", input: 50000, output: 2000, spend: 0.11025, metadata: claude},
		// 5 × 3000 + 2 × 15000: no cache at all
		logged{provider: "anthropic", model: "claude-sonnet-4-5-20250929", kind: "anthropic_messages", input: 5000, output: 2000, spend: 0.045, metadata: messages},

		// 10 × 250 + 2000 = 4500, and 1.8 times as much in the tier
		logged{
			provider: "azure", model: "azure/production", group: "fast", input: 10000, output: 1000, spend: 0.0045, response: `{"service_tier": "priority"}`,
			metadata: `{"model_map_information": {"model_map_key": "azure/gpt-5-mini-2025-08-07"}}`,
		},
		// 300 + 5 × 2500 = 12800, of which the thinking is 10000
		logged{
			provider: "gemini", model: "gemini/gemini-2.5-flash", input: 1000, output: 5000, spend: 0.0028,
			metadata: `{"usage_object": {"completion_tokens_details": {"reasoning_tokens": 4000, "text_tokens": 1000}}}`,
		},
		// In a region a tenth more, above 200,000 tokens twice as much input and half as much more output: 300 × 6600 + 24750
		logged{
			provider: "bedrock_converse", model: "bedrock/us-east-1/us.anthropic.claude-sonnet-4-5-20250929-v1:0", input: 300000, output: 1000,
			spend: 1.0065, // 300 × 3300 + 16500
		},
	)
	compare(t, "models", bill.Priced.Parts,
		item{"bedrock/us-east-1/us.anthropic.claude-sonnet-4-5-20250929-v1:0", 1, 1006500, 1006500 - 2004750},
		item{"openai/gpt-5.4", 5, 570000, 180000 + 18000 + 36000 + 72000},
		item{"anthropic/claude-sonnet-4-5-20250929", 3, 132750 + 110250 + 45000, 110250 + 45000 - 2*132750},
		item{"gemini/gemini-2.5-flash", 1, 2800, -10000},
		item{"azure/production", 1, 4500, -3600},
	)
	compare(t, "all", []*takeover.BillItem{&bill.Priced}, item{"", 11, 1006500 + 570000 + 288000 + 2800 + 4500, -998250 + 306000 - 110250 - 10000 - 3600})
	compare(t, "bedrock", bill.Priced.Parts[0].Parts, item{"a long prompt booked as a short one", 1, 1006500, -998250})
	compare(t, "gpt-5.4", bill.Priced.Parts[1].Parts, item{"cache reads booked as input", 4, 485000, 306000})
	compare(t, "calls of gpt-5.4", bill.Priced.Parts[1].Parts[0].Parts,
		item{"call-1", 1, 265000, 180000}, item{"call-4", 1, 115000, 72000}, item{"call-3", 1, 65000, 36000})
	compare(t, "claude", bill.Priced.Parts[2].Parts,
		item{"cache reads and writes not booked", 1, 45000, 45000 - 132750},
		item{"cache writes for an hour booked as for five minutes", 1, 110250, -22500})
	compare(t, "gemini", bill.Priced.Parts[3].Parts, item{"reasoning not booked", 1, 2800, -10000})
	compare(t, "azure", bill.Priced.Parts[4].Parts, item{"service priority booked as usual", 1, 4500, -3600})

	if as := bill.Priced.Parts[4].PricedAs; as != "azure/gpt-5-mini-2025-08-07" {
		t.Errorf("a deployment is priced as %s", as)
	}
	if len(bill.Unpriced.Parts) > 0 || bill.Empty > 0 {
		t.Errorf("without a price: %+v; empty: %d", bill.Unpriced, bill.Empty)
	}
	tokens := bill.Priced.Parts[2].Parts[0].Parts[0].Tokens
	want := map[string]int64{"input": 50000, "cached_input": 30000, "cache_write": 15000, "cache_write_1h": 10000, "output": 2000}
	if !maps.Equal(tokens, want) {
		t.Errorf("the tokens of a call: %v, want %v", tokens, want)
	}
}

func TestABillHasNoDifferenceWhereWhatWasBookedIsRight(t *testing.T) {
	mini := logged{provider: "openai", model: "gpt-5-mini", input: 10000, output: 1000, spend: 0.00225} // half of 4500
	embedding := logged{provider: "openai", model: "text-embedding-3-small", kind: "aembedding", input: 10, spend: 2e-7}
	opus := logged{provider: "anthropic", model: "claude-opus-4-6", input: 300000, spend: 1.5}
	opus.metadata = `{"usage_object": {"service_tier": "standard", "speed": "standard", "inference_geo": "not_available"}}`
	fast := logged{provider: "anthropic", model: "claude-opus-4-6", input: 1000, spend: 0.033} // 5000, six times and a tenth more
	fast.metadata = `{"usage_object": {"prompt_tokens": 1000}, "additional_usage_values": {"speed": "fast", "inference_geo": "us"}}`
	searched := logged{provider: "anthropic", model: "claude-opus-4-6", input: 1000, spend: 0.025} // 5000 and two for 10000 each
	searched.metadata = `{"usage_object": {"server_tool_use": {"web_search_requests": 2}}}`
	grok := logged{provider: "openai", model: "gpt-5-mini", input: 1000, output: 1000, total: 5000, spend: 0.00825, metadata: `{
		"usage_object": {"completion_tokens_details": {"reasoning_tokens": 3000}}}`} // 250 + 4 × 2000
	sonnet := logged{provider: "vertex_ai", model: "vertex_ai/claude-sonnet-4-5@20250929", input: 1000, spend: 0.0033}
	sonnet.server = "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5/publishers/anthropic"
	global := sonnet
	global.server, global.spend = "https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/anthropic", 0.003
	hit := gpt(100, 80, 0)
	hit.hit = "True"
	half := gpt(100, 80, 0.0850004)

	bill := audit(t, mini, embedding, embedding, embedding, embedding, embedding, opus, fast, searched, grok, sonnet, global, hit, half)
	for _, model := range bill.Priced.Parts {
		if model.Difference != 0 || len(model.Parts) > 0 {
			t.Errorf("%s as %s: %d, %+v", model.Name, model.PricedAs, model.Difference, model.Parts)
		}
	}
	// The embeddings cost a fifth of a micro-dollar each.
	compare(t, "all", []*takeover.BillItem{&bill.Priced}, item{"", 14, 2250 + 1 + 1500000 + 33000 + 25000 + 8250 + 3300 + 3000 + 85000, 0})
	if len(bill.Unpriced.Parts) > 0 {
		t.Errorf("without a price: %+v", bill.Unpriced.Parts[0])
	}
}

func TestABillGuessesNoPrice(t *testing.T) {
	const spent = 0.5
	gpt := func(c logged) logged {
		c.provider, c.input, c.output, c.spend = cmp.Or(c.provider, "openai"), 1000, 10, spent
		c.model = cmp.Or(c.model, "gpt-5.4")
		return c
	}
	bill := audit(t,
		gpt(logged{provider: "mistral", model: "mistral/mistral-large-latest"}),
		gpt(logged{model: "ft:gpt-5.4:company::1", group: "gpt-5.4"}),
		gpt(logged{model: "openai/gpt-5.4", server: "http://vllm:8000/v1"}),
		gpt(logged{provider: "azure", model: "azure/production", group: "fast"}),
		gpt(logged{provider: "azure", model: "azure/zone", group: "gpt-5.4", metadata: `{"model_map_information": {"model_map_key": "azure/eu/gpt-5.4"}}`}),
		gpt(logged{provider: "bedrock", model: "bedrock/arn:aws:bedrock:us-east-1:1:application-inference-profile/ab12"}),
		gpt(logged{kind: "aimage_generation", model: "gpt-image-1"}),
		gpt(logged{model: "gpt-4o", metadata: `{"usage_object": {"completion_tokens_details": {"audio_tokens": 5}}}`}),
		gpt(logged{provider: "anthropic", model: "claude-opus-4-6", metadata: `{"usage_object": {"service_tier": "priority"}}`}),
		logged{model: "no-such-model"}, // it failed
		logged{kind: "acreate_file"},
	)
	if bill.Empty != 2 || len(bill.Priced.Parts) > 0 || bill.Unpriced.Difference != 0 || bill.Unpriced.Should != 0 {
		t.Errorf("empty: %d, priced: %+v, without a price: %+v", bill.Empty, bill.Priced, bill.Unpriced)
	}
	compare(t, "all", []*takeover.BillItem{&bill.Unpriced}, item{"", 9, 9 * 500000, 0})
	var got []string
	for _, model := range bill.Unpriced.Parts {
		got = append(got, model.Name+": "+strings.TrimPrefix(model.Parts[0].Name, "no price of "))
	}
	want := []string{
		"mistral/mistral-large-latest: the model", "openai/ft:gpt-5.4:company::1: the model", "openai/gpt-5.4: the model",
		"azure/production: the model", "azure/zone: the model", "bedrock/arn:aws:bedrock:us-east-1:1:application-inference-profile/ab12: the model",
		"openai/gpt-image-1: calls of the type aimage_generation", "openai/gpt-4o: sounds or images in the answer",
		"anthropic/claude-opus-4-6: service priority",
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("without a price:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestABillIsOfThePricesAndTheDaysAsked(t *testing.T) {
	// Until 13 March 2026 a long prompt of this model cost twice as much.
	opus := func(began time.Time, spend float64) logged {
		return logged{provider: "anthropic", model: "claude-opus-4-6", input: 300000, spend: spend, began: began}
	}
	change := time.Date(2026, 3, 13, 0, 0, 0, 0, time.UTC)
	hit := gpt(100, 80, 0.085)
	hit.hit = "True"
	custom := gpt(100, 0, 0.123)
	const days = 253 // since 12 March, 12:00
	bill := auditDays(t, days,
		opus(change.Add(-time.Hour), 3), opus(change, 1.5), opus(change.Add(-13*time.Hour), 7), hit, custom, gpt(100, 0, 0))
	compare(t, "models", bill.Priced.Parts,
		item{"openai/gpt-5.4", 3, 208000, 85000 + 123000 - 265000 - 265000},
		item{"anthropic/claude-opus-4-6", 2, 4500000, 0})
	compare(t, "mistakes", bill.Priced.Parts[0].Parts,
		item{"nothing booked", 1, 0, -265000}, item{"other prices", 1, 123000, -142000},
		item{"answers of LiteLLM's own cache booked", 1, 85000, 85000})
}
