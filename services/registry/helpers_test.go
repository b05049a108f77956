package registry

import "time"

var november = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

const (
	haiku   = "claude-haiku-4-5-20251001"
	retired = "claude-sonnet-4-20250514"
)
