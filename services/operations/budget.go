package operations

import (
	"context"
	"fmt"
	"time"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/budget"
)

// Budget shows what all calls have spent.
type Budget struct {
	Store  *models.Store
	Limit  int64 // micro-dollars; -1: there is no budget
	Window models.Window
	Now    func() time.Time
	Spent  func() []budget.Reached // of accounts that have nearly spent theirs
}

// Show is the budget of the whole gateway; without one what was spent in this month.
func (b *Budget) Show(ctx context.Context) (api.GatewayBudget, error) {
	now := b.Now()
	spent, err := b.Store.AccountSpend(ctx, []string{models.GatewayAccount}, now)
	if err != nil {
		return api.GatewayBudget{}, api.Unavailable(fmt.Errorf("look up what is spent: %w", err))
	}
	all, window := spent[models.GatewayAccount], models.Month
	shown := api.GatewayBudget{Object: "budget"}
	if b.Limit >= 0 {
		window = b.Window
		limit, left := api.USD(b.Limit), api.USD(max(b.Limit-all.In(window), 0))
		shown.Limit, shown.Remaining, shown.Window = &limit, &left, api.Maybe(window)
	}
	shown.Spent = api.USD(all.In(window))
	shown.BeganAt, shown.ResetsAt = seconds(window.Begin(now)), seconds(window.End(now))
	return shown, nil
}

// List lists the accounts that have spent 80 % of their budget or more, the greatest share first.
func (b *Budget) List() api.List[api.AccountBudget] {
	return api.ShowList(b.Spent(), func(r *budget.Reached) api.AccountBudget {
		limit, left := api.USD(r.Budget), api.USD(max(r.Budget-r.Spent, 0))
		return api.AccountBudget{Kind: string(r.Kind), ID: r.ID, Name: r.Name, GatewayBudget: api.GatewayBudget{
			Object: "budget", Limit: &limit, Window: api.Maybe(r.Span), Spent: api.USD(r.Spent), Remaining: &left,
			BeganAt: seconds(r.Span.Begin(r.At)), ResetsAt: seconds(r.Span.End(r.At)),
		}}
	})
}
