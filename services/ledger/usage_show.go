package ledger

import (
	"modelgateway/api"
	"modelgateway/models"
)

// Show returns the report in the form of the API.
func (r *UsageReport) Show() api.UsageList {
	list := api.UsageList{
		Object: api.ObjectList, From: r.From, To: r.To, Data: make([]api.UsageRow, len(r.Rows)), Total: usageTotals(&r.Total),
		Refused: r.Refused,
	}
	grouped := map[models.UsageBy]bool{}
	list.GroupBy = []string{}
	for _, by := range r.By {
		list.GroupBy = append(list.GroupBy, string(by))
		grouped[by] = true
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		list.Data[i] = api.UsageRow{UsageNames: usageNames(row, grouped), UsageTotals: usageTotals(&row.Sum)}
		if grouped[models.ByModel] && len(r.By) == 1 {
			list.Data[i].Keys = &row.Keys
		}
	}
	if r.Details != nil {
		r.Details.show(r, &list, grouped)
	}
	return list
}

func usageNames(row *models.Usage, grouped map[models.UsageBy]bool) api.UsageNames {
	return api.UsageNames{
		Day: row.Day, UserEmail: row.UserEmail, UserDeletedAt: api.Seconds(row.DeletedAt),
		KeyName: row.KeyName, TeamName: row.TeamName, Model: row.Model,
		UserID:   maybe(row.UserID, grouped[models.ByUser]),
		TeamID:   maybe(row.TeamID, grouped[models.ByTeam]),
		KeyID:    maybe(row.KeyID, grouped[models.ByKey]),
		Provider: maybe(row.Provider, grouped[models.ByModel] || grouped[models.ByProvider]),
		Agent:    maybe(row.Agent, grouped[models.ByAgent]),
		Project:  maybe(row.Project, grouped[models.ByProject]),
	}
}

func maybe(text string, there bool) *api.Maybe {
	if !there {
		return nil
	}
	m := api.Maybe(text)
	return &m
}

func usageTotals(s *models.Sum) api.UsageTotals {
	return api.UsageTotals{UsageSums: usageSums(s), CacheMisses: s.CacheMisses, CacheMissCostUSD: api.USD(s.CacheMissCost)}
}

func usageSums(s *models.Sum) api.UsageSums {
	return api.UsageSums{
		Calls: s.Calls, Failed: s.Failed, Estimated: s.Estimated, Unpriced: s.Unpriced,
		InputTokens: s.InputTokens, CachedTokens: s.CachedTokens, CacheWriteTokens: s.CacheWriteTokens,
		OutputTokens: s.OutputTokens, ReasoningTokens: s.ReasoningTokens,
		TotalTokens: s.InputTokens + s.OutputTokens, CostUSD: api.USD(s.Cost),
		OtherAmounts: api.OtherAmounts{
			CacheWriteHourTokens: s.CacheWriteHourTokens, Searches: s.Searches, Requests: s.Requests, Images: s.Images,
			Seconds: s.Seconds, Characters: s.Characters,
		},
	}
}
