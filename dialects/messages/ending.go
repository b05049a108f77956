package messages

import (
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
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

// ending adds the members that say why the answer ends.
func (b *blocks) ending(w jsonbytes.Writer, e *llm.Ending) jsonbytes.Writer {
	reason := b.reason(e)
	w = w.Text("stop_reason", reason)
	if reason == stopSequence {
		w = w.Text("stop_sequence", e.StopSequence)
	} else {
		w = w.Null("stop_sequence")
	}
	switch details := e.StopDetails; {
	case reason != stopRefusal:
		w = w.Null("stop_details")
	case details.Kind() == jsontext.KindBeginObject && details.IsValid():
		w = w.JSON("stop_details", oneLine(details))
	default:
		w = w.ObjectAt("stop_details").Text("type", "refusal").Null("category").TextOrNull("explanation", string(b.refusal)).EndObject()
	}
	return w.Null("container")
}

// withUsage adds a usage; nil is one without any tokens. tier is the service tier in OpenAI's
// words.
func withUsage(w jsonbytes.Writer, u *llm.Usage, tier string) jsonbytes.Writer {
	if u == nil {
		u = new(llm.Usage)
	}
	if u.Tier != "" {
		tier = u.Tier
	}
	hour := min(u.CacheWriteHour, u.CacheWrite)
	uncached := u.Input - u.Cached - u.CacheWrite // Anthropic counts them apart
	w = w.ObjectAt("usage").Int("input_tokens", max(uncached, 0)).
		Int("cache_creation_input_tokens", max(u.CacheWrite, 0)).
		Int("cache_read_input_tokens", max(u.Cached, 0)).
		ObjectAt("cache_creation").Int("ephemeral_5m_input_tokens", max(u.CacheWrite-hour, 0)).
		Int("ephemeral_1h_input_tokens", max(hour, 0)).EndObject().
		Int("output_tokens", max(u.Output, 0)).
		ObjectAt("output_tokens_details").Int("thinking_tokens", max(u.Reasoning, 0)).EndObject()
	if u.Searches > 0 {
		w = w.ObjectAt("server_tool_use").Int("web_search_requests", u.Searches).Int("web_fetch_requests", 0).EndObject()
	} else {
		w = w.Null("server_tool_use")
	}
	return w.Text("service_tier", tierOf(tier)).EndObject()
}

// tierOf is a service tier in Anthropic's words.
func tierOf(tier string) string {
	switch tier {
	case "priority", "batch":
		return tier
	}
	return "standard"
}
