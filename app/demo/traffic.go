package demo

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"modelgateway/models"
	"modelgateway/services/registry"
)

// generator makes calls.
type generator struct {
	models *registry.Models
	random *rand.Rand
	keys   []key
	made   int
}

// call makes a call of the week before now.
func (g *generator) call(now time.Time) (models.Call, error) {
	k := g.key()
	began := g.time(k, now)
	model, err := g.models.Resolve(k.models[g.random.IntN(len(k.models))])
	if err != nil {
		return models.Call{}, err
	}
	g.made++
	c := models.Call{
		RequestID: fmt.Sprintf("demo-%04d", g.made), UserID: k.userID, KeyID: k.id, TeamID: k.teamID,
		Model: model.ID, Served: model.ID, Provider: model.Provider, Dialect: k.dialect, UserAgent: "demo traffic, simulated",
		UpstreamKey: "demo",
		Stream:      k.stream, Attempts: 1, Status: 200, Outcome: models.OutcomeOK, Priced: model.Price.Known, BeganAt: began.UnixMicro(),
	}
	g.times(&c, k)
	g.tokens(&c, k)
	g.faults(&c)
	c.Cost = model.Price.Cost(c.Amounts())
	c.Clean()
	return c, nil
}

// key chooses a key by its share.
func (g *generator) key() *key {
	n := g.random.IntN(100)
	for i := range g.keys {
		if n -= g.keys[i].share; n < 0 {
			return &g.keys[i]
		}
	}
	return &g.keys[0]
}

// time is when a key calls: by day, and less on weekends; or at night.
func (g *generator) time(k *key, now time.Time) time.Time {
	for {
		at := now.Add(-time.Duration(g.random.Int64N(int64(week))))
		hour := float64(at.UTC().Hour()) + float64(at.Minute())/60
		fromNoon := (hour - 13) / 4.5
		likely := 0.15 + 0.85*math.Exp(-fromNoon*fromNoon)
		switch weekend := at.UTC().Weekday() == time.Saturday || at.UTC().Weekday() == time.Sunday; {
		case k.nightly && (hour < 1 || hour > 3):
			likely = 0
		case k.nightly:
			likely = 1
		case weekend:
			likely /= 3
		}
		if g.random.Float64() < likely {
			return at
		}
	}
}

// about is a number near another one: half of all are between 3/4 and 4/3 of it, few are far
// from it.
func (g *generator) about(n float64) int64 { return int64(n * math.Exp(0.43*g.random.NormFloat64())) }

func (g *generator) tokens(c *models.Call, k *key) {
	c.InputTokens, c.OutputTokens = g.about(float64(k.input)), g.about(float64(k.output))
	if g.random.IntN(2) == 0 {
		c.CachedTokens = c.InputTokens * 3 / 5
	}
}

// times are those of a stream of some 70 tokens a second; one call in sixty is slow.
func (g *generator) times(c *models.Call, k *key) {
	first := 420 * float64(time.Millisecond/time.Microsecond)
	if k.dialect == "messages" {
		first *= 2
	}
	const slow = 60
	if g.random.IntN(slow) == 0 {
		first *= 12
	}
	c.OpenedUS, c.OverheadUS = g.about(180), g.about(350)
	c.FirstTokenUS = g.about(first)
	c.DurationUS = c.FirstTokenUS + g.about(float64(k.output)*14_000)
	if !c.Stream {
		c.FirstTokenUS = c.DurationUS
	}
}

// faults makes calls fail, of a thousand some 30, and some succeed at the second attempt only.
func (g *generator) faults(c *models.Call) {
	switch n := g.random.IntN(1000); {
	case n < 12:
		c.Status, c.Outcome, c.ErrorCode = 429, models.OutcomeRefused, "provider_error"
	case n < 18:
		c.Status, c.Outcome, c.ErrorCode = 502, models.OutcomeFailed, "provider_error"
	case n < 22:
		c.Status, c.Outcome, c.ErrorCode = 504, models.OutcomeTimeout, "provider_error"
		c.DurationUS = time.Minute.Microseconds()
	case n < 30:
		c.Outcome = models.OutcomeClient
		c.OutputTokens /= 3
		return
	case n < 45:
		g.failOver(c)
		return
	default:
		return
	}
	c.OutputTokens, c.InputTokens, c.CachedTokens, c.FirstTokenUS = 0, 0, 0, 0
	c.DurationUS = min(c.DurationUS, time.Minute.Microseconds())
}

// failOver makes a first attempt that failed.
func (g *generator) failOver(c *models.Call) {
	lost := g.about(240_000)
	c.Attempts = 2
	c.Details = &models.CallDetail{Attempts: []models.CallAttempt{
		{
			Provider: c.Provider, Model: c.Served, Key: "dem2", StartUS: c.OpenedUS, TookUS: lost,
			Status: 503, Code: "provider_error", Result: models.AttemptFailed,
		},
		{
			Provider: c.Provider, Model: c.Served, Key: c.UpstreamKey, StartUS: c.OpenedUS + lost, FirstUS: c.FirstTokenUS,
			TookUS: c.DurationUS, Status: 200, Result: models.AttemptServed,
		},
	}}
	c.FirstTokenUS += lost
	c.DurationUS += lost
}
