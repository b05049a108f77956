package anthropic

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	"modelgateway/catalog"
	"modelgateway/llm"
)

// defaultMaxTokens limits the answer when the client does not, in tokens:
// Anthropic requires a limit.
const defaultMaxTokens = 8192

// maxTokens sets max_tokens, which in Anthropic's API includes thinking.
func (t *translation) maxTokens() {
	limit := t.requestedMaxTokens()
	if bound := t.model.MaxOutput; bound > 0 && limit > bound {
		limit = bound
		t.ignoreIf(t.req.MaxOutput != nil, llm.FieldMaxOutput)
	}
	if t.budget > 0 {
		limit = t.fitBudget(limit)
	}
	t.out.MaxTokens = limit
}

// requestedMaxTokens is the client's limit, or the default.
func (t *translation) requestedMaxTokens() int64 {
	switch {
	case t.req.MaxOutput != nil:
		return *t.req.MaxOutput
	case t.model.MaxOutput > 0:
		return min(defaultMaxTokens, t.model.MaxOutput)
	}
	return defaultMaxTokens
}

// fitBudget makes the limit and the thinking budget fit each other. A limit of
// the client's includes the thinking, as OpenAI's does, so the budget shrinks
// and leaves a quarter of the limit to the answer; the default limit grows by
// the budget, within the model's bounds.
func (t *translation) fitBudget(limit int64) int64 {
	limited := t.req.MaxOutput != nil
	if !limited {
		limit += t.budget
		if bound := t.model.MaxOutput; bound > 0 {
			limit = min(limit, bound)
		}
	}
	most := limit - limit/4
	if exact := t.requestedBudget() > 0; t.budget >= limit || t.budget > most && limited && !exact {
		t.budget = most
		t.ignoreIf(limited || exact, t.thinkingField())
	}
	if t.budget < minBudget { // the limit is too short to think
		t.dropThinking()
		return limit
	}
	t.out.Thinking.BudgetTokens = t.budget
	return limit
}

// minTopP is the least top_p that Anthropic takes together with thinking.
const minTopP = 0.95

// sample sets what the model takes of temperature, top_p and top_k. Leaving out
// a default value changes nothing, so it is not reported as ignored.
func (t *translation) sample() {
	temperature, topP, topK := t.req.Temperature, t.req.TopP, t.req.TopK
	if temperature != nil && (t.traits.Sampling == catalog.SamplingNone || t.thinks) {
		t.ignoreIf(*temperature != 1, llm.FieldTemperature)
		temperature = nil
	}
	if topP != nil && (t.traits.Sampling == catalog.SamplingNone || t.thinks && *topP < minTopP) {
		t.ignoreIf(*topP != 1, llm.FieldTopP)
		topP = nil
	}
	if topK != nil && (t.traits.Sampling == catalog.SamplingNone || t.thinks) {
		t.ignore(llm.FieldTopK)
		topK = nil
	}
	if t.traits.Sampling == catalog.SamplingOne && temperature != nil && topP != nil {
		if *temperature == 1 {
			temperature = nil
		} else {
			t.ignoreIf(*topP != 1, llm.FieldTopP)
			topP = nil
		}
	}
	if limit := t.maxTemperature(); temperature != nil && *temperature > limit {
		t.ignore(llm.FieldTemperature)
		temperature = &limit
	}
	t.out.Temperature, t.out.TopP, t.out.TopK = temperature, topP, topK
}

func (t *translation) maxTemperature() float64 {
	if t.traits.MaxTemperature > 0 {
		return t.traits.MaxTemperature
	}
	return 1
}

// identify names the end user. Anthropic forbids anything that identifies a
// person, so that is hashed; so is what is longer than Anthropic takes.
func (t *translation) identify() {
	const limit = 256 // bytes
	id := t.req.SafetyIdentifier
	if id == "" {
		id = t.req.User
	} else {
		t.ignoreIf(t.req.User != "" && t.req.User != id, llm.FieldUser)
	}
	if id == "" {
		return
	}
	if len(id) > limit || personal.MatchString(id) {
		sum := sha256.Sum256([]byte(id))
		id = hex.EncodeToString(sum[:])
	}
	t.out.Metadata = &metadata{UserID: id}
}

