package anthropic

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	"modelgateway/models/api"
	"modelgateway/models/catalog"
)

// usualLimit is how long an answer may get when the client sets no limit, in
// tokens: Anthropic wants one.
const usualLimit = 8192

// limit sets max_tokens. Anthropic counts thinking inside it. The client's
// limit is taken to be for the answer, and the budget is added, unless the
// client set both in Anthropic's own words and they fit each other.
func (t *translation) limit() {
	limit, name := t.askedLimit()
	most := t.model.MaxOutput
	if most > 0 && limit > most {
		limit = most
		t.loseIf(name != "", name)
	}
	if t.budget > 0 {
		limit = t.makeRoom(limit, name)
	}
	t.out.MaxTokens = limit
}

// askedLimit is the client's limit and the field that says it, or the usual
// one and no field.
func (t *translation) askedLimit() (limit int64, name string) {
	completion, tokens := t.req.MaxCompletionTokens, t.req.MaxTokens
	switch {
	case completion != nil:
		t.loseIf(tokens != nil && *tokens != *completion, "max_tokens")
		return *completion, "max_completion_tokens"
	case tokens != nil:
		return *tokens, "max_tokens"
	case t.model.MaxOutput > 0:
		return min(usualLimit, t.model.MaxOutput), ""
	}
	return usualLimit, ""
}

// makeRoom makes the limit one that the budget fits in, within the model's
// bounds, and the budget one that leaves a quarter to the answer where it would
// not fit otherwise.
func (t *translation) makeRoom(limit int64, name string) int64 {
	native := t.askedBudget() > 0 && name != "" && limit > t.budget
	if !native {
		limit += t.budget
	}
	if most := t.model.MaxOutput; most > 0 {
		limit = min(limit, most)
	}
	if t.budget >= limit {
		t.budget = limit - limit/4
		t.loseIf(t.askedBudget() > 0, "thinking")
	}
	if t.budget < leastBudget { // the model's whole output is too short to think
		t.dropThinking()
		return limit
	}
	t.out.Thinking.BudgetTokens = t.budget
	return limit
}

// sample sets what the model takes of temperature, top_p and top_k. A value
// that is the default needs no sending, and is no loss.
func (t *translation) sample() {
	temperature, topP, topK := t.req.Temperature, t.req.TopP, t.req.TopK
	if temperature != nil && (t.traits.Sampling == catalog.SamplingNone || t.thinks) {
		t.loseIf(*temperature != 1, "temperature")
		temperature = nil
	}
	if topP != nil && (t.traits.Sampling == catalog.SamplingNone || t.thinks && *topP < leastTopP) {
		t.loseIf(*topP != 1, "top_p")
		topP = nil
	}
	if topK != nil && (t.traits.Sampling == catalog.SamplingNone || t.thinks) {
		t.lose("top_k")
		topK = nil
	}
	if t.traits.Sampling == catalog.SamplingOne && temperature != nil && topP != nil {
		if *temperature == 1 {
			temperature = nil
		} else {
			t.loseIf(*topP != 1, "top_p")
			topP = nil
		}
	}
	if most := t.mostTemperature(); temperature != nil && *temperature > most {
		t.lose("temperature")
		temperature = &most
	}
	t.out.Temperature, t.out.TopP, t.out.TopK = temperature, topP, topK
}

// leastTopP is the least top_p that goes together with thinking.
const leastTopP = 0.95

func (t *translation) mostTemperature() float64 {
	if t.traits.MaxTemperature > 0 {
		return t.traits.MaxTemperature
	}
	return 1
}

// identify says who the end user is. Anthropic forbids anything that tells who
// a person is, so that is hashed; so is what is longer than it takes.
func (t *translation) identify() {
	const longest = 256
	id := t.req.SafetyIdentifier
	if id == "" {
		id = t.req.User
	} else {
		t.loseIf(t.req.User != "" && t.req.User != id, "user")
	}
	if id == "" {
		return
	}
	if len(id) > longest || personal.MatchString(id) {
		sum := sha256.Sum256([]byte(id))
		id = hex.EncodeToString(sum[:])
	}
	t.out.Metadata = &metadata{UserID: id}
}

// personal finds e-mail addresses, and what is nothing but a phone number.
var personal = regexp.MustCompile(`\S@\S+\.\w|^\+?[\d\s().\-/]{7,}$`)

// rest is what needs no more than a look.
func (t *translation) rest() {
	r := t.req
	for _, s := range r.Stop {
		if strings.TrimSpace(s) == "" { // refused by Anthropic
			t.lose("stop")
			continue
		}
		t.out.StopSequences = append(t.out.StopSequences, s)
	}
	switch r.ServiceTier {
	case "auto", "standard_only":
		t.out.ServiceTier = r.ServiceTier
	case "", "default":
	default:
		t.lose("service_tier")
	}
	t.loseIf(r.FrequencyPenalty != nil && *r.FrequencyPenalty != 0, "frequency_penalty")
	t.loseIf(r.PresencePenalty != nil && *r.PresencePenalty != 0, "presence_penalty")
	t.loseIf(r.Seed != nil, "seed")
	t.loseIf(api.Given(r.LogitBias) && string(t.value("logit_bias")) != "{}", "logit_bias")
	t.loseIf(r.Logprobs, "logprobs")
	t.loseIf(r.TopLogprobs != nil && *r.TopLogprobs > 0, "top_logprobs")
	t.loseIf(len(r.Metadata) > 0, "metadata")
	t.loseIf(api.Given(r.Audio), "audio")
}
