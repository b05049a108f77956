package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"modelgateway/models"
)

// history makes the calls of a year in the order of their time: of 200 keys of 50 users in 20
// teams, with 12 models of which each key uses a few. Some keys call much more than others.
type history struct {
	random *rand.Rand
	end    time.Time
	rows   int
	keys   []historyKey
	made   int
}

type historyKey struct {
	id, user, team string
	models         []string
}

const (
	historyKeys  = 200
	historyUsers = 50
	historyTeams = 20
	historyTime  = 365 * 24 * time.Hour
)

func newHistory(rows int) *history {
	h := &history{random: rand.New(rand.NewPCG(1, 2)), end: time.Now().UTC().Truncate(time.Second), rows: rows}
	for i := range historyKeys {
		k := historyKey{id: historyID("key", i), user: historyID("usr", i%historyUsers), team: historyID("team", i%historyTeams)}
		for range 1 + h.random.IntN(4) {
			k.models = append(k.models, fmt.Sprintf("claude-model-%d-20251001", h.random.IntN(12)))
		}
		h.keys = append(h.keys, k)
	}
	return h
}

func historyID(kind string, i int) string {
	return fmt.Sprintf("%s_QZ3M5T2JXH4V6N7ABCDEFG%04d", kind, i)
}

// next makes the next n calls.
func (h *history) next(n int) []models.Call {
	all := make([]models.Call, n)
	begin := h.end.Add(-historyTime)
	for i := range all {
		at := begin.Add(time.Duration(float64(historyTime) * float64(h.made) / float64(h.rows)))
		all[i] = h.call(at)
		h.made++
	}
	return all
}

// call makes a call of this time.
func (h *history) call(at time.Time) models.Call {
	k := &h.keys[int(math.Pow(h.random.Float64(), 2.5)*historyKeys)]
	c := models.Call{
		RequestID: fmt.Sprintf("req_%026x", h.random.Uint64()),
		UserID:    k.user, KeyID: k.id, TeamID: k.team, Model: k.models[h.random.IntN(len(k.models))],
		Provider: "anthropic", Outcome: models.OutcomeOK, Status: 200, Attempts: 1, Priced: true, Stream: h.random.IntN(2) == 0,
		Dialect: "chat", UserAgent: "OpenAI/Python 2.8.1", UpstreamKey: "x7Qz",
		UpstreamRequestID: fmt.Sprintf("req_%024x", h.random.Uint64()),
		InputTokens:       int64(h.random.ExpFloat64() * 1500), OutputTokens: int64(h.random.ExpFloat64() * 400),
		BeganAt: at.UnixMicro(), OpenedUS: 90, OverheadUS: 130, FirstTokenUS: int64(math.Exp(h.random.NormFloat64()*0.6) * 450_000),
		DurationUS: int64(math.Exp(h.random.NormFloat64()*0.8) * 4_000_000),
	}
	c.Served, c.CachedTokens, c.Cost = c.Model, c.InputTokens/2, c.InputTokens*3+c.OutputTokens*15
	if h.random.IntN(150) == 0 {
		c.Outcome, c.Status, c.ErrorCode = models.OutcomeRefused, 429, "rate_limit_exceeded"
	}
	return c
}

// batchRows is how many rows the gateway's own writer inserts in one transaction at most.
const batchRows = 2000

// loaded is how a load went.
type loaded struct {
	rows        int
	first, last float64 // rows a second of its first and last tenth
	own, server float64 // microseconds of processor time a row
}

// load writes the calls of the year as the gateway does, one batch after the other.
func (b *books) load(ctx context.Context) (l loaded, err error) {
	own, server, err := b.spent()
	if err != nil {
		return l, err
	}
	var making time.Duration // of the calls, which is not the ledger's work
	began, tenth := time.Now(), max(batchRows, b.rows/10)
	var writing time.Duration // of the tenth that runs
	inTenth := 0
	for l.rows < b.rows && time.Since(began) < b.longest {
		at := time.Now()
		batch := b.years.next(min(batchRows, b.rows-l.rows))
		wrote := time.Now()
		making += wrote.Sub(at)
		if err := b.store.WriteCalls(ctx, "scale", batch); err != nil {
			return l, fmt.Errorf("after %d rows: %w", l.rows, err)
		}
		writing += time.Since(wrote)
		l.rows += len(batch)
		if inTenth += len(batch); inTenth >= tenth {
			if l.last = float64(inTenth) / writing.Seconds(); l.first == 0 {
				l.first = l.last
			}
			inTenth, writing = 0, 0
		}
	}
	ownAfter, serverAfter, err := b.spent()
	if err != nil {
		return l, err
	}
	l.own = float64((ownAfter - own - making).Microseconds()) / float64(l.rows)
	l.server = float64((serverAfter - server).Microseconds()) / float64(l.rows)
	return l, nil
}
