package models

import (
	"context"
	"io/fs"

	"gorm.io/gorm"
)

// MigrateFrom is Migrate with other files.
func (s *Store) MigrateFrom(ctx context.Context, files fs.FS) error { return s.migrate(ctx, files) }

// Spend enters costs as spent on a day, as the ledger does.
func (s *Store) Spend(ctx context.Context, replica, day string, moved map[Hold]int64) error {
	return s.unit(ctx, func(tx *gorm.DB) error {
		for h, cost := range moved {
			if h.Account == "" {
				continue
			}
			err := tx.Exec("INSERT INTO spend (account, day, cost) VALUES (?, ?, ?) ON CONFLICT (account, day) DO UPDATE SET cost = spend.cost + EXCLUDED.cost", h.Account, day, cost).Error
			if err != nil {
				return err
			}
		}
		return moveHolds(tx, replica, moved)
	})
}

// Alone does something in the middle of a question.
func (s *Store) Alone(ctx context.Context, account string, what func()) error {
	return s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := s.aloneFor(tx, account); err != nil {
			return err
		}
		what()
		return nil
	})
}
