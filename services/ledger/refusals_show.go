package ledger

import (
	"context"
	"fmt"
	"time"

	"modelgateway/api"
	"modelgateway/models"
)

// Refusals lists the calls that the gateway refused.
func (s *Calls) Refusals(ctx context.Context, of CallsOf, req CallsRequest) (list api.CursorPage[api.Refusal], err error) {
	filter, err := req.filter()
	if err != nil {
		return list, err
	}
	page, err := req.callPage()
	if err != nil {
		return list, err
	}
	filter.SearchDeleted = of == (CallsOf{}) && filter.Search != ""
	list = api.CursorPage[api.Refusal]{Object: api.ObjectList, Data: []api.Refusal{}}
	if !of.narrow(&filter) {
		return list, nil
	}
	rows, more, err := s.opts.Store.Refusals(ctx, filter, req.Reason, page)
	if err != nil {
		return list, api.Unavailable(fmt.Errorf("list refusals: %w", err))
	}
	if list.HasMore = more; more {
		list.NextAfter = api.Maybe(rows[len(rows)-1].ID)
	}
	err = s.nameDeleted(ctx, of, len(rows), func(i int) *models.NamedCall { return rows[i].Of })
	for _, r := range rows {
		list.Data = append(list.Data, api.Refusal{
			ID: r.ID, Object: "refusal", AtMS: time.UnixMicro(r.At).UnixMilli(), RequestID: r.RequestID,
			UserID: api.Maybe(r.UserID), UserEmail: api.Maybe(r.Of.UserEmail), UserDeletedAt: api.Moment(r.Of.DeletedAt),
			KeyID: r.KeyID, KeyName: api.Maybe(r.Of.KeyName), TeamID: api.Maybe(r.TeamID), TeamName: api.Maybe(r.Of.TeamName),
			Status: r.Status, Reason: r.Reason, Model: api.Maybe(r.Model), Message: r.Message,
		})
	}
	return list, err
}

// refused counts the refusals of a period by reason; nil where usage is narrowed to what refused calls do not have.
func (u *Usage) refused(ctx context.Context, p *period, q *models.UsageQuery) (map[string]int64, error) {
	if q.ModelID != "" || q.Provider != "" || q.Agent != "" || q.Project != "" {
		return nil, nil //nolint:nilnil // as said
	}
	counts, err := u.store.Refused(ctx, models.CallFilter{
		UserID: q.UserID, KeyID: q.KeyID, TeamID: q.TeamID, From: p.from.Truncate(quarter).UnixMicro(), To: p.to.UnixMicro(),
	})
	byReason := map[string]int64{}
	for _, c := range counts {
		byReason[c.Reason] += c.Refused
	}
	return byReason, err
}
