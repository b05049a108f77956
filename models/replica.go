package models

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"time"

	"gorm.io/gorm"
)

// ErrLeaseExpired means that a replica's holds do not count, as it has not renewed
// its lease in time.
var ErrLeaseExpired = errors.New("the replica's lease has expired")

// beatsInLease is how often a replica renews its lease in the lease's duration.
const beatsInLease = 4

// Lease is how long a replica's holds count after its last renewal. All replicas
// must have the same.
type Lease struct {
	Duration time.Duration
	// MaxSilence is the longest time between two renewals, of any replicas, for which
	// the database counts as reachable. After a longer one it is taken to have been
	// unreachable itself: no lease that was valid before has expired then.
	MaxSilence time.Duration
	// Grace is how long such leases are valid, at least, after the first renewal
	// that follows.
	Grace time.Duration
}

// Renewal renews a replica's lease.
type Renewal struct {
	Replica string
	Lease   Lease
	First   bool  // the process has just started: holds of this name are a former process's and are deleted
	Clean   bool  // delete expired replicas and their holds as well
	Epoch   int64 // of the last answer; 0 = there was none

	Running  []RunningCall // that have begun since the last renewal
	Recorded []string      // ids of running calls that are in the ledger
	Noted    []string      // ids of running calls, which others have booked if the lease had expired; nil = it cannot have
}

// Renewed is the result of a renewal.
type Renewed struct {
	Kept  bool             // no lease has expired since Renewal.Epoch; if one has, others may have been granted what was held
	Alone bool             // there cannot be another replica, and the lease does not expire
	Epoch int64            // how often the lease was taken anew
	Lost  map[string]int64 // by id, what was booked for those of Renewal.Noted that others have booked, in micro-dollars
}

// keepExpired is how long a replica and its holds are kept, uncounted, after its
// lease has expired: the process may only have been suspended, and its ledger
// deducts from these holds.
const keepExpired = time.Hour

// replicaClock is the time of the database, and the time at which leases that end
// before it have expired. Both are of the statement's start: the rows that the
// statement sees are not older.
const replicaClock = `WITH renewals AS (
	SELECT CAST(EXTRACT(EPOCH FROM statement_timestamp()) * 1000000 AS BIGINT) AS at,
		(SELECT COALESCE(MAX(alive_until), 0) FROM replicas) - CAST(@lease AS BIGINT) AS last
), clock AS (
	SELECT at, CASE WHEN last < at - CAST(@silence AS BIGINT) THEN last ELSE at END AS ended FROM renewals
) `

// Renew renews a replica's lease and notes its running calls. It books those of
// replicas whose leases have expired, in the transaction in which their holds cease to
// count. An embedded database has one process, and its leases do not expire: there, the
// running calls and the holds of former processes are booked and deleted.
func (s *Store) Renew(ctx context.Context, r Renewal) (Renewed, error) {
	renewed := Renewed{Kept: true, Alone: s.embedded}
	//nolint:contextcheck // the transaction carries the context
	err := s.inConnTx(ctx, func(on connTx) error {
		if s.embedded {
			return s.renewAlone(on, &r)
		}
		if err := s.advisoryLock(on.tx, "replicas"); err != nil { // no account has this name
			return err
		}
		var err error
		if renewed.Epoch, err = s.renew(on, &r); err != nil {
			return err
		}
		renewed.Kept = renewed.Epoch == r.Epoch
		renewed.Lost, err = costsOf(on.tx, r.Noted, OutcomeLost)
		return err
	})
	return renewed, err
}

func (s *Store) renewAlone(on connTx, r *Renewal) error {
	now := time.Now().UnixMicro()
	if r.First {
		if err := s.bookLost(on, r, math.MaxInt64); err != nil {
			return err
		}
		if err := on.tx.Exec("DELETE FROM budget_holds").Error; err != nil {
			return err
		}
		if err := on.tx.Exec("DELETE FROM replicas").Error; err != nil {
			return err
		}
	}
	if err := extendLease(on.tx, r, 0, now); err != nil {
		return err
	}
	return noteRunning(on, r, now)
}

func extendLease(tx *gorm.DB, r *Renewal, epoch, now int64) error {
	until := now + r.Lease.Duration.Microseconds()
	return tx.Exec("INSERT INTO replicas (id, alive_until, epoch, ledger_until) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "+
		"alive_until = EXCLUDED.alive_until, epoch = EXCLUDED.epoch, ledger_until = EXCLUDED.ledger_until",
		r.Replica, until, epoch, until).Error
}

