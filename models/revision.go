package models

import (
	"context"

	"gorm.io/gorm"
)

// Revision is a number that grows with every change that can end what was true
// of a key or a user: a revocation, a disabled or deleted user, another
// password. The database counts them itself, each in its own transaction, so
// that changes by hand and by other versions are among them. New rows and
// times of use do not count. Who reads the same number twice knows that
// nothing of the kind was committed in between.
func (s *Store) Revision(ctx context.Context) (int64, error) {
	var row struct{ N int64 }
	err := s.do(ctx, func(db *gorm.DB) error {
		return db.Table("revisions").Select("n").Where("id = 1").Take(&row).Error
	})
	return row.N, err
}
