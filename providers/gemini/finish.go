package gemini

import (
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/models/llm"
	"modelgateway/providers"
)

// failure is why the answer is not complete; nil when it is complete.
func (s *stream) failure() error {
	if len(s.choices) == 0 && s.blocked.BlockReason == "" {
		if s.reader.count == 0 {
			return s.client.Truncated()
		}
		return s.client.Malformed(errNoAnswer)
	}
	for i := range s.choices {
		c := &s.choices[i]
		if c.reason == "" && s.blocked.BlockReason == "" {
			return s.client.Truncated()
		}
		if malformedCall(c.reason) && !c.usable {
			return s.client.Refused(providers.Refusal{
				Status:  http.StatusOK, // the status of the upstream's answer
				Message: "gemini ended its answer without usable content: " + c.reason + " " + c.message,
			})
		}
	}
	return nil
}

// malformedCall reports whether a finish reason says that the model wrote an
// invalid call.
func malformedCall(reason string) bool {
	switch reason {
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS",
		"MISSING_THOUGHT_SIGNATURE", "MALFORMED_RESPONSE":
		return true
	}
	return false
}

// finish ends every choice, then sends the usage. A prompt that was blocked
// had no candidates: it becomes an answer that was filtered.
func (s *stream) finish() {
	if len(s.choices) == 0 {
		s.choice(0)
	}
	usage, tier := s.lastUsage()
	s.out.Head().ServiceTier = tier
	for i := range s.choices {
		c := &s.choices[i]
		if c.reason == "" && !s.out.Refusal(c.index, s.blocked.BlockReasonMessage) {
			return
		}
		if !s.heldText(c) || !s.out.Finish(c.index, s.finishReason(c), c.reason) {
			return
		}
	}
	s.out.Usage(usage)
}

// finishReason is Gemini's finish reason in the common form. STOP does not say
// whether there are calls to answer.
func (s *stream) finishReason(c *choice) llm.Finish {
	switch c.reason {
	case "MAX_TOKENS":
		return llm.FinishLength
	case "", // of a blocked prompt
		"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		return llm.FinishContentFilter
	}
	if s.out.Calls(c.index) > 0 {
		return llm.FinishToolCalls
	}
	return llm.FinishStop
}

// serviceTiers are Gemini's in OpenAI's words.
var serviceTiers = map[string]string{"standard": "default", "flex": "flex", "priority": "priority"}

// Counted is the last usage that came: every event has one, which counts all
// up to there.
func (s *stream) Counted() *llm.Usage {
	usage, _ := s.lastUsage()
	return usage
}

// lastUsage reads the last usage that came, and the tier that served. Usage that
// cannot be read is no reason to refuse an answer.
func (s *stream) lastUsage() (*llm.Usage, string) {
	var u usageMetadata
	if s.usage.Kind() != jsontext.KindBeginObject || json.Unmarshal(s.usage, &u, lenient) != nil {
		return nil, ""
	}
	input, output := int64(u.Prompt+u.ToolPrompt), int64(u.Candidates+u.Thoughts)
	audio, hasAudio := sounds(u.PromptDetails)
	cachedAudio, _ := sounds(u.CacheDetails)
	return &llm.Usage{
		HasAudio: hasAudio, Audio: audio, CachedAudio: cachedAudio,
		Input: input, Output: output, Total: max(int64(u.Total), input+output),
		HasCache: true, Cached: min(int64(u.Cached), input),
		HasReasoning: true, Reasoning: int64(u.Thoughts),
	}, serviceTiers[u.ServiceTier]
}
