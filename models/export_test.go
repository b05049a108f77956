package models

import (
	"context"
	"io/fs"
	"time"

	"gorm.io/gorm"
)

// MigrateFrom is Migrate with other files.
func (s *Store) MigrateFrom(ctx context.Context, files fs.FS) error { return s.migrate(ctx, files) }

// Spend adds costs to what is spent on a day, and deducts them from holds, as the
// ledger does.
func (s *Store) Spend(ctx context.Context, replica, day string, moved map[HoldKey]int64) error {
	return s.inTx(ctx, func(tx *gorm.DB) error {
		for h, cost := range moved {
			if h.Account == "" {
				continue
			}
			err := tx.Exec(`INSERT INTO spend (account, day, cost) VALUES (?, ?, ?)
				ON CONFLICT (account, day) DO UPDATE SET cost = spend.cost + EXCLUDED.cost`, h.Account, day, cost).Error
			if err != nil {
				return err
			}
		}
		return moveHolds(tx, replica, moved)
	})
}

// WithLock calls during in a transaction that holds the lock of an account.
func (s *Store) WithLock(ctx context.Context, account string, during func()) error {
	return s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := s.advisoryLock(tx, account); err != nil {
			return err
		}
		during()
		return nil
	})
}

// ChangeAnyKey changes a key as administrators do: with a row of the audit.
func (s *Store) ChangeAnyKey(ctx context.Context, id string, change func(*Key) (*Audit, error)) (*Key, error) {
	var k *Key
	err := s.Change(ctx, func(tx *Transaction) (err error) {
		if k, err = tx.Key(id); err != nil {
			return err
		}
		before := *k
		row, err := change(k)
		if err != nil {
			return err
		}
		if err := tx.UpdateKey(&before, k); err != nil {
			return err
		}
		return tx.Audit(row)
	})
	return k, err
}

// RevokeAnyKey revokes a key as administrators do: with a row of the audit.
func (s *Store) RevokeAnyKey(ctx context.Context, id string, at int64, audit func(before, after *Key) (*Audit, error)) (*Key, error) {
	return s.ChangeAnyKey(ctx, id, func(k *Key) (*Audit, error) {
		before := *k
		k.RevokedAt = at
		return audit(&before, k)
	})
}

// SumCalls adds calls to the sums of usage alone, as a batch of the ledger does: without
// their rows, of which a year takes minutes.
func (s *Store) SumCalls(ctx context.Context, calls []Call) error {
	return s.inConnTx(ctx, func(on connTx) error {
		sums := sum(calls, false)
		if err := sums.writeSpent(on); err != nil {
			return err
		}
		return sums.writeMinutes(on.tx, ledgerSums, calls[0].ID)
	})
}

// ForgetNames forgets names as after NamesKept.
func (s *Store) ForgetNames() {
	s.names.mu.Lock()
	defer s.names.mu.Unlock()
	s.names.since = time.Now().Add(-NamesKept)
}
