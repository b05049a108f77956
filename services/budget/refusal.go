package budget

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/metrics"
)

// overBudget is the 402 of a call that needs more than what is left. unspent is that and what calls hold that run.
func overBudget(c *waiter, left, unspent int64) *api.Error {
	err := &api.Error{
		Status: http.StatusPaymentRequired, Type: api.TypeBudget, Code: api.CodeBudgetExceeded, Final: true, Limit: metrics.LimitBudget,
	}
	if of := c.budget.Session; of != "" { // agents show the message to their users
		err.Code, err.Limit = api.CodeSessionBudget, metrics.LimitSessionBudget
		err.Message = fmt.Sprintf("this session has spent %s of the %s that a session of %s may cost, and this call %s: "+
			"start a new session to go on, or ask an administrator to raise session_budget_usd",
			usd(c.budget.Limit-unspent), usd(c.budget.Limit), of, c.costWords())
		return err
	}
	var text strings.Builder
	if c.budget.Account == models.GatewayAccount { // a caller must not learn what is left for all
		err.Limit = metrics.LimitGatewayBudget
		fmt.Fprintf(&text, "the budget of %s does not cover this call, which %s", c.budget.Name, c.costWords())
	} else {
		fmt.Fprintf(&text, "%s has a budget of %s %s, of which %s is left, and this call %s",
			c.budget.Name, usd(c.budget.Limit), windowWords(c.budget.Window), usd(left), c.costWords())
	}
	if left > 0 {
		text.WriteString("; this is reserved for its prompt, as it is estimated beforehand, and for the output tokens that it allows")
	}
	if end := c.budget.Window.End(c.at); !end.IsZero() {
		err.Window, err.Resets = string(c.budget.Window), end
		fmt.Fprintf(&text, "; the %s ends at %s", c.budget.Window, end.Format(time.RFC3339))
	}
	err.Message = text.String()
	return err
}

// heldBudget is the 429 of a call that the budget would cover if the calls that run had
// ended and cost nothing.
func heldBudget(c *waiter, left int64) *api.Error {
	err := &api.Error{
		Status: http.StatusTooManyRequests, Type: api.TypeRateLimit, Code: api.CodeBudgetHeld, RetryAfter: api.BusyRetryAfter,
		Limit: metrics.LimitBudget,
	}
	if c.budget.Account == models.GatewayAccount {
		err.Limit = metrics.LimitGatewayBudget
		err.Message = fmt.Sprintf("the budget of %s does not cover this call, which %s, while other calls run; "+
			"try again in %s", c.budget.Name, c.costWords(), err.RetryAfter)
		return err
	}
	if c.budget.Session != "" {
		err.Limit = metrics.LimitSessionBudget
	}
	window := windowWords(c.budget.Window)
	err.Message = fmt.Sprintf("%s has a budget of %s %s, of which %s is left while other calls run, and this call %s; "+
		"try again in %s", c.budget.Name, usd(c.budget.Limit), window, usd(left), c.costWords(), err.RetryAfter)
	return err
}

// costWords says what a call needs.
func (c *waiter) costWords() string {
	if c.expected {
		return "is expected to cost " + usd(c.amount)
	}
	return "could cost up to " + usd(c.amount)
}

func windowWords(w models.Window) string {
	if w == models.Total {
		return "in total"
	}
	return "a " + string(w)
}

// usd writes micro-dollars exactly, with cents at least.
func usd(micro int64) string {
	const dollar = 1_000_000
	sign := ""
	if micro < 0 {
		sign, micro = "-", -micro
	}
	cents := strings.TrimRight(fmt.Sprintf("%06d", micro%dollar), "0")
	return fmt.Sprintf("%s$%d.%s", sign, micro/dollar, cents+strings.Repeat("0", max(2-len(cents), 0)))
}
