package api

import "github.com/go-json-experiment/json"

// UsageList is the answer of GET /v1/usage and GET /admin/usage.
type UsageList struct {
	Object  string      `json:"object"` // list
	From    string      `json:"from"`   // day, as in 2026-11-21, or a moment
	To      string      `json:"to"`     // the last day that is counted, or the moment at which it ends
	GroupBy []string    `json:"group_by"`
	Data    []UsageRow  `json:"data"`
	Total   UsageTotals `json:"total"`

	// Refused counts the calls with keys that the gateway refused, by the code of the error. They are in
	// no sum. It is absent where the usage is narrowed by more than users, keys and teams.
	Refused map[string]int64 `json:"refused,omitzero"`

	TimeZone string `json:"time_zone,omitzero"` // of days; this and the others only where one of them is asked for
	Step     string `json:"step,omitzero"`

	// DaysBefore is the moment before which there are only sums of days (UTC), where it is
	// in the period.
	DaysBefore string `json:"days_before,omitzero"`

	Series   *UsageSeries   `json:"series,omitzero"`
	Previous *UsagePrevious `json:"previous,omitzero"`
}

// UsageSeries has the sums of each step of time. Every list is as long as Times.
type UsageSeries struct {
	Times      []int64          `json:"times"` // Unix seconds at which each step begins
	Groups     []UsageGroup     `json:"groups"`
	FirstToken PercentileSeries `json:"first_token_ms"`
	Duration   PercentileSeries `json:"duration_ms"`
	Errors     []ErrorSeries    `json:"errors"`
}

// UsageGroup is the series of a group, or of all the others together.
type UsageGroup struct {
	UsageNames      `json:",inline"`
	Other           int     `json:"other,omitzero"` // how many groups there are in it
	Calls           []int64 `json:"calls"`
	Failed          []int64 `json:"failed"`
	CostUSD         []USD   `json:"cost_usd"`
	InputTokens     []int64 `json:"input_tokens"`
	CachedTokens    []int64 `json:"cached_tokens"`
	OutputTokens    []int64 `json:"output_tokens"`
	ReasoningTokens []int64 `json:"reasoning_tokens"`
}

// PercentileSeries has the percentiles of each step, in milliseconds; null without calls.
type PercentileSeries struct {
	P50 []*int64 `json:"p50"`
	P95 []*int64 `json:"p95"`
}

// ErrorSeries counts the failed calls of one kind in each step.
type ErrorSeries struct {
	Code  string  `json:"code"`
	Calls []int64 `json:"calls"`
}

// UsagePrevious is the usage of the period before.
type UsagePrevious struct {
	From   string          `json:"from"`
	To     string          `json:"to"`
	Total  UsageTotals     `json:"total"`
	Series *PreviousSeries `json:"series,omitzero"`
}

// PreviousSeries has the sums of each step of the period before.
type PreviousSeries struct {
	Times   []int64 `json:"times"`
	CostUSD []USD   `json:"cost_usd"`
	Calls   []int64 `json:"calls"`
	Failed  []int64 `json:"failed"`
	Tokens  []int64 `json:"tokens"` // input and output
}

// UsageRow is the sum of one group.
type UsageRow struct {
	UsageNames  `json:",inline"`
	Keys        *int64 `json:"keys,omitzero"` // that called; only of groups by model alone
	UsageTotals `json:",inline"`
}

// UsageNames say which group it is. What it was not grouped by is absent.
type UsageNames struct {
	Day       string `json:"day,omitzero"`
	UserID    *Maybe `json:"user_id,omitzero"`
	UserEmail string `json:"user_email,omitzero"` // of a deleted user: the last one for administrators, else absent

	UserDeletedAt int64 `json:"user_deleted_at,omitzero"` // Unix seconds, where user_email is of a deleted user

	KeyID    *Maybe `json:"key_id,omitzero"`
	KeyName  string `json:"key_name,omitzero"`
	TeamID   *Maybe `json:"team_id,omitzero"`
	TeamName string `json:"team_name,omitzero"` // absent for a deleted team
	Model    string `json:"model,omitzero"`
	Provider *Maybe `json:"provider,omitzero"`
	Agent    *Maybe `json:"agent,omitzero"` // the program that called, such as claude-code
	Project  *Maybe `json:"project,omitzero"`
}

// UsageSums are the sums of calls.
type UsageSums struct {
	Calls            int64 `json:"calls"`
	Failed           int64 `json:"failed"`
	Estimated        int64 `json:"estimated"`
	Unpriced         int64 `json:"unpriced"`
	InputTokens      int64 `json:"input_tokens"`
	CachedTokens     int64 `json:"cached_tokens"`
	CacheWriteTokens int64 `json:"cache_write_tokens"`
	OutputTokens     int64 `json:"output_tokens"`
	ReasoningTokens  int64 `json:"reasoning_tokens"`
	TotalTokens      int64 `json:"total_tokens"` // input and output
	CostUSD          USD   `json:"cost_usd"`
	OtherAmounts     `json:",inline"`
}

// UsageTotals are the sums of calls in a report.
type UsageTotals struct {
	UsageSums `json:",inline"`

	// Of sessions of agents; absent where nothing was missed.
	CacheMisses      int64 `json:"cache_misses,omitzero"`        // calls that missed something in their provider's cache
	CacheMissCostUSD USD   `json:"cache_miss_cost_usd,omitzero"` // more than they would have cost from the cache

	// Only in answers with a series or a previous period.
	FirstToken *Percentiles `json:"first_token_ms,omitzero"`
	Duration   *Percentiles `json:"duration_ms,omitzero"`
	Errors     []ErrorCount `json:"errors,omitzero"` // only of totals
}

// OtherAmounts are what few calls are paid in. Those that are 0 are absent.
type OtherAmounts struct {
	CacheWriteHourTokens int64 `json:"cache_write_1h_tokens,omitzero"` // of cache_write_tokens: kept for an hour
	Searches             int64 `json:"searches,omitzero"`
	Requests             int64 `json:"requests,omitzero"` // that the provider charges beside their tokens
	Images               int64 `json:"images,omitzero"`
	Seconds              int64 `json:"seconds,omitzero"`
	Characters           int64 `json:"characters,omitzero"`
}

// ErrorCount counts the failed calls of one kind.
type ErrorCount struct {
	Code  string `json:"code"`
	Calls int64  `json:"calls"`
}

// Maybe is a text that is null in JSON where it is empty.
type Maybe string

// MarshalJSON writes the text or null.
func (m Maybe) MarshalJSON() ([]byte, error) {
	if m == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(m), Lenient)
}
