package models

import (
	"context"
	"errors"
	"math"
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
			return renewAlone(on, &r)
		}
		if err := s.advisoryLock(on.tx, "replicas"); err != nil { // no account has this name
			return err
		}
		var err error
		if renewed.Epoch, err = renew(on, &r); err != nil {
			return err
		}
		renewed.Kept = renewed.Epoch == r.Epoch
		renewed.Lost, err = bookedAsLost(on.tx, r.Noted)
		return err
	})
	return renewed, err
}

func renewAlone(on connTx, r *Renewal) error {
	now := time.Now().UnixMicro()
	if r.First {
		if err := bookLost(on, r, math.MaxInt64); err != nil {
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
	return tx.Exec("INSERT INTO replicas (id, alive_until, epoch) VALUES (?, ?, ?) "+
		"ON CONFLICT (id) DO UPDATE SET alive_until = EXCLUDED.alive_until, epoch = EXCLUDED.epoch",
		r.Replica, now+r.Lease.Duration.Microseconds(), epoch).Error
}

// renew returns the epoch of the lease. That the lease had expired is in it, and not
// said once only: the answer may be lost.
func renew(on connTx, r *Renewal) (epoch int64, err error) {
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
		err := tx.Exec("UPDATE replicas SET alive_until = ? WHERE alive_until > ? AND alive_until < ?", until, now.Ended, until).Error
		if err != nil {
			return 0, err
		}
	}
	if epoch = now.Epoch; now.Mine <= max(now.Ended, 0) { // Mine is 0 for a replica without a row
		epoch = max(now.Epoch, r.Epoch) + 1
	}
	err = bookLost(on, r, now.Ended)
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
