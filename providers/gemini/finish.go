package gemini

import (
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/llm"
	"modelgateway/providers"
)

// failure is why the answer is not complete; nil when it is complete.
func (s *stream) failure() error {
	if len(s.choices) == 0 && !s.blocked.any() {
		if s.reader.count == 0 {
			return s.client.Truncated()
		}
		return s.client.Malformed(errNoAnswer)
	}
	for i := range s.choices {
		c := &s.choices[i]
		if c.reason == "" && !s.blocked.any() && !s.wholeWithout(c) {
			return s.client.Truncated()
		}
		if mustHaveContent(c.reason) && !c.usable {
			return s.client.Refused(providers.Refusal{
				Status:  http.StatusOK, // the status of the upstream's answer
				Message: strings.TrimSpace(s.client.Provider() + " ended its answer without usable content: " + c.reason + " " + c.message),
			})
		}
	}
	return nil
}

// wholeWithout reports whether a choice of a whole answer has content and no finish
// reason. In a stream that is an answer that was cut off.
func (s *stream) wholeWithout(c *choice) bool {
	return s.reader.oneObject() && c.reason == "" && c.usable && !s.blocked.any()
}

// mustHaveContent reports whether a finish reason without content is an error: it says that
// the model wrote an invalid call, or nothing at all.
func mustHaveContent(reason string) bool {
	switch reason {
	case "OTHER", "NO_IMAGE", "IMAGE_OTHER", "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS",
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
		if !s.finishChoice(&s.choices[i]) {
			return
		}
	}
	s.out.Usage(usage)
}

func (s *stream) finishChoice(c *choice) bool {
	ending := llm.Ending{NativeReason: c.reason, Safety: c.safety}
	switch {
	case c.reason == "" && s.wholeWithout(c):
		c.reason = "STOP"
	case c.reason == "":
		ending.NativeReason = s.blocked.BlockReason
		if len(ending.Safety) == 0 {
			ending.Safety = s.blocked.SafetyRatings
		}
		if !s.out.Refusal(c.index, s.blocked.BlockReasonMessage) {
			return false
		}
	}
	if c.pending != nil && !mustHaveContent(c.reason) && !s.flushCall(c) || !s.heldText(c) {
		return false
	}
	if !c.answered && !s.out.Citations(c.index, c.sources.citations(&c.text)) {
		return false
	}
	ending.Finish = s.finishReason(c)
	return s.out.Finish(c.index, ending)
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
	searches, maps := 0, int64(0)
	for i := range s.choices {
		searches += s.choices[i].sources.searches
		if s.choices[i].sources.maps {
			maps++
		}
	}
	tier := serviceTiers[u.ServiceTier]
	return &llm.Usage{
		Tier: tier, Searches: int64(searches), Tools: maps,
		HasAudio: hasAudio, Audio: audio, CachedAudio: cachedAudio,
		Input: input, Output: output, Total: max(int64(u.Total), input+output),
		HasCache: true, Cached: min(int64(u.Cached), input),
		HasReasoning: true, Reasoning: int64(u.Thoughts),
	}, tier
}
