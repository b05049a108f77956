package openai

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/catalog"
	"modelgateway/llm"
)

// mostStops is how many stop sequences OpenAI takes.
const mostStops = 4

// serviceTiers are OpenAI's.
var serviceTiers = []string{"auto", "default", "flex", "priority", "scale"}

// composeParams writes everything but the conversation.
func (c *composition) composeParams() {
	r, out := c.req, &c.out
	out.Model = c.model.Upstream
	c.composeLimit()
	c.composeEffort()
	c.composeSampling()
	out.Seed, out.Logprobs, out.TopLogprobs = r.Seed, r.Logprobs, r.TopLogprobs
	if r.Choices != 1 {
		out.N = r.Choices
	}
	if len(c.model.Traits.Efforts) == 0 { // models that reason refuse stop sequences
		out.Stop = r.Stop[:min(len(r.Stop), mostStops)]
	}
	c.ignoreIf(len(r.Stop) > len(out.Stop), llm.FieldStop)
	out.LogitBias, out.WebSearchOptions = r.LogitBias, r.WebSearch
	c.composeIdentity()
	out.Metadata, out.Modalities, out.ServiceTier = r.Metadata, r.Modalities, c.serviceTier()
	c.ignoreIf(r.Audio != nil, llm.FieldAudio)
	c.ignoreIf(r.Cache != nil, llm.FieldCache)
	if r.Stream {
		out.Stream, out.StreamOptions = true, jsontext.Value(usageOnly)
	}
}

// serviceTier is the wanted one where it is OpenAI's.
func (c *composing) serviceTier() string {
	wanted := c.req.ServiceTier
	if slices.Contains(serviceTiers, wanted) {
		return wanted
	}
	c.ignoreIf(wanted != "", llm.FieldServiceTier)
	return ""
}

// composeLimit writes the output limit under the name that the model accepts, the
// newer one where that is not known.
func (c *composition) composeLimit() {
	limit := c.limit()
	if limit == nil {
		return
	}
	if c.model.Traits.LimitField == oldLimit {
		c.out.MaxTokens = limit
		return
	}
	c.out.MaxCompletionTokens = limit
}

// limit is the output limit, nil where there is none. One beyond the model's own is
// refused upstream, so the model's is sent.
func (c *composing) limit() *int64 {
	limit := c.req.MaxOutput
	if bound := c.model.MaxOutput; limit != nil && bound > 0 && *limit > bound {
		c.ignoreIf(true, llm.FieldMaxOutput)
		return &bound
	}
	return limit
}

// composeSampling leaves out what a model refuses that reasons.
func (c *composition) composeSampling() {
	r := c.req
	if slices.Contains(c.server.Takes, "top_k") {
		c.out.TopK = r.TopK
	}
	c.ignoreIf(r.TopK != nil && c.out.TopK == nil, llm.FieldTopK)
	takes := samples(c.model.Traits, c.out.ReasoningEffort)
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
		c.ignoreIf(f.value != nil && *f.value != f.idle, f.field)
	}
}

// composeIdentity names the end user. What identifies one beyond this API may hold names
// of devices and accounts, so it is hashed. Its requests share the beginning of a prompt,
// so that it names them for the cache as well. Servers that copy the API know neither
// member, and some refuse those that they do not know.
func (c *composition) composeIdentity() {
	r, out := c.req, &c.out
	out.User = identifier(r.User)
	switch {
	case r.SafetyIdentifier == "":
	case c.model.Provider == catalog.OpenAI:
		out.SafetyIdentifier = hashed(r.SafetyIdentifier)
		out.PromptCacheKey = out.SafetyIdentifier
	default:
		c.ignoreIf(true, llm.FieldSafetyIdentifier)
	}
}

// identifier is the name of an end user, hashed where it is longer than OpenAI
// takes.
func identifier(id string) string {
	const longest = 64 // bytes
	if len(id) <= longest {
		return id
	}
	return hashed(id)
}
