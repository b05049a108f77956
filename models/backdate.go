package models

import (
	"context"

	"gorm.io/gorm"
)

// Made is a key with its user and team, and when they were made, in Unix microseconds. An
// empty id stands for none.
type Made struct {
	KeyID, UserID, TeamID string
	At                    int64
}

// Backdate changes when keys, their users and their teams were made. Only the demonstration
// does so, whose calls are older than its database.
func (s *Store) Backdate(ctx context.Context, all []Made) error {
	return s.inTx(ctx, func(tx *gorm.DB) error {
		if err := s.lockKeysAndUsers(tx); err != nil {
			return err
		}
		for _, m := range all {
			for table, id := range map[string]string{"api_keys": m.KeyID, "users": m.UserID, "teams": m.TeamID} {
				err := tx.Table(table).Where("id = ? AND created_at > ?", id, m.At).UpdateColumn("created_at", m.At).Error
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
}
