package anthropic

import (
	"slices"

	"github.com/go-json-experiment/json"

	"modelgateway/models/api"
	"modelgateway/models/catalog"
	"modelgateway/providers/turns"
)

// leastBudget is the least that Anthropic takes, in tokens.
const leastBudget = 1024

// usualBudget is for a client that does not say how hard to think, in tokens.
const usualBudget = 10000

// efforts are OpenAI's words in rising order, with the budget that each stands
// for where a model thinks by budget. Beyond 32k Anthropic advises against
// waiting for the answer, so max is no more than xhigh.
var efforts = []struct {
	word   string
	budget int64 // tokens
}{
	{"minimal", 1024}, {"low", 2048}, {"medium", usualBudget}, {"high", 16384}, {"xhigh", 32768}, {"max", 32768},
}

// think decides whether and how the model thinks. The field thinking is in
// Anthropic's own words and goes before reasoning_effort, which then only says
// how hard.
func (t *translation) think() {
	asked, level := t.req.Thinking, t.req.ReasoningEffort
	t.thinks = t.traits.ThinkingBy == catalog.ThinkOn || t.traits.ThinkingBy == catalog.ThinkAlways
	switch {
	case asked == nil && level == "":
	case asked != nil && asked.Type == "disabled", asked == nil && level == "none":
		t.thinkNot()
	case len(t.traits.Thinking) == 0:
		t.loseIf(asked != nil, "thinking")
	default:
		t.thinkSomehow()
		t.loseIf(level == "none", "reasoning_effort") // it contradicts thinking
	}
	t.sayEffort()
}

// asking is the field by which the client asked for thinking, or against it.
func (t *translation) asking() string {
	if t.req.Thinking != nil {
		return "thinking"
	}
	return "reasoning_effort"
}

func (t *translation) thinkNot() {
	switch {
	case len(t.traits.Thinking) == 0:
	case t.traits.ThinkingBy == catalog.ThinkAlways:
		t.lose(t.asking())
	default:
		t.out.Thinking, t.thinks = &thinking{Type: "disabled"}, false
	}
}

// thinkSomehow takes the way the client asked for where the model knows it and
// the conversation allows it, else the other one.
func (t *translation) thinkSomehow() {
	budget := t.traits.Thinks(catalog.ThinkBudget) && t.budgetFits()
	adaptive := t.traits.Thinks(catalog.ThinkAdaptive)
	native := t.req.Thinking != nil && t.req.Thinking.Type == "enabled"
	switch {
	case budget && (native || !adaptive):
		t.thinkByBudget()
	case adaptive:
		t.out.Thinking, t.thinks = &thinking{Type: "adaptive", Display: t.display("summarized")}, true
	default:
		t.lose(t.asking())
	}
}

// budgetFits says whether Anthropic takes this conversation with thinking by
// budget: not with a forced tool, not with the answer begun, and not in the
// middle of a tool loop that comes back without any of its thinking. A model
// thinks once at the beginning of a loop, and need not do so in its later turns.
func (t *translation) budgetFits() bool {
	talk := t.talk.Turns
	if t.out.ToolChoice.forces() || talk[len(talk)-1].Assistant {
		return false
	}
	if talk[len(talk)-1].Blocks[0].Result == nil {
		return true
	}
	for i := len(talk) - 2; i >= 0; i -= 2 {
		if slices.ContainsFunc(talk[i].Blocks, signed) {
			return true
		}
		if i == 0 || !onlyResults(&talk[i-1]) {
			return false
		}
	}
	return false
}

// signed says whether a block is thinking that Anthropic takes back.
func signed(b turns.Block) bool { return b.Thought != nil && thoughtBlock(b.Thought) != nil }

// onlyResults says whether a tool loop goes on with a turn of the user.
func onlyResults(turn *turns.Turn) bool {
	return turn.Blocks[len(turn.Blocks)-1].Result != nil // results come first
}

