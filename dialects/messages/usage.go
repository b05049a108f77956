package messages

import (
	"strconv"

	"modelgateway/llm"
)

// appendUsage writes a usage; nil is one without any tokens. tier is the service tier in
// OpenAI's words.
func appendUsage(dst []byte, u *llm.Usage, tier string) []byte {
	if u == nil {
		u = new(llm.Usage)
	}
	if u.Tier != "" {
		tier = u.Tier
	}
	number := func(name string, n int64) {
		dst = strconv.AppendInt(append(dst, name...), max(n, 0), 10)
	}
	hour := min(u.CacheWriteHour, u.CacheWrite)
	number(`{"input_tokens":`, u.Input-u.Cached-u.CacheWrite) // Anthropic counts them apart
	number(`,"cache_creation_input_tokens":`, u.CacheWrite)
	number(`,"cache_read_input_tokens":`, u.Cached)
	number(`,"cache_creation":{"ephemeral_5m_input_tokens":`, u.CacheWrite-hour)
	number(`,"ephemeral_1h_input_tokens":`, hour)
	number(`},"output_tokens":`, u.Output)
	number(`,"output_tokens_details":{"thinking_tokens":`, u.Reasoning)
	dst = append(dst, `},"server_tool_use":`...)
	if u.Searches > 0 {
		number(`{"web_search_requests":`, u.Searches)
		dst = append(dst, `,"web_fetch_requests":0}`...)
	} else {
		dst = append(dst, "null"...)
	}
	return append(append(append(dst, `,"service_tier":"`...), tierOf(tier)...), `"}`...)
}

// tierOf is a service tier in Anthropic's words.
func tierOf(tier string) string {
	switch tier {
	case "priority", "batch":
		return tier
	}
	return "standard"
}
