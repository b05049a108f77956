package api

// Statement is the answer of GET /admin/statement: what was spent in a calendar month. The rows of
// each list add up to the total; those that cost most come first.
type Statement struct {
	Object      string `json:"object"` // statement
	Month       string `json:"month"`  // as in 2026-10
	TimeZone    string `json:"time_zone"`
	GeneratedAt int64  `json:"generated_at"` // Unix seconds
	Complete    bool   `json:"complete"`     // a day has passed since the month ended: running calls are written at their end

	// DaysBefore is the moment before which there are only sums of days (UTC), where it is
	// in the month.
	DaysBefore string `json:"days_before,omitzero"`

	Teams    []UsageRow      `json:"teams"`
	People   []UsageRow      `json:"people"`
	Projects []UsageRow      `json:"projects"`
	Models   []UsageRow      `json:"models"`
	Lines    []StatementLine `json:"lines"` // in the order of teams, then of people
	Total    UsageTotals     `json:"total"`
}

// StatementLine is what a person spent in a team for a project on a model.
type StatementLine struct {
	Month    string `json:"month"`
	UsageRow `json:",inline"`
}

// StatementCells are a StatementLine as people read it: with names for ids, and "none" for what
// is null there.
type StatementCells struct {
	Month        string `json:"month"`
	Team         string `json:"team"`
	User         string `json:"user"`
	Project      string `json:"project"`
	Model        string `json:"model"`
	Provider     string `json:"provider"`
	Calls        int64  `json:"calls"`
	InputTokens  int64  `json:"input_tokens"`
	CachedTokens int64  `json:"cached_tokens"`
	OutputTokens int64  `json:"output_tokens"`
	CostUSD      USD    `json:"cost_usd"`
}
