package tokens

import (
	"modelgateway/catalog"
	"modelgateway/llm"
)

// Reasons says whether a model may write tokens for a request that it does not show.
func Reasons(r *llm.Request, model catalog.Traits) bool {
	switch {
	case model.ThinkingBy == catalog.ThinkAlways:
		return true
	case len(model.Thinking) == 0:
		return false
	case r.Thinking != nil && r.Thinking.Type != "":
		return r.Thinking.Type != "disabled"
	case r.Effort != "":
		return r.Effort != "none"
	}
	return model.ThinkingBy == catalog.ThinkOn
}
