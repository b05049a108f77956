package models

import (
	"math"
	"strings"
	"unicode/utf8"
)

// Clean changes a row so that every database accepts it and no sum overflows: a client
// may send any text, and a provider report any numbers.
func (c *Call) Clean() {
	for _, text := range []*string{
		&c.ID, &c.RequestID, &c.UserID, &c.KeyID, &c.Model, &c.Served, &c.Provider, &c.Outcome, &c.ErrorCode,
		&c.UpstreamRequestID, &c.TeamID, &c.Dialect, &c.UserAgent, &c.UpstreamKey,
	} {
		*text = cleanText(*text)
	}
	for _, n := range []*int{&c.Attempts, &c.Status} {
		*n = max(0, min(*n, math.MaxInt32))
	}
	for _, n := range []*int64{
		&c.InputTokens, &c.CachedTokens, &c.CacheWriteTokens, &c.OutputTokens, &c.ReasoningTokens,
		&c.Cost, &c.FirstTokenUS, &c.DurationUS, &c.OverheadUS, &c.OpenedUS,
	} {
		const most = 1_000_000_000_000_000 // a billion dollars
		*n = max(0, min(*n, most))
	}
	c.BeganAt = max(0, c.BeganAt)
	c.UserAgent = clipped(c.UserAgent, longestAgent)
	c.encodeDetail()
}

// cleanText returns valid UTF-8 without NUL, which PostgreSQL cannot store,
// and no longer than its indexes allow.
func cleanText(s string) string {
	const longest = 256
	if len(s) > longest {
		s = strings.Clone(s[:longest])
	}
	if utf8.ValidString(s) && !strings.Contains(s, "\x00") {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, ""), "\x00", "")
}