// renew returns the epoch of the lease. That the lease had expired is in it, and not
// said once only: the answer may be lost.
func (s *Store) renew(on connTx, r *Renewal) (epoch int64, err error) {
	tx := on.tx
	var now struct{ At, Ended, Mine, Epoch int64 }
	const query = replicaClock + `SELECT at, ended, COALESCE((SELECT alive_until FROM replicas WHERE id = @replica), 0) AS mine,
		COALESCE((SELECT epoch FROM replicas WHERE id = @replica), 0) AS epoch FROM clock`
	err = tx.Raw(query, map[string]any{
		"replica": r.Replica, "lease": r.Lease.Duration.Microseconds(), "silence": r.Lease.MaxSilence.Microseconds(),
	}).Scan(&now).Error
	if err != nil {
		return 0, err
	}
	if now.Ended < now.At {
		until := now.At + r.Lease.Grace.Microseconds()
		err := tx.Exec("UPDATE replicas SET ledger_until = CASE WHEN ledger_until = alive_until THEN ? ELSE ledger_until END, "+
			"alive_until = ? WHERE alive_until > ? AND alive_until < ?", until, until, now.Ended, until).Error
		if err != nil {
			return 0, err
		}
	}
	if epoch = now.Epoch; now.Mine <= max(now.Ended, 0) { // Mine is 0 for a replica without a row
		epoch = max(now.Epoch, r.Epoch) + 1
	}
	err = s.bookLost(on, r, now.Ended)
	if err == nil && r.First {
		err = tx.Exec("DELETE FROM budget_holds WHERE replica = ?", r.Replica).Error
	}
	if err == nil {
		err = extendLease(tx, r, epoch, now.At)
	}
	if err == nil {
		err = noteRunning(on, r, now.At)
	}
	if err == nil && r.Clean {
		err = clean(tx, now.Ended-keepExpired.Microseconds())
	}
	return epoch, err
}

// clean deletes replicas whose leases ended before a time, and their holds.
func clean(tx *gorm.DB, before int64) error {
	if err := tx.Exec("DELETE FROM replicas WHERE alive_until < ?", before).Error; err != nil {
		return err
	}
	return tx.Exec("DELETE FROM budget_holds WHERE replica NOT IN (SELECT id FROM replicas)").Error
}

// EndLease saves a replica's holds for the last time. If they are all of nothing, it
// ends the replica's lease. What is still held is of calls that the ledger has not
// recorded: it counts until the lease expires.
func (s *Store) EndLease(ctx context.Context, replica string, held []Hold) error {
	if err := s.SaveHolds(ctx, replica, held); err != nil {
		return err
	}
	return s.run(ctx, func(db *gorm.DB) error {
		return db.Exec("DELETE FROM replicas WHERE id = ? AND NOT EXISTS (SELECT 1 FROM budget_holds WHERE replica = ?)", replica,
			replica).Error
	})
}

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
	FifthAccount, FifthSince                                       string
	TeamID                                                         string
	Stream                                                         bool
	BeganAt, OpenedAt                                              int64
	InputTokens, InputCost, OutputTokens, OutputCost               int64
	TokensPerSecond                                                int64
	Project, Session, Agent, AgentID, ParentAgentID                string

	AliveUntil  int64 // of the replica; 0 = it has no lease
	LedgerUntil int64 // another time for a replica of the former release
}

var runningRows = newBulkInsert("running_calls",
	[]string{"id", "replica", "request_id", "user_id", "key_id", "model", "served", "provider",
		"account", "since", "other_account", "other_since", "third_account", "third_since", "fourth_account", "fourth_since",
		"fifth_account", "fifth_since", "team_id",
		"project", "session", "agent", "agent_id", "parent_agent_id"},
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
			c.Holds[2].Account, c.Holds[2].Since, c.Holds[3].Account, c.Holds[3].Since,
			c.Holds[4].Account, c.Holds[4].Since, c.TeamID, c.Project, c.Session, c.Agent, c.AgentID, c.ParentAgentID)
		row.flags = append(row.flags, c.Stream)
		row.numbers = append(row.numbers, c.BeganAt, now-c.Age.Microseconds(),
			c.InputTokens, c.Cost, c.MaxOutput, c.MaxOutputCost, c.TokensPerSecond)
	}})
}

// bookLost writes the ledger's rows of the running calls of replicas whose leases
// ended at a time or before, and of former processes with this name. A call that the
// ledger has already, from the replica itself, changes nothing.
func (s *Store) bookLost(on connTx, r *Renewal, ended int64) error {
	var rows []runningRow
	err := on.tx.Raw(`SELECT c.*, COALESCE(r.alive_until, 0) AS alive_until, COALESCE(r.ledger_until, 0) AS ledger_until
		FROM running_calls c LEFT JOIN replicas r ON r.id = c.replica
		WHERE CASE WHEN c.replica = ? THEN ? ELSE COALESCE(r.alive_until, 0) <= ? END
		ORDER BY c.replica, c.id`, r.Replica, r.First, ended).Scan(&rows).Error
	if err != nil || len(rows) == 0 {
		return err
	}
	ids := make([]string, len(rows))
	calls := map[insertion][]Call{}
	for i := range rows {
		row := &rows[i]
		ids[i] = row.ID
		of := insertion{replica: row.Replica, again: true, former: row.LedgerUntil != row.AliveUntil}
		calls[of] = append(calls[of], row.lost(r.Lease))
	}
	for _, of := range slices.SortedFunc(maps.Keys(calls), func(a, b insertion) int { return cmp.Compare(a.replica, b.replica) }) {
		if err := s.insertCalls(on, calls[of], of, namesOf{}); err != nil {
			return fmt.Errorf("calls of a replica that has ended: %w", err)
		}
	}
	return noteRunning(on, &Renewal{Recorded: ids}, 0)
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
		TeamID: r.TeamID, Project: r.Project, Session: r.Session, Agent: r.Agent, AgentID: r.AgentID, ParentAgentID: r.ParentAgentID,
		Holds: Holds{
			{r.Account, r.Since}, {r.OtherAccount, r.OtherSince}, {r.ThirdAccount, r.ThirdSince}, {r.FourthAccount, r.FourthSince},
			{r.FifthAccount, r.FifthSince},
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
