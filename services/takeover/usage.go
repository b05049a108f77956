package takeover

import (
	"context"
	"slices"
	"time"

	"modelgateway/models"
	"modelgateway/services/litellm"
)

// importedAgent marks usage that was taken over: it stands where other usage has the name of an agent.
const importedAgent = "imported from LiteLLM"

// TakeUsage replaces the usage of the days of a plan. It is never part of what budgets have spent. What
// LiteLLM counts by user is taken; what it counts by team only where no user's sums have the key on that day.
func (s *Service) TakeUsage(ctx context.Context, p *Plan) error {
	r, err := s.begin(ctx)
	if err != nil {
		return err
	}
	keys := map[string]Taken{}
	for _, t := range p.Taken {
		if t.Kind == models.TakenKey {
			keys[t.ForeignID] = t
		}
	}
	byUser := map[[2]string]bool{}
	for _, d := range p.source.Daily {
		byUser[[2]string{d.Token, d.Day}] = true
	}
	ofTeams := slices.DeleteFunc(slices.Clone(p.source.TeamDaily), func(d litellm.Daily) bool { return byUser[[2]string{d.Token, d.Day}] })
	days := map[string]map[models.UsageGroup]models.Sum{}
	for _, d := range slices.Concat(p.source.Daily, ofTeams) {
		if _, err := time.Parse(time.DateOnly, d.Day); err != nil {
			continue
		}
		key, known := keys[d.Token]
		if !known {
			key.UserID, key.TeamID = d.UserID, d.TeamID
		}
		group := models.UsageGroup{
			Key: r.id(models.TakenKey, d.Token), Model: d.Model, Provider: litellm.ProviderHere(d.Provider), Agent: importedAgent,
		}
		group.User, group.Team = r.owners(&key)
		if days[d.Day] == nil {
			days[d.Day] = map[models.UsageGroup]models.Sum{}
		}
		sum := days[d.Day][group]
		sum.Add(&models.Sum{
			Calls: amount(d.Requests), Failed: amount(d.Failed),
			InputTokens:  max(amount(d.Input), amount(d.CacheRead)+amount(d.CacheWrites)),
			CachedTokens: amount(d.CacheRead), CacheWriteTokens: amount(d.CacheWrites), OutputTokens: amount(d.Output),
			Cost: litellm.Micros(d.Spend),
		})
		days[d.Day][group] = sum
	}
	return s.Store.SetTakenUsage(ctx, days)
}

// amount is a number that usage can have, with room for sums.
func amount(n int64) int64 { return min(max(n, 0), 1e15) }
