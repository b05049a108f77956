package models

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"time"

	"gorm.io/gorm"
)

// RunningCall is a call that has reserved money and is not in the ledger. Its replica
// notes it when it renews its lease. If the lease expires, another replica or the
// next process books what was reserved.
type RunningCall struct {
	Call // without its end: the tokens and the cost are those of the prompt

	Age             time.Duration // since it began
	MaxOutput       int64         // tokens that were reserved for the answers
	MaxOutputCost   int64         // micro-dollars
	TokensPerSecond int64         // bounds the tokens of the answers by the time
}

// runningRow is a row of running_calls.
type runningRow struct {
	ID, Replica, RequestID, UserID, KeyID, Model, Served, Provider string
	Account, Since, OtherAccount, OtherSince                       string
	ThirdAccount, ThirdSince, FourthAccount, FourthSince           string
	TeamID                                                         string
	Stream                                                         bool
	BeganAt, OpenedAt                                              int64
	InputTokens, InputCost, OutputTokens, OutputCost               int64
	TokensPerSecond                                                int64

	AliveUntil int64 // of the replica; 0 = it has no lease
}

var runningRows = newBulkInsert("running_calls",
	[]string{"id", "replica", "request_id", "user_id", "key_id", "model", "served", "provider",
		"account", "since", "other_account", "other_since", "third_account", "third_since", "fourth_account", "fourth_since", "team_id"},
	[]string{"stream"},
	[]string{"began_at", "opened_at", "input_tokens", "input_cost", "output_tokens", "output_cost", "tokens_per_second"},
	"ON CONFLICT (id) DO NOTHING")

// noteRunning notes the calls that have begun and deletes those that the ledger has.
// Repeating it changes nothing.
func noteRunning(on connTx, r *Renewal, now int64) error {
	for ids := range slices.Chunk(r.Recorded, idsPerStatement) {
		if err := on.tx.Exec("DELETE FROM running_calls WHERE id IN ?", ids).Error; err != nil {
			return err
		}
	}
	if len(r.Running) == 0 {
		return nil
	}
	return runningRows.upsert(on, bulkRows{len(r.Running), func(i int, row *bulkRow) {
		c := &r.Running[i]
		row.texts = append(row.texts, c.ID, r.Replica, c.RequestID, c.UserID, c.KeyID, c.Model, c.Served, c.Provider,
			c.Holds[0].Account, c.Holds[0].Since, c.Holds[1].Account, c.Holds[1].Since,
			c.Holds[2].Account, c.Holds[2].Since, c.Holds[3].Account, c.Holds[3].Since, c.TeamID)
		row.flags = append(row.flags, c.Stream)
		row.numbers = append(row.numbers, c.BeganAt, now-c.Age.Microseconds(),
			c.InputTokens, c.Cost, c.MaxOutput, c.MaxOutputCost, c.TokensPerSecond)
	}})
}

// bookLost writes the ledger's rows of the running calls of replicas whose leases
// ended at a time or before, and of former processes with this name. A call that the
// ledger has already, from the replica itself, changes nothing.
func bookLost(on connTx, r *Renewal, ended int64) error {
	var rows []runningRow
	err := on.tx.Raw(`SELECT c.*, COALESCE(r.alive_until, 0) AS alive_until FROM running_calls c LEFT JOIN replicas r ON r.id = c.replica
		WHERE CASE WHEN c.replica = ? THEN ? ELSE COALESCE(r.alive_until, 0) <= ? END
		ORDER BY c.replica, c.id`, r.Replica, r.First, ended).Scan(&rows).Error
	if err != nil || len(rows) == 0 {
		return err
	}
	ids := make([]string, len(rows))
	calls := map[string][]Call{}
	for i := range rows {
		ids[i] = rows[i].ID
		calls[rows[i].Replica] = append(calls[rows[i].Replica], rows[i].lost(r.Lease))
	}
	for _, replica := range slices.Sorted(maps.Keys(calls)) {
		missing, err := withoutDuplicates(on.tx, calls[replica])
		if err != nil {
			return err
		}
		if err := insertCalls(on, replica, missing); err != nil {
			return fmt.Errorf("calls of a replica that has ended: %w", err)
		}
	}
	return noteRunning(on, &Renewal{Recorded: ids}, 0)
}

// bookedAsLost returns what was booked for those of some calls that others have booked.
func bookedAsLost(tx *gorm.DB, ids []string) (map[string]int64, error) {
	lost := map[string]int64{}
	for part := range slices.Chunk(ids, idsPerStatement) {
		var rows []Call
		if err := tx.Select("id", "cost").Where("id IN ? AND outcome = ?", part, OutcomeLost).Find(&rows).Error; err != nil {
			return nil, fmt.Errorf("calls: %w", err)
		}
		for i := range rows {
			lost[rows[i].ID] = rows[i].Cost
		}
	}
	return lost, nil
}

// lost is the call as it is booked: with what was reserved, but no more than its
// replica can have received until the beat after its last renewal.
func (r *runningRow) lost(lease Lease) Call {
	beat := lease.Duration / beatsInLease
	lastSeen := r.AliveUntil - lease.Duration.Microseconds()
	ran := max(lastSeen+beat.Microseconds()-r.OpenedAt, beat.Microseconds())
	const second = 1e6
	output := int64(min(float64(r.OutputTokens), math.Ceil(float64(ran)/second*float64(r.TokensPerSecond))))
	cost := r.InputCost
	if r.OutputTokens > 0 {
		cost += int64(math.Ceil(float64(r.OutputCost) * (float64(output) / float64(r.OutputTokens))))
	}
	return Call{
		ID: r.ID, RequestID: r.RequestID, UserID: r.UserID, KeyID: r.KeyID, Model: r.Model, Served: cmp.Or(r.Served, r.Model),
		Provider: r.Provider, Stream: r.Stream, Attempts: 1, Status: http.StatusServiceUnavailable, Outcome: OutcomeLost,
		InputTokens: r.InputTokens, OutputTokens: output, Estimated: true, Priced: true, Cost: cost,
		BeganAt: r.BeganAt, DurationUS: ran,
		TeamID: r.TeamID,
		Holds: Holds{
			{r.Account, r.Since}, {r.OtherAccount, r.OtherSince}, {r.ThirdAccount, r.ThirdSince}, {r.FourthAccount, r.FourthSince},
		},
	}
}

// AnyRunning reports whether a call of any replica is noted.
func (s *Store) AnyRunning(ctx context.Context) (some bool, err error) {
	err = s.run(ctx, func(db *gorm.DB) error {
		return db.Raw("SELECT EXISTS (SELECT 1 FROM running_calls)").Scan(&some).Error
	})
	return some, err
}
