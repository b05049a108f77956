package anthropic

import (
	"slices"

	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/providers/alternating"
)

// minBudget is the least that Anthropic takes, in tokens.
const minBudget = 1024

// defaultBudget is for a client that does not say how hard to think, in tokens.
const defaultBudget = 10000

// chooseThinking decides whether and how the model thinks. The field thinking is in
// Anthropic's own words and overrides the effort, which then only says how hard.
func (t *translation) chooseThinking() {
	asked, effort := t.req.Thinking, t.req.Effort
	t.thinks = t.traits.ThinkingBy == catalog.ThinkOn || t.traits.ThinkingBy == catalog.ThinkAlways
	switch {
	case asked == nil && effort == "":
	case asked != nil && asked.Type == "disabled", asked == nil && effort == "none":
		t.disableThinking()
	case len(t.traits.Thinking) == 0:
		t.ignoreIf(asked != nil, llm.FieldThinking)
	default:
		t.enableThinking()
		t.ignoreIf(effort == "none", llm.FieldEffort) // it contradicts thinking
	}
	t.setEffort()
}

// thinkingField is the field by which the client asked for thinking, or
// against it.
func (t *translation) thinkingField() llm.Field {
	if t.req.Thinking != nil {
		return llm.FieldThinking
	}
	return llm.FieldEffort
}

func (t *translation) disableThinking() {
	switch {
	case len(t.traits.Thinking) == 0:
	case t.traits.ThinkingBy == catalog.ThinkAlways:
		t.ignore(t.thinkingField())
	default:
		t.out.Thinking, t.thinks = &thinking{Type: "disabled"}, false
	}
}

// enableThinking takes the kind of thinking that the client asked for where the
// model has it and the conversation allows it, else the other kind.
func (t *translation) enableThinking() {
	budget := t.traits.Thinks(catalog.ThinkBudget) && t.allowsBudget()
	adaptive := t.traits.Thinks(catalog.ThinkAdaptive)
	native := t.req.Thinking != nil && t.req.Thinking.Type == "enabled"
	switch {
	case budget && (native || !adaptive):
		t.thinkByBudget()
	case adaptive:
		t.out.Thinking, t.thinks = &thinking{Type: "adaptive", Display: t.display("summarized")}, true
	default:
		t.ignore(t.thinkingField())
	}
}

// allowsBudget says whether Anthropic takes this conversation with a thinking
// budget: not with a forced tool, not with a prefilled answer, and not inside a
// tool loop that comes back without any of its thinking. A model thinks once at
// the beginning of a loop, and need not do so in its later turns.
func (t *translation) allowsBudget() bool {
	all := t.folded.Turns
	if t.out.ToolChoice.forces() || all[len(all)-1].Assistant {
		return false
	}
	if all[len(all)-1].Blocks[0].Kind != llm.BlockResult {
		return true
	}
	for i := len(all) - 2; i >= 0; i -= 2 {
		if slices.ContainsFunc(all[i].Blocks, signed) {
			return true
		}
		if i == 0 || !onlyResults(&all[i-1]) {
			return false
		}
	}
	return false
}

// signed says whether a block is thinking that Anthropic takes back.
func signed(b alternating.Block) bool {
	return b.Kind == llm.BlockThought && thoughtBlock(b.Thought) != nil
}

// onlyResults says whether a tool loop goes on with a turn of the user.
func onlyResults(turn *alternating.Turn) bool {
	return turn.Blocks[len(turn.Blocks)-1].Kind == llm.BlockResult // results come first
}

func (t *translation) thinkByBudget() {
	requested := t.requestedBudget()
	budget := requested
	if budget == 0 {
		budget = budgetOf(t.req.Effort)
	}
	budget = max(budget, minBudget, t.traits.BudgetMin)
	if bound := t.traits.BudgetMax; bound > 0 {
		budget = min(budget, bound)
	}
	t.ignoreIf(requested != 0 && requested != budget, llm.FieldThinking)
	t.budget, t.thinks = budget, true
	t.out.Thinking = &thinking{Type: "enabled", BudgetTokens: budget, Display: t.display("")}
}

// requestedBudget is the budget in Anthropic's own words, 0 when there is none.
func (t *translation) requestedBudget() int64 {
	const limit = 1 << 31 // more than any model has; sums with it do not overflow
	if t.req.Thinking == nil || t.req.Thinking.Type != "enabled" {
		return 0
	}
	return min(t.req.Thinking.BudgetTokens, limit)
}

// dropThinking undoes thinkByBudget.
func (t *translation) dropThinking() {
	t.out.Thinking, t.budget, t.thinks = nil, 0, false
	t.ignore(t.thinkingField())
}

// display says whether the text of the thinking is wanted: as the client says,
// else the given default. Newer models show the text only when asked to.
func (t *translation) display(byDefault string) string {
	if t.req.Thinking != nil && t.req.Thinking.Display != "" {
		return t.req.Thinking.Display
	}
	return byDefault
}

// thoughtBlock is a block of thinking as Anthropic gave it; nil for what
// Anthropic does not take back: another provider's, or one without its
// signature.
func thoughtBlock(t *llm.Thought) *block {
	switch {
	case t.Format != llm.FormatAnthropic:
		return nil
	case t.Kind == llm.ThoughtText && t.Signature != "":
		return &block{Type: "thinking", Thinking: &t.Text, Signature: t.Signature}
	case t.Kind == llm.ThoughtEncrypted && t.Data != "":
		return &block{Type: "redacted_thinking", Data: t.Data}
	}
	return nil
}
