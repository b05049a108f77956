package chat

import (
	"slices"

	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/providers/openai/compose"
	"modelgateway/providers/openai/wire"
)

// composeEffort writes how hard the model shall reason. It does not beside functions where
// chat completions refuse both together.
func (c *composition) composeEffort() {
	var field llm.Field
	c.out.ReasoningEffort, field = c.Effort()
	if hasFunction(c.out.Tools) && mustNotReason(c.Model.Traits, c.out.ReasoningEffort) {
		c.out.ReasoningEffort = wire.NoEffort
		c.IgnoreIf(true, field)
	}
}

// mustNotReason says whether a model that is offered functions would reason with this
// effort, and the API refuses both together: with gpt-5.4 and later it answers 400
// "Function tools with reasoning_effort are not supported for gpt-5.6 in
// /v1/chat/completions. To use function tools, use /v1/responses or set
// reasoning_effort to 'none'", also where the model reasons by default
// (openai/openai-openapi#541, BerriAI/litellm#34569, July 2026).
func mustNotReason(traits catalog.Traits, effort string) bool {
	return traits.ReasonsOrCalls && effort != wire.NoEffort && (effort != "" || compose.ReasonsByItself(traits))
}

func hasFunction(tools []tool) bool {
	return slices.ContainsFunc(tools, func(t tool) bool { return t.Function != nil })
}
