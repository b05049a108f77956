package gemini

import (
	"slices"

	"modelgateway/catalog"
	"modelgateway/llm"
)

// dynamicBudget lets the model decide.
const dynamicBudget = -1

// The budgets of OpenAI's efforts in Google's own OpenAI endpoint, in tokens.
const (
	budgetLow    = 1024
	budgetMedium = 8192
	budgetHigh   = 24576
)

// levels are the efforts, the lowest first. Gemini's own levels are these in
// capitals.
var levels = []string{"minimal", "low", "medium", "high"}

// thinkingRequest is how much the client wants the model to think.
type thinkingRequest struct {
	field  llm.Field // in which the client requests it
	off    bool
	effort string // one of OpenAI's words, or empty
	budget int64  // tokens, 0 = not said
}

func (t *translation) translateThinking() error {
	r, given := t.thinkingRequest()
	if !given {
		return nil
	}
	switch {
	case t.traits.Thinks(catalog.ThinkBudget):
		t.thinkByBudget(r)
	case t.traits.Thinks(catalog.ThinkLevel):
		t.thinkByLevel(r)
	case !r.off:
		t.ignore(r.field)
	}
	return nil
}

// thinkingRequest reads the two fields; thinking takes precedence as the more
// exact one. It is false where the client gives neither.
func (t *translation) thinkingRequest() (thinkingRequest, bool) {
	effort, thinking := t.req.Effort, t.req.Thinking
	if thinking == nil {
		return thinkingRequest{field: llm.FieldEffort, off: effort == "none", effort: effort}, effort != ""
	}
	r := thinkingRequest{field: llm.FieldThinking, off: thinking.Type == "disabled"}
	switch {
	case thinking.Type == "enabled" && thinking.BudgetTokens > 0:
		r.budget = thinking.BudgetTokens
	case !r.off && effort != "none":
		r.effort = effort
		return r, true
	}
	if effort != "" && r.off != (effort == "none") {
		t.ignore(llm.FieldEffort) // the two contradict each other
	}
	return r, true
}

func (t *translation) thinkByBudget(r thinkingRequest) {
	budget := r.tokens()
	clamped := max(budget, t.traits.BudgetMin)
	if highest := t.traits.BudgetMax; highest > 0 {
		clamped = min(clamped, highest)
	}
	lossy := clamped != budget && (r.off || r.budget > 0)
	switch {
	case budget == dynamicBudget:
		clamped, lossy = dynamicBudget, false
	case r.off && t.traits.ThinkingBy != catalog.ThinkAlways:
		clamped, lossy = 0, false
	default:
		fits := t.withinLimit(clamped)
		clamped, lossy = fits, lossy || fits != clamped
	}
	if lossy {
		t.ignore(r.field)
	}
	t.config.ThinkingConfig = &thinkingConfig{ThinkingBudget: &clamped, IncludeThoughts: clamped != 0 && t.showsThoughts(r)}
}

// showsThoughts says whether the answer shall have the text of the thoughts. Clients of chat
// completions ask for it with the effort, and get it whether or not they set its display.
func (t *translation) showsThoughts(r thinkingRequest) bool {
	omitted := t.req.Thinking != nil && t.req.Thinking.Display == "omitted" && t.req.Source.Dialect() != llm.Chat
	return !r.off && !t.req.NoThoughts && !omitted
}

// leastUseful is the budget below which a limit of the client's is left to the
// answer alone, in tokens.
const leastUseful = 512

// withinLimit is the budget, or what the client's limit of the answer leaves for
// it: the limit includes the thinking, of which a quarter is kept for the text.
func (t *translation) withinLimit(budget int64) int64 {
	limit := t.config.MaxOutputTokens
	if limit == 0 {
		return budget
	}
	most := limit - limit/4
	switch {
	case budget <= most:
		return budget
	case most >= leastUseful:
		return max(most, t.traits.BudgetMin)
	case t.traits.ThinkingBy == catalog.ThinkAlways:
		return t.traits.BudgetMin
	}
	return 0
}

func (r thinkingRequest) tokens() int64 {
	switch {
	case r.off:
		return 0
	case r.budget > 0:
		return r.budget
	}
	switch r.effort {
	case "":
		return dynamicBudget
	case "minimal", "low":
		return budgetLow
	case "medium":
		return budgetMedium
	default:
		return budgetHigh
	}
}

func (t *translation) thinkByLevel(r thinkingRequest) {
	if r.off {
		t.ignore(r.field) // these models always think: the lowest level is the nearest
	}
	config := &thinkingConfig{IncludeThoughts: t.showsThoughts(r)}
	if level := r.level(); level >= 0 {
		config.ThinkingLevel = t.nearest(level)
	}
	t.config.ThinkingConfig = config
}

// level is an index of levels, or -1 where the model shall decide.
func (r thinkingRequest) level() int {
	tokens := r.tokens()
	switch {
	case r.off || r.effort == "minimal":
		return 0
	case tokens == dynamicBudget:
		return -1
	case tokens <= budgetLow:
		return 1
	case tokens <= budgetMedium:
		return 2
	default:
		return 3
	}
}

// nearest is the accepted level that is nearest to the requested one, the
// higher of two.
func (t *translation) nearest(level int) string {
	for distance := range levels {
		for _, at := range []int{level + distance, level - distance} {
			if at >= 0 && at < len(levels) && slices.Contains(t.traits.Efforts, levels[at]) {
				return capitals[at]
			}
		}
	}
	return capitals[level]
}

var capitals = []string{"MINIMAL", "LOW", "MEDIUM", "HIGH"}
