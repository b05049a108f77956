package messages

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/scan"
	"modelgateway/llm"
)

// The reasons why an answer ends.
const (
	stopEndTurn       = "end_turn"
	stopSequence      = "stop_sequence"
	stopToolUse       = "tool_use"
	stopMaxTokens     = "max_tokens"
	stopContextWindow = "model_context_window_exceeded"
	stopRefusal       = "refusal"
)

// reason says why the answer ends: with calls where it has any that a client can run.
func (b *blocks) reason(e *llm.Ending) string {
	switch {
	case e.Finish == llm.FinishContentFilter:
		return stopRefusal
	case e.Finish == llm.FinishLength && e.NativeReason == stopContextWindow:
		return stopContextWindow
	case e.Finish == llm.FinishLength:
		return stopMaxTokens
	case b.complete > 0, b.calls > 0 && e.Finish == llm.FinishToolCalls:
		return stopToolUse
	case len(b.refusal) > 0:
		return stopRefusal
	case e.StopSequence != "":
		return stopSequence
	}
	return stopEndTurn
}

// appendEnding writes the members that say why the answer ends, without a comma after them.
func (b *blocks) appendEnding(dst []byte, e *llm.Ending) []byte {
	reason := b.reason(e)
	dst = append(append(append(dst, `"stop_reason":"`...), reason...), `","stop_sequence":`...)
	if reason == stopSequence {
		dst = scan.AppendString(dst, e.StopSequence)
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"stop_details":`...)
	switch details := e.StopDetails; {
	case reason != stopRefusal:
		dst = append(dst, "null"...)
	case details.Kind() == jsontext.KindBeginObject && details.IsValid():
		dst = append(dst, oneLine(details)...)
	default:
		dst = append(dst, `{"type":"refusal","category":null,"explanation":`...)
		dst = append(scan.AppendNullable(dst, string(b.refusal)), '}')
	}
	return append(dst, `,"container":null`...)
}

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
