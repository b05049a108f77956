package api

import "github.com/go-json-experiment/json"

// UsageList is the answer of GET /v1/usage and GET /admin/usage.
type UsageList struct {
	Object  string      `json:"object"` // list
	From    string      `json:"from"`   // day (UTC), as in 2026-11-21
	To      string      `json:"to"`     // the last day that is counted
	GroupBy []string    `json:"group_by"`
	Data    []UsageRow  `json:"data"`
	Total   UsageTotals `json:"total"`
}

// UsageRow is the sum of one group. What it was not grouped by is absent.
type UsageRow struct {
	Day         string `json:"day,omitzero"`
	UserID      *Maybe `json:"user_id,omitzero"`
	KeyID       *Maybe `json:"key_id,omitzero"`
	KeyName     string `json:"key_name,omitzero"`
	Model       string `json:"model,omitzero"`
	Provider    *Maybe `json:"provider,omitzero"`
	UsageTotals `json:",inline"`
}

// UsageTotals are the sums of calls.
type UsageTotals struct {
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
