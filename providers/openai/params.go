package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/models/llm"
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
	out.User, out.SafetyIdentifier = identifier(r.User), identifier(r.SafetyIdentifier)
	out.Metadata, out.Modalities = r.Metadata, r.Modalities
	if slices.Contains(serviceTiers, r.ServiceTier) {
		out.ServiceTier = r.ServiceTier
	}
	c.ignoreIf(r.ServiceTier != out.ServiceTier, llm.FieldServiceTier)
	c.ignoreIf(r.Audio != nil, llm.FieldAudio)
	c.ignoreIf(r.Cache != nil, llm.FieldCache)
	if r.Stream {
		out.Stream, out.StreamOptions = true, jsontext.Value(usageOnly)
	}
}

// composeLimit writes the output limit under the name that the model accepts, the
// newer one where that is not known. A limit beyond the model's own is refused
// upstream, so the model's is sent.
func (c *composition) composeLimit() {
	limit := c.req.MaxOutput
	if limit == nil {
		return
	}
	if bound := c.model.MaxOutput; bound > 0 && *limit > bound {
		c.ignoreIf(true, llm.FieldMaxOutput)
		limit = &bound
	}
	if c.model.Traits.LimitField == oldLimit {
		c.out.MaxTokens = limit
		return
	}
	c.out.MaxCompletionTokens = limit
}

// composeSampling leaves out what a model refuses that reasons.
func (c *composition) composeSampling() {
	r := c.req
	c.ignoreIf(r.TopK != nil, llm.FieldTopK)
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

// identifier is the name of an end user, hashed where it is longer than OpenAI
// takes.
func identifier(id string) string {
	const longest = 64 // bytes
	if len(id) <= longest {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])
}
