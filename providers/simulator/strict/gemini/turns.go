package gemini

import (
	"slices"
	"strings"

	simulated "modelgateway/providers/simulator/gemini"
	"modelgateway/providers/simulator/wire"
)

// checkCallTurns requires each call answered in the very next turn, in the order
// of the calls.
func (q *request) checkCallTurns() *wire.Failure {
	var open []string
	for i, c := range q.Contents {
		answered := responses(c)
		switch {
		case len(open) == 0 && len(answered) > 0:
			return simulated.Refusal("Please ensure that function response turn comes immediately after a function call turn.")
		case len(open) != len(answered):
			return unanswered()
		case !slices.Equal(open, answered):
			return simulated.Refusal("Please ensure that the function responses are in the order of the function calls: "+
				"%s was called, %s answered.", strings.Join(open, ", "), strings.Join(answered, ", "))
		}
		open = calls(c)
		if len(open) > 0 && (i == 0 || c.Role != "model" || q.Contents[i-1].Role == "model") {
			return simulated.Refusal(
				"Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
			)
		}
	}
	if len(open) > 0 {
		return unanswered()
	}
	return nil
}

func unanswered() *wire.Failure {
	return simulated.Refusal("Please ensure that the number of function response parts is equal to " +
		"the number of function call parts of the function call turn.")
}

func calls(c simulated.Content) []string {
	var names []string
	for _, part := range c.Parts {
		if part.FunctionCall != nil {
			names = append(names, part.FunctionCall.Name)
		}
	}
	return names
}

func responses(c simulated.Content) []string {
	var names []string
	for _, part := range c.Parts {
		if part.FunctionResponse != nil {
			names = append(names, part.FunctionResponse.Name)
		}
	}
	return names
}

// placeholders are the signatures that Google documents for histories that have
// none. Source: https://ai.google.dev/gemini-api/docs/thought-signatures
var placeholders = []string{"skip_thought_signature_validator", "context_engineering_is_the_way_to_go"}

func (q *request) takesSignature(signature string) bool {
	return signature == "" || slices.Contains(placeholders, signature) || isSignature(q.Model, signature)
}

// checkSignatures requires that any signature is one that this model gave, and
// from Gemini 3 on that the first call of each step of the current turn has one.
func (q *request) checkSignatures() *wire.Failure {
	current := 0
	for i, c := range q.Contents {
		if c.Role != "model" && len(responses(c)) < len(c.Parts) {
			current = i
		}
	}
	for i, c := range q.Contents {
		first := true
		for _, part := range c.Parts {
			if !q.takesSignature(part.ThoughtSignature) {
				return simulated.Refusal("Corrupted thought signature.")
			}
			if part.FunctionCall == nil {
				continue
			}
			if first && part.ThoughtSignature == "" && i > current && q.generation >= 3 {
				return simulated.Refusal("Function call is missing a thought_signature in functionCall parts. "+
					"This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. "+
					"Additional data, function call `default_api:%s`, position %d. "+
					"Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.", part.FunctionCall.Name, i+1)
			}
			first = false
		}
	}
	return nil
}
