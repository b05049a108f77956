package anthropic

import "modelgateway/llm"

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
