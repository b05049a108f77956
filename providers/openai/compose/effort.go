package compose

import (
	"slices"

	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/providers/openai/wire"
)

// efforts are OpenAI's words in ascending order.
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// Effort is how hard the model shall reason, empty where that is left to it: the accepted
// effort that is nearest to the wanted one, and the field that asks for it. A higher effort
// is not reported as ignored; a lower one is.
func (c *Draft) Effort() (effort string, field llm.Field) {
	wanted, field := c.wantedEffort()
	accepted := c.Model.Traits.Efforts
	switch {
	case wanted == "":
	case len(accepted) > 0:
		effort = nearestEffort(wanted, accepted)
		got, index := slices.Index(efforts, effort), slices.Index(efforts, wanted)
		c.IgnoreIf(got < index || wanted == wire.NoEffort && got > index, field)
	case c.Model.Traits.Thinks(catalog.ThinkEffort) && (field == llm.FieldEffort || slices.Contains(c.Server.Takes, "thinking")):
		// Which efforts it takes is not known: the upstream is to say.
		effort = wanted
	default:
		c.IgnoreIf(wanted != wire.NoEffort, field)
	}
	return effort, field
}

// ReasonsByItself says whether a model reasons without being asked to.
func ReasonsByItself(traits catalog.Traits) bool {
	return traits.ThinkingBy == catalog.ThinkOn || traits.ThinkingBy == catalog.ThinkAlways
}

// wantedEffort is the effort that the client asks for, and the field that does. Of
// the two fields thinking is the more exact one.
func (c *Draft) wantedEffort() (string, llm.Field) {
	effort, thinking := c.Request.Effort, c.Request.Thinking
	switch {
	case thinking == nil:
		return effort, llm.FieldEffort
	case thinking.Type == "disabled":
		return "none", llm.FieldThinking
	case thinking.Type == "enabled" && thinking.BudgetTokens > 0:
		return effortOf(thinking.BudgetTokens), llm.FieldThinking
	}
	c.IgnoreIf(effort == "none", llm.FieldEffort) // it contradicts thinking
	if effort == "none" || effort == "" {
		return "", llm.FieldThinking // as hard as the model does by itself
	}
	return effort, llm.FieldEffort
}

// effortOf is the effort that a budget of tokens amounts to.
func effortOf(budget int64) string {
	const low, medium, high = 2048, 10_000, 16_384
	switch {
	case budget <= low:
		return "low"
	case budget <= medium:
		return "medium"
	case budget <= high:
		return "high"
	}
	return "xhigh"
}

// nearestEffort is the accepted effort that is nearest to the wanted one, the
// higher one of two. None is no effort: it is taken only where it is wanted.
func nearestEffort(wanted string, accepted []string) string {
	if slices.Contains(accepted, wanted) {
		return wanted
	}
	at, best := slices.Index(efforts, wanted), ""
	for _, word := range accepted {
		if word != "none" && (best == "" || distance(word, at) <= distance(best, at)) {
			best = word
		}
	}
	return best
}

func distance(word string, at int) int {
	i := slices.Index(efforts, word)
	return max(i-at, at-i)
}

// TakesSampling says whether a model accepts temperature, top_p and penalties with this
// effort of reasoning.
func TakesSampling(traits catalog.Traits, effort string) bool {
	takes := traits.Sampling
	if traits.SamplingThinking != "" && effort != "" && effort != "none" {
		takes = traits.SamplingThinking
	}
	return takes != catalog.SamplingNone
}
