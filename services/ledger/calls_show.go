package ledger

import (
	"cmp"
	"net/http"
	"time"

	"modelgateway/api"
	"modelgateway/models"
)

// showCalls returns a page in the form of the API.
func showCalls(p *models.CallPage) api.CursorPage[api.Call] {
	list := api.CursorPage[api.Call]{
		Object: api.ObjectList, Data: make([]api.Call, len(p.Rows)), HasMore: p.Next != "", NextAfter: api.Maybe(p.Next),
	}
	for i := range p.Rows {
		list.Data[i] = showCall(&p.Rows[i])
	}
	return list
}

// showCall returns a call in the form of the API.
func showCall(c *models.NamedCall) api.Call {
	shown := api.Call{
		ID: c.ID, Object: api.ObjectCall, RequestID: c.RequestID, BeganAtMS: time.UnixMicro(c.BeganAt).UnixMilli(),
		UserID: api.Maybe(c.UserID), UserEmail: api.Maybe(c.UserEmail), UserDeletedAt: api.Moment(c.DeletedAt),
		KeyID: api.Maybe(c.KeyID), KeyName: api.Maybe(c.KeyName),
		TeamID: api.Maybe(c.TeamID), TeamName: api.Maybe(c.TeamName),
		Dialect: api.Maybe(c.Dialect), Model: c.Model, ServedModel: api.Maybe(c.Served), Provider: api.Maybe(c.Provider),
		Stream: c.Stream, Status: c.Status, Outcome: c.Outcome, ErrorCode: api.Maybe(c.ErrorCode), Attempts: c.Attempts,
		InputTokens: c.InputTokens, CachedTokens: c.CachedTokens, CacheWriteTokens: c.CacheWriteTokens,
		OutputTokens: c.OutputTokens, ReasoningTokens: c.ReasoningTokens,
		Estimated: c.Estimated, Priced: c.Priced, CostUSD: api.USD(c.Cost),
		OtherAmounts: api.OtherAmounts{
			CacheWriteHourTokens: c.CacheWriteHourTokens, Searches: c.Searches, Requests: c.Requests, Images: c.Images,
			Seconds: c.Seconds, Characters: c.Characters,
		},
		Project: api.Maybe(c.Project), Session: api.Maybe(c.Session), AgentID: api.Maybe(c.AgentID),
		ParentAgentID: api.Maybe(c.ParentAgentID), Agent: api.Maybe(c.Agent), Account: api.Maybe(c.Account),
		DurationMS: millis(c.DurationUS), OverheadMS: millis(c.OverheadUS), UpstreamRequestID: api.Maybe(c.UpstreamRequestID),
	}
	if c.SessionN > 0 {
		shown.SessionID = api.Maybe(models.SessionIDText(c.SessionN))
	}
	if c.FirstTokenUS > 0 {
		first := millis(c.FirstTokenUS)
		shown.FirstTokenMS = &first
	}
	return shown
}

// millis are microseconds as milliseconds.
func millis(us int64) float64 {
	const thousand = 1000
	return float64(us) / thousand
}

// showDetail returns a call with its details. Only administrators see the ends of the
// providers' keys.
func (s *Calls) showDetail(of CallsOf, c *models.NamedCall) *api.CallDetail {
	shown := &api.CallDetail{
		Call: showCall(c), AttemptList: []api.CallAttempt{}, IgnoredParameters: c.Details.Ignored, UserAgent: api.Maybe(c.UserAgent),
		Costs: []api.CallCost{},
	}
	if shown.IgnoredParameters == nil {
		shown.IgnoredParameters = []string{}
	}
	if of == (CallsOf{}) || !c.Details.Private {
		shown.ProviderMessage = api.Maybe(c.Details.Message)
	}
	if verdict := c.CacheVerdict(); verdict != "" {
		shown.Cache = &api.CallCache{Verdict: verdict, PrefixKept: 1}
		if m := c.Details.Cache; m != nil {
			*shown.Cache = api.CallCache{
				Verdict: verdict, Part: api.Maybe(m.Part), Message: m.Message, Role: api.Maybe(m.Role),
				PrefixKept: m.PrefixKept, MissedTokens: m.MissedTokens, CostUSD: api.USD(m.Cost),
			}
		}
	}
	for _, a := range attempts(c) {
		one := api.CallAttempt{
			Provider: a.Provider, Model: a.Model, StartMS: millis(a.StartUS), DurationMS: millis(a.TookUS),
			ErrorCode: api.Maybe(a.Code), Result: a.Result,
		}
		if a.FirstUS > 0 {
			first := millis(a.FirstUS)
			one.FirstTokenMS = &first
		}
		if a.Status > 0 {
			one.Status = &a.Status
		}
		if of == (CallsOf{}) {
			one.Key = api.Maybe(a.Key)
		}
		shown.AttemptList = append(shown.AttemptList, one)
	}
	for _, part := range s.costs(c) {
		shown.Costs = append(shown.Costs, api.CallCost{
			What: part.What, Amount: part.Amount, Unit: part.Unit, USDPerMillion: api.USD(part.PerMillion), CostUSD: api.USD(part.Cost),
		})
	}
	return shown
}

// attempts are those of a call: where they are not recorded, the only one that answered.
func attempts(c *models.NamedCall) []models.CallAttempt {
	if len(c.Details.Attempts) > 0 || c.Attempts != 1 {
		return c.Details.Attempts
	}
	one := models.CallAttempt{
		Provider: c.Provider, Model: c.Served, Key: c.UpstreamKey, StartUS: c.OpenedUS, TookUS: max(c.DurationUS-c.OpenedUS, 0),
		Result: c.Result(),
	}
	if c.Stream {
		one.FirstUS = max(c.FirstTokenUS-c.OpenedUS, 0)
	}
	if one.Result == models.AttemptServed {
		one.Status = http.StatusOK
	}
	return []models.CallAttempt{one}
}

// costs are the parts of the cost of a call: where they are not recorded, by the price of the
// model at that time. There are none when that is not the cost that was booked, since a price
// has been corrected, or what was reserved was booked.
func (s *Calls) costs(c *models.NamedCall) []models.CallCost {
	if len(c.Details.Costs) > 0 {
		return c.Details.Costs
	}
	price := s.opts.Price(cmp.Or(c.Served, c.Model), time.UnixMicro(c.BeganAt))
	if !c.Priced || price.Cost(c.Amounts()) != c.Cost {
		return nil
	}
	return models.CostLines(price, c.Amounts())
}
