package chat

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/providers/openai/compose"
)

// mostStops is how many stop sequences OpenAI takes.
const mostStops = 4

// composeParams writes everything but the conversation.
func (c *composition) composeParams() {
	r, out := c.Request, &c.out
	out.Model = c.Model.Upstream
	c.composeLimit()
	c.composeEffort()
	c.composeSampling()
	out.Seed, out.Logprobs, out.TopLogprobs = r.Seed, r.Logprobs, r.TopLogprobs
	if r.Choices != 1 {
		out.N = r.Choices
	}
	if len(c.Model.Traits.Efforts) == 0 { // models that reason refuse stop sequences
		out.Stop = r.Stop[:min(len(r.Stop), mostStops)]
	}
	c.IgnoreIf(len(r.Stop) > len(out.Stop), llm.FieldStop)
	out.LogitBias, out.WebSearchOptions = r.LogitBias, r.WebSearch
	c.composeIdentity()
	out.Metadata, out.Modalities, out.ServiceTier = r.Metadata, r.Modalities, c.ServiceTier()
	c.IgnoreIf(r.Audio != nil, llm.FieldAudio)
	c.IgnoreIf(r.Cache != nil, llm.FieldCache)
	if r.Stream {
		out.Stream, out.StreamOptions = true, jsontext.Value(usageOnly)
	}
}

// composeLimit writes the output limit under the name that the model accepts, the
// newer one where that is not known.
func (c *composition) composeLimit() {
	limit := c.Limit()
	if limit == nil {
		return
	}
	if c.Model.Traits.LimitField == oldLimit {
		c.out.MaxTokens = limit
		return
	}
	c.out.MaxCompletionTokens = limit
}

// composeSampling leaves out what a model refuses that reasons.
func (c *composition) composeSampling() {
	r := c.Request
	if slices.Contains(c.Server.Takes, "top_k") {
		c.out.TopK = r.TopK
	}
	c.IgnoreIf(r.TopK != nil && c.out.TopK == nil, llm.FieldTopK)
	takes := compose.TakesSampling(c.Model.Traits, c.out.ReasoningEffort)
	for _, f := range []struct {
		field llm.Field
		value *float64
		to    **float64
		idle  float64
	}{
		{llm.FieldTemperature, r.Temperature, &c.out.Temperature, 1},
		{llm.FieldTopP, r.TopP, &c.out.TopP, 1},
		{llm.FieldPresencePenalty, r.PresencePenalty, &c.out.PresencePenalty, 0},
		{llm.FieldFrequencyPenalty, r.FrequencyPenalty, &c.out.FrequencyPenalty, 0},
	} {
		if takes {
			*f.to = f.value
			continue
		}
		c.IgnoreIf(f.value != nil && *f.value != f.idle, f.field)
	}
}

// composeIdentity names the end user. What identifies one beyond this API may hold names
// of devices and accounts, so it is hashed. Its requests share the beginning of a prompt,
// so that it names them for the cache as well. Servers that copy the API know neither
// member, and some refuse those that they do not know.
func (c *composition) composeIdentity() {
	r, out := c.Request, &c.out
	out.User = compose.UserID(r.User)
	switch {
	case r.SafetyIdentifier == "":
	case c.Model.Provider == catalog.OpenAI:
		out.SafetyIdentifier = compose.Hash(r.SafetyIdentifier)
		out.PromptCacheKey = out.SafetyIdentifier
	default:
		c.IgnoreIf(true, llm.FieldSafetyIdentifier)
	}
}
