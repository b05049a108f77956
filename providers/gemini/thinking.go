package gemini

import (
	"slices"

	"modelgateway/models/catalog"
)

// dynamic is the budget of a model that decides for itself.
const dynamic = -1

// The budgets Google's own OpenAI endpoint gives to the words of OpenAI, in
// tokens.
const (
	budgetLow    = 1024
	budgetMedium = 8192
	budgetHigh   = 24576
)

// levels are the words for effort, the least first. Gemini's own are these in
// capitals.
var levels = []string{"minimal", "low", "medium", "high"}

// wish is how much the client wants the model to think.
type wish struct {
	field  string // that says so
	off    bool
	effort string // one of OpenAI's words, or empty
	budget int64  // tokens, 0 = not said
}

func (t *translation) translateThinking() error {
	w, asked := t.wish()
	if !asked {
		return nil
	}
	switch {
	case t.traits.Thinks(catalog.ThinkBudget):
		t.thinkByBudget(w)
	case t.traits.Thinks(catalog.ThinkLevel):
		t.thinkByLevel(w)
	case !w.off:
		t.lose(w.field)
	}
	return nil
}

// wish reads the two fields; thinking is the more exact one.
func (t *translation) wish() (wish, bool) {
	effort, thinking := t.req.ReasoningEffort, t.req.Thinking
	if thinking == nil {
		return wish{field: "reasoning_effort", off: effort == "none", effort: effort}, effort != ""
	}
	w := wish{field: "thinking", off: thinking.Type == "disabled"}
	switch {
	case thinking.Type == "enabled" && thinking.BudgetTokens > 0:
		w.budget = thinking.BudgetTokens
	case !w.off && effort != "none":
		w.effort = effort
		return w, true
	}
	if effort != "" && w.off != (effort == "none") {
		t.lose("reasoning_effort") // the two contradict each other
	}
	return w, true
}

func (t *translation) thinkByBudget(w wish) {
	budget := w.tokens()
	clamped := max(budget, t.traits.BudgetMin)
	if most := t.traits.BudgetMax; most > 0 {
		clamped = min(clamped, most)
	}
	switch {
	case budget == dynamic:
		clamped = dynamic
	case w.off && t.traits.ThinkingBy != catalog.ThinkAlways:
		clamped = 0
	case clamped != budget && (w.off || w.budget > 0):
		t.lose(w.field)
	}
	t.config.ThinkingConfig = &thinkingConfig{ThinkingBudget: &clamped, IncludeThoughts: !w.off}
}

func (w wish) tokens() int64 {
	switch {
	case w.off:
		return 0
	case w.budget > 0:
		return w.budget
	}
	switch w.effort {
	case "":
		return dynamic
	case "minimal", "low":
		return budgetLow
	case "medium":
		return budgetMedium
	default:
		return budgetHigh
	}
}

func (t *translation) thinkByLevel(w wish) {
	if w.off {
		t.lose(w.field) // these models always think: the least is as near as it gets
	}
	config := &thinkingConfig{IncludeThoughts: !w.off}
	if level := w.level(); level >= 0 {
		config.ThinkingLevel = t.nearest(level)
	}
	t.config.ThinkingConfig = config
}

// level is an index of levels, or -1 where the model shall decide.
func (w wish) level() int {
	tokens := w.tokens()
	switch {
	case w.off || w.effort == "minimal":
		return 0
	case tokens == dynamic:
		return -1
	case tokens <= budgetLow:
		return 1
	case tokens <= budgetMedium:
		return 2
	default:
		return 3
	}
}

// nearest is the level the model takes that is closest to the wanted one, the
// higher of two as close.
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
