package models

import "slices"

// What the provider's prompt cache had of the prompt that a call of a session has in common with
// the call before it: Call.CacheMiss. 0 is not known.
const (
	CacheComplete = 1 + iota
	CacheToolsChanged
	CacheSystemChanged
	CacheMessageChanged
	CacheTranslationChanged // the client's prompt is the same, the provider was sent another one
	CacheMovedUpstream      // another model, another provider or another of its keys answered
	CacheExpired            // the prompt is the same, and older than providers promise to keep it
	CacheNotReturned        // the prompt is the same, and the provider did not read it from its cache
)

// AnyCacheMiss selects the calls with a miss.
const AnyCacheMiss = -1

// CacheVerdicts are the names of the Cache constants, in their order.
func CacheVerdicts() []string {
	return []string{
		"complete", "tools_changed", "system_changed", "message_changed", "translation_changed", "moved_upstream", "expired",
		"not_returned",
	}
}

// CacheVerdict is the name of what the cache had of the prompt; empty where it is not known.
func (c *Call) CacheVerdict() string {
	if names := CacheVerdicts(); c.CacheMiss > 0 && c.CacheMiss <= len(names) {
		return names[c.CacheMiss-1]
	}
	return ""
}

// CacheMissOf is the constant with a name; 0 where there is none.
func CacheMissOf(verdict string) int { return slices.Index(CacheVerdicts(), verdict) + 1 }

// CallCache is what a call of a session missed in the provider's prompt cache.
type CallCache struct {
	Part         string  `json:"part,omitempty"`    // that differs from the last call's: tools, system or message
	Message      *int    `json:"message,omitempty"` // its index; of what the provider was sent where the translation changed
	Role         string  `json:"role,omitempty"`    // of the message, or its type
	PrefixKept   float64 `json:"kept"`              // share of the last call's prompt that was read from the cache
	MissedTokens int64   `json:"missed"`            // of the last call's prompt that were paid again
	Cost         int64   `json:"cost"`              // micro-dollars that they cost more than read from the cache
}

// Missed is what a call of the ledger missed: how many tokens, and how many micro-dollars they cost more than from the cache.
func (c *Call) Missed() (tokens, cost int64) {
	if c.CacheMiss <= CacheComplete {
		return 0, 0
	}
	if c.decodeDetail(); c.Details.Cache == nil {
		return 0, 0
	}
	return c.Details.Cache.MissedTokens, c.Details.Cache.Cost
}