func (t *translation) thinkByBudget() {
	asked := t.askedBudget()
	budget := asked
	if budget == 0 {
		budget = budgetOf(t.req.ReasoningEffort)
	}
	budget = max(budget, leastBudget, t.traits.BudgetMin)
	if most := t.traits.BudgetMax; most > 0 {
		budget = min(budget, most)
	}
	t.loseIf(asked != 0 && asked != budget, "thinking")
	t.budget, t.thinks = budget, true
	t.out.Thinking = &thinking{Type: "enabled", BudgetTokens: budget, Display: t.display("")}
}

// askedBudget is the budget in Anthropic's own words, 0 when there is none.
func (t *translation) askedBudget() int64 {
	const most = 1 << 31 // more cannot be meant, and must not overflow
	if t.req.Thinking == nil || t.req.Thinking.Type != "enabled" {
		return 0
	}
	return min(t.req.Thinking.BudgetTokens, most)
}

// dropThinking takes back what thinkByBudget did.
func (t *translation) dropThinking() {
	t.out.Thinking, t.budget, t.thinks = nil, 0, false
	t.lose(t.asking())
}

// sayEffort sends the accepted effort that is nearest to the one asked for. A
// little more than was asked is no loss; less is.
func (t *translation) sayEffort() {
	level := t.req.ReasoningEffort
	asked := level != "" && level != "none"
	if !asked && t.out.Thinking != nil && t.out.Thinking.Type == "adaptive" {
		level = levelOf(t.askedBudget())
	}
	if level == "" || level == "none" {
		return
	}
	if len(t.traits.Efforts) == 0 {
		said := t.budget > 0 && t.askedBudget() == 0 // by the budget
		t.loseIf(asked && !said, "reasoning_effort")
		return
	}
	// Opus 5 goes without thinking only up to this effort.
	off := t.out.Thinking != nil && t.out.Thinking.Type == "disabled"
	t.effort = nearest(level, t.traits.Efforts, off)
	t.loseIf(asked && rank(t.effort) < rank(level), "reasoning_effort")
}

// nearest is the accepted word that is nearest to level, the higher one of two.
func nearest(level string, accepted []string, upToHigh bool) string {
	best := accepted[0]
	for _, word := range accepted[1:] {
		if upToHigh && rank(word) > rank("high") {
			break
		}
		if far(word, level) <= far(best, level) {
			best = word
		}
	}
	return best
}

func far(word, level string) int {
	return max(rank(word)-rank(level), rank(level)-rank(word))
}

func rank(word string) int {
	for i, e := range efforts {
		if e.word == word {
			return i
		}
	}
	return 0
}

// budgetOf is what an effort stands for, in tokens.
func budgetOf(level string) int64 {
	for _, e := range efforts {
		if e.word == level {
			return e.budget
		}
	}
	return usualBudget
}

// levelOf is the effort that a budget amounts to; empty for no budget.
func levelOf(budget int64) string {
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

// display is whether the text of the thinking is wanted: as the client says,
// else as usual. Newer models keep it to themselves unless they are asked.
func (t *translation) display(usual string) string {
	var asked struct {
		Display string `json:"display"`
	}
	if raw := t.value("thinking"); raw != nil && json.Unmarshal(raw, &asked) == nil && asked.Display != "" {
		return asked.Display
	}
	return usual
}

// thoughtBlock is a block of thinking as Anthropic gave it; nil for what it
// would not take back: another provider's, or one without its signature.
func thoughtBlock(d *api.ReasoningDetail) *block {
	switch {
	case d.Format != api.FormatAnthropic:
		return nil
	case d.Type == api.ReasoningText && d.Signature != "":
		return &block{Type: "thinking", Thinking: &d.Text, Signature: d.Signature}
	case d.Type == api.ReasoningEncrypted && d.Data != "":
		return &block{Type: "redacted_thinking", Data: d.Data}
	}
	return nil
}