// personal finds e-mail addresses, and texts that are a phone number.
var personal = regexp.MustCompile(`\S@\S+\.\w|^\+?[\d\s().\-/]{7,}$`)

// otherParams translates the parameters that depend on nothing else.
func (t *translation) otherParams() {
	r := t.req
	for _, s := range r.Stop {
		if strings.TrimSpace(s) == "" { // Anthropic refuses blank ones
			t.ignore(llm.FieldStop)
			continue
		}
		t.out.StopSequences = append(t.out.StopSequences, s)
	}
	switch r.ServiceTier {
	case "auto", "standard_only":
		t.out.ServiceTier = r.ServiceTier
	case "", "default":
	default:
		t.ignore(llm.FieldServiceTier)
	}
	t.ignoreIf(r.FrequencyPenalty != nil && *r.FrequencyPenalty != 0, llm.FieldFrequencyPenalty)
	t.ignoreIf(r.PresencePenalty != nil && *r.PresencePenalty != 0, llm.FieldPresencePenalty)
	t.ignoreIf(r.Seed != nil, llm.FieldSeed)
	t.ignoreIf(r.LogitBias != nil && string(r.LogitBias) != "{}", llm.FieldLogitBias)
	t.ignoreIf(r.Logprobs, llm.FieldLogprobs)
	t.ignoreIf(r.TopLogprobs != nil && *r.TopLogprobs > 0, llm.FieldTopLogprobs)
	t.ignoreIf(len(r.Metadata) > 0, llm.FieldMetadata)
	t.ignoreIf(r.Audio != nil, llm.FieldAudio)
}

// efforts are OpenAI's words in rising order, with the budget that each stands
// for where a model thinks by budget. Anthropic advises against waiting for
// answers with a budget above 32k, so max has the same as xhigh.
var efforts = []struct {
	word   string
	budget int64 // tokens
}{
	{"minimal", 1024}, {"low", 2048}, {"medium", defaultBudget}, {"high", 16384}, {"xhigh", 32768}, {"max", 32768},
}

// setEffort sends the accepted effort that is nearest to the one asked for. A
// higher effort than requested is not reported as ignored; a lower one is.
func (t *translation) setEffort() {
	effort := t.req.Effort
	asked := effort != "" && effort != "none"
	if !asked && t.out.Thinking != nil && t.out.Thinking.Type == "adaptive" {
		effort = effortOf(t.requestedBudget())
	}
	if effort == "" || effort == "none" {
		return
	}
	if len(t.traits.Efforts) == 0 {
		byBudget := t.budget > 0 && t.requestedBudget() == 0
		t.ignoreIf(asked && !byBudget, llm.FieldEffort)
		return
	}
	// Opus 5 can answer without thinking only up to the effort high.
	off := t.out.Thinking != nil && t.out.Thinking.Type == "disabled"
	t.effort = nearest(effort, t.traits.Efforts, off)
	t.ignoreIf(asked && rank(t.effort) < rank(effort), llm.FieldEffort)
}

// nearest is the accepted word that is nearest to effort, the higher one of two.
func nearest(effort string, accepted []string, upToHigh bool) string {
	best := accepted[0]
	for _, word := range accepted[1:] {
		if upToHigh && rank(word) > rank("high") {
			break
		}
		if distance(word, effort) <= distance(best, effort) {
			best = word
		}
	}
	return best
}

func distance(word, effort string) int {
	return max(rank(word)-rank(effort), rank(effort)-rank(word))
}

func rank(effort string) int {
	for i, e := range efforts {
		if e.word == effort {
			return i
		}
	}
	return 0
}

// budgetOf is what an effort stands for, in tokens.
func budgetOf(effort string) int64 {
	for _, e := range efforts {
		if e.word == effort {
			return e.budget
		}
	}
	return defaultBudget
}

// effortOf is the effort that a budget amounts to; empty for no budget.
func effortOf(budget int64) string {
	if budget == 0 {
		return ""
	}
	for _, e := range efforts[1:] { // no model has minimal
		if budget <= e.budget {
			return e.word
		}
	}
	return "xhigh"
}
