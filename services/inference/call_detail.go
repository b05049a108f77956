package inference

import (
	"errors"
	"net/http"

	"modelgateway/catalog"
	"modelgateway/models"
	"modelgateway/providers"
	"modelgateway/services/routing"
)

// detail sets what the row says of attempts and ignored parameters. An only attempt that
// answered follows from the row.
func (c *Call) detail() {
	r, tries := &c.row, c.plan.Tries
	if len(tries) > 0 {
		r.UpstreamKey = tries[len(tries)-1].Key
		r.OpenedUS = max(c.opened.Sub(c.input.Began).Microseconds(), 1)
	}
	c.comparePrompt()
	alone := len(tries) == 0 || len(tries) == 1 && tries[0].Err == nil
	var message string
	var private bool
	if refusal, ok := errors.AsType[*providers.Refusal](c.err); ok {
		message, private = refusal.Own()
	}
	if alone && len(c.route.Ignored) == 0 && c.costs == nil && message == "" && c.cache == nil {
		return
	}
	r.Details = &models.CallDetail{Ignored: c.route.Ignored, Costs: c.costs, Message: message, Private: private, Cache: c.cache}
	if alone {
		return
	}
	r.Details.Attempts = make([]models.CallAttempt, len(tries))
	for i := range tries {
		r.Details.Attempts[i] = c.attempt(&tries[i])
	}
}

// attempt is one attempt for the row. That which answered lasts until the end of the call,
// and has its result.
func (c *Call) attempt(t *routing.Try) models.CallAttempt {
	r := &c.row
	a := models.CallAttempt{
		Provider: t.Provider, Model: t.Model, Key: t.Key,
		StartUS: max(t.Began.Sub(c.input.Began).Microseconds(), 0), TookUS: t.Took.Microseconds(), Result: models.AttemptFailed,
	}
	switch {
	case t.Abandoned:
		a.Result = models.AttemptAbandoned
	case t.Err == nil:
		a.Status, a.Result = http.StatusOK, r.Result()
		if r.Stream {
			a.FirstUS, a.TookUS = a.TookUS, r.DurationUS-a.StartUS
		}
	}
	if refusal, ok := errors.AsType[*providers.Refusal](t.Err); ok {
		e := refusal.ClientError()
		a.Status, a.Code = e.UpstreamStatus, e.UpstreamCode
		if a.Code == "" {
			a.Code = e.Code
		}
	}
	return a
}

// itemize records the parts of a cost that do not follow from the row: of several models, of
// another price than the usual one, or of more than the tokens of the row.
func (c *Call) itemize(model *catalog.Model, price catalog.Price, amounts catalog.Amounts) {
	var plain catalog.Amounts
	for _, u := range []catalog.Unit{
		catalog.InputTokens, catalog.CachedTokens, catalog.CacheWriteTokens, catalog.CacheWriteHourTokens, catalog.OutputTokens,
		catalog.ReasoningTokens, catalog.Searches, catalog.Requests, catalog.Images, catalog.Seconds, catalog.Characters,
	} {
		plain[u] = amounts[u]
	}
	if len(c.plan.Lost) == 0 && amounts == plain && price == c.service.price(model) {
		return
	}
	c.costs = append(c.costs, models.CostLines(price, amounts)...)
}
