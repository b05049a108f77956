package models

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm"
)

// ErrLeaseOver means that a replica's holds do not count, as it has not said
// in time that it lives.
var ErrLeaseOver = errors.New("the replica's lease is over")

// Lease is how long a replica's holds count after it last said that it lives.
// All replicas must agree on it.
type Lease struct {
	Lasts time.Duration
	// Silence is how long the database may hear nobody until it is taken to
	// have been away itself: then nobody's lease has run out.
	Silence time.Duration
	// Grace is how long everybody's lease lasts after that at least.
	Grace time.Duration
}

// Renewal is a replica saying that it lives.
type Renewal struct {
	Replica string
	Lease   Lease
	First   bool // it has no holds: what its name has is of a former process
	Clean   bool // what dead replicas have left is removed too
}

// Renewed says what a renewal has found.
type Renewed struct {
	Kept  bool // the holds have counted all the time; if not, others may have been granted them
	Alone bool // there is no other replica, and no lease runs out
}

// deadFor is how long a replica's holds are kept after its lease, uncounted: it
// may only have been asleep, and what its ledger moves is noted in them.
const deadFor = time.Hour

// replicaClock is the time of the database, and the time by which a lease has
// run out. As of the statement's begin: what the statement sees is not older.
const replicaClock = `WITH heard AS (
	SELECT CAST(EXTRACT(EPOCH FROM statement_timestamp()) * 1000000 AS BIGINT) AS at,
		(SELECT COALESCE(MAX(alive_until), 0) FROM replicas) - CAST(@lease AS BIGINT) AS last
), clock AS (
	SELECT at, CASE WHEN last < at - CAST(@silence AS BIGINT) THEN last ELSE at END AS ended FROM heard
) `

// Renew notes that a replica lives. On an embedded database, which has one
// process, it only removes what former ones held.
func (s *Store) Renew(ctx context.Context, r Renewal) (Renewed, error) {
	renewed := Renewed{Kept: true, Alone: s.embedded}
	err := s.unit(ctx, func(tx *gorm.DB) error {
		if s.embedded {
			if !r.First {
				return nil
			}
			return tx.Exec("DELETE FROM budget_holds").Error
		}
		if err := s.aloneFor(tx, "replicas"); err != nil { // no account is named so
			return err
		}
		var err error
		renewed.Kept, err = renew(tx, &r)
		return err
	})
	return renewed, err
}

func renew(tx *gorm.DB, r *Renewal) (kept bool, err error) {
	var now struct{ At, Ended, Mine int64 }
	err = tx.Raw(replicaClock+"SELECT at, ended, COALESCE((SELECT alive_until FROM replicas WHERE id = @replica), 0) AS mine FROM clock", map[string]any{
		"replica": r.Replica, "lease": r.Lease.Lasts.Microseconds(), "silence": r.Lease.Silence.Microseconds(),
	}).Scan(&now).Error
	if err != nil {
		return false, err
	}
	if now.Ended < now.At {
		until := now.At + r.Lease.Grace.Microseconds()
		err := tx.Exec("UPDATE replicas SET alive_until = ? WHERE alive_until > ? AND alive_until < ?", until, now.Ended, until).Error
		if err != nil {
			return false, err
		}
	}
	err = tx.Exec("INSERT INTO replicas (id, alive_until) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET alive_until = EXCLUDED.alive_until",
		r.Replica, now.At+r.Lease.Lasts.Microseconds()).Error
	if err == nil && r.First {
		err = tx.Exec("DELETE FROM budget_holds WHERE replica = ?", r.Replica).Error
	}
	if err == nil && r.Clean {
		err = clean(tx, now.Ended-deadFor.Microseconds())
	}
	return now.Mine > max(now.Ended, 0), err // 0 is a replica that nobody knows
}

// clean removes replicas whose leases ended before then, and their holds.
func clean(tx *gorm.DB, then int64) error {
	if err := tx.Exec("DELETE FROM replicas WHERE alive_until < ?", then).Error; err != nil {
		return err
	}
	return tx.Exec("DELETE FROM budget_holds WHERE replica NOT IN (SELECT id FROM replicas)").Error
}

// Leave ends a replica's lease and removes its holds, but for those that it is
// still to pay for: these count until the lease is over.
func (s *Store) Leave(ctx context.Context, replica string, held []Holding) error {
	if err := s.EnterHolds(ctx, replica, held); err != nil {
		return err
	}
	return s.do(ctx, func(db *gorm.DB) error {
		return db.Exec("DELETE FROM replicas WHERE id = ? AND NOT EXISTS (SELECT 1 FROM budget_holds WHERE replica = ?)", replica, replica).Error
	})
}
