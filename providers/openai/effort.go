package openai

import (
	"slices"

	"modelgateway/catalog"
	"modelgateway/llm"
)

// efforts are OpenAI's words in ascending order.
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// composeEffort writes how hard the model shall reason. It does not beside functions where
// chat completions refuse both together.
func (c *composition) composeEffort() {
	var field llm.Field
	c.out.ReasoningEffort, field = c.effort()
	if hasFunction(c.out.Tools) && mustNotReason(c.model.Traits, c.out.ReasoningEffort) {
		c.out.ReasoningEffort = noEffort
		c.ignoreIf(true, field)
	}
}

// effort is how hard the model shall reason, empty where that is left to it: the accepted
// effort that is nearest to the wanted one, and the field that asks for it. A higher effort
// is not reported as ignored; a lower one is.
func (c *composing) effort() (effort string, field llm.Field) {
	wanted, field := c.wantedEffort()
	accepted := c.model.Traits.Efforts
	switch {
	case wanted == "":
	case len(accepted) > 0:
		effort = nearestEffort(wanted, accepted)
		got, index := slices.Index(efforts, effort), slices.Index(efforts, wanted)
		c.ignoreIf(got < index || wanted == noEffort && got > index, field)
	case c.model.Traits.Thinks(catalog.ThinkEffort) && (field == llm.FieldEffort || slices.Contains(c.server.Takes, "thinking")):
		// Which efforts it takes is not known: the upstream is to say.
		effort = wanted
	default:
		c.ignoreIf(wanted != noEffort, field)
	}
	return effort, field
}

const (
	effortMember = "reasoning_effort"
	noEffort     = "none"
)

// mustNotReason says whether a model that is offered functions would reason with this
// effort, and the API refuses both together: with gpt-5.4 and later it answers 400
// "Function tools with reasoning_effort are not supported for gpt-5.6 in
// /v1/chat/completions. To use function tools, use /v1/responses or set
// reasoning_effort to 'none'", also where the model reasons by default
// (openai/openai-openapi#541, BerriAI/litellm#34569, July 2026).
func mustNotReason(traits catalog.Traits, effort string) bool {
	return traits.ReasonsOrCalls && effort != noEffort && (effort != "" || reasonsByItself(traits))
}

func reasonsByItself(traits catalog.Traits) bool {
	return traits.ThinkingBy == catalog.ThinkOn || traits.ThinkingBy == catalog.ThinkAlways
}

func hasFunction(tools []tool) bool {
	return slices.ContainsFunc(tools, func(t tool) bool { return t.Function != nil })
}

// wantedEffort is the effort that the client asks for, and the field that does. Of
// the two fields thinking is the more exact one.
func (c *composing) wantedEffort() (string, llm.Field) {
	effort, thinking := c.req.Effort, c.req.Thinking
	switch {
	case thinking == nil:
		return effort, llm.FieldEffort
	case thinking.Type == "disabled":
		return "none", llm.FieldThinking
	case thinking.Type == "enabled" && thinking.BudgetTokens > 0:
		return effortOf(thinking.BudgetTokens), llm.FieldThinking
	}
	c.ignoreIf(effort == "none", llm.FieldEffort) // it contradicts thinking
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
