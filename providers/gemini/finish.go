package gemini

import (
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/models/api"
	"modelgateway/models/catalog"
	"modelgateway/providers/upstream"
)

// fault is why the answer that has ended cannot be shown as whole; nil when it
// can.
func (s *stream) fault() error {
	if len(s.choices) == 0 && s.blocked.BlockReason == "" {
		if s.source.read == 0 {
			return s.client.Truncated()
		}
		return s.client.Nonsense(errNoAnswer)
	}
	for i := range s.choices {
		c := &s.choices[i]
		if c.reason == "" && s.blocked.BlockReason == "" {
			return s.client.Truncated()
		}
		if botched(c.reason) && !c.said && c.calls == 0 {
			return upstream.Refusal{
				Status:  http.StatusOK, // there was nothing wrong with the exchange
				Message: "gemini ended its answer without a usable word: " + c.reason + " " + c.message,
			}.Error(catalog.Gemini)
		}
	}
	return nil
}

// botched are the reasons of a model that got its own call wrong.
func botched(reason string) bool {
	switch reason {
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS",
		"MISSING_THOUGHT_SIGNATURE", "MALFORMED_RESPONSE":
		return true
	}
	return false
}

// finish ends every choice, then tells the usage. A prompt that was blocked
// had no candidates: it becomes an answer that was filtered.
func (s *stream) finish() {
	if len(s.choices) == 0 {
		s.choice(0)
	}
	usage, tier := s.counted()
	s.out.Chunk().ServiceTier = tier
	for i := range s.choices {
		c := &s.choices[i]
		if refusal := s.blocked.BlockReasonMessage; refusal != "" && c.reason == "" {
			if !s.out.Delta(c.index, api.Delta{Refusal: &refusal}) {
				return
			}
		}
		if !s.out.Finish(c.index, s.reason(c)) {
			return
		}
	}
	s.out.Usage(usage)
}

// reason is Gemini's finish reason in OpenAI's words. STOP does not say
// whether there are calls to answer.
func (s *stream) reason(c *choice) string {
	switch c.reason {
	case "MAX_TOKENS":
		return api.FinishLength
	case "", // of a blocked prompt
		"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		return api.FinishContentFilter
	}
	switch {
	case c.calls == 0:
		return api.FinishStop
	case s.function:
		return api.FinishFunctionCall
	default:
		return api.FinishToolCalls
	}
}

// serviceTiers are Gemini's in OpenAI's words.
var serviceTiers = map[string]string{"standard": "default", "flex": "flex", "priority": "priority"}

// Counted is the last usage that came: every event has one, which counts all
// up to there.
func (s *stream) Counted() *api.Usage {
	usage, _ := s.counted()
	return usage
}

// counted reads the last usage that came, and the tier that served. An answer
// is not refused for a bill that cannot be read.
func (s *stream) counted() (*api.Usage, string) {
	var u usageMetadata
	if s.usage.Kind() != jsontext.KindBeginObject || json.Unmarshal(s.usage, &u, lenient) != nil {
		return nil, ""
	}
	prompt, completion := int64(u.Prompt+u.ToolPrompt), int64(u.Candidates+u.Thoughts)
	return &api.Usage{
		PromptTokens: prompt, CompletionTokens: completion, TotalTokens: max(int64(u.Total), prompt+completion),
		PromptTokensDetails:     &api.PromptDetails{CachedTokens: min(int64(u.Cached), prompt)},
		CompletionTokensDetails: &api.CompletionDetails{ReasoningTokens: int64(u.Thoughts)},
	}, serviceTiers[u.ServiceTier]
}
