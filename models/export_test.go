package models

import (
	"context"
	"io/fs"

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
