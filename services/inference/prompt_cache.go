package inference

import (
	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/models"
	"modelgateway/services/promptcache"
)

// followPrompt begins to look up the last call of the session. Of a request that goes on from what
// its provider keeps, the body does not have the whole prompt.
func (c *Call) followPrompt() {
	r, of := c.input.Request, &c.input.Origin
	if of.Session == "" || r.Kind != llm.KindChat || r.Kept != nil || len(r.Prompt.Messages) == 0 {
		return
	}
	by := &c.input.Caller
	c.look = c.service.PromptCache.Look(models.CallerAccount(by.UserID, by.KeyID), of.Session, of.AgentID, r.Model)
}

// comparePrompt says in the row what the provider's prompt cache had of the last call's prompt. A
// call whose usage is not known says nothing.
func (c *Call) comparePrompt() {
	r := &c.row
	if c.look == nil || r.Outcome != models.OutcomeOK || r.Estimated || c.used[catalog.InputTokens] == 0 {
		return
	}
	verdict := c.look.End(&promptcache.Ended{
		BeganAt: c.input.Began, Provider: r.Provider, Model: r.Served, Key: r.UpstreamKey,
		Prompt: &c.input.Request.Prompt, Body: c.plan.Answered.Body(),
		Input: c.used[catalog.InputTokens], Cached: c.used[catalog.CachedTokens],
		Written: c.used[catalog.CacheWriteTokens], WrittenHour: c.used[catalog.CacheWriteHourTokens],
		ChargesWrites: c.price.Rates[catalog.CacheWriteTokens] > 0,
	})
	if r.CacheMiss = verdict.Miss; r.CacheMiss > models.CacheComplete {
		c.cache = &verdict.CallCache
		c.cache.Cost = c.costOfMiss(verdict.MissedTokens)
	}
}

// costOfMiss is how much less the call would have cost with so many more tokens from the cache:
// first of those that were written to it.
func (c *Call) costOfMiss(missed int64) int64 {
	better := c.used
	better[catalog.CachedTokens] += missed
	better[catalog.CacheWriteTokens] = max(better[catalog.CacheWriteTokens]-missed, 0)
	better[catalog.CacheWriteHourTokens] = min(better[catalog.CacheWriteHourTokens], better[catalog.CacheWriteTokens])
	return max(c.price.Cost(c.used)-c.price.Cost(better), 0)
}
