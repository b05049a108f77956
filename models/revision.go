package models

import (
	"context"

	"gorm.io/gorm"
)

// Revision is a number that grows with every change of a key or a user that can
// make a cached one wrong: a revocation, a changed limit, a disabled or deleted
// user, another password. Triggers increment it in the transaction of the change,
// so that changes by hand and by other releases are counted too. New rows, names
// and times of use are not counted. When the same number is read twice, no such
// change was committed in between.
func (s *Store) Revision(ctx context.Context) (int64, error) {
	var row struct{ N int64 }
	err := s.run(ctx, func(db *gorm.DB) error {
		return db.Table("revisions").Select("n").Where("id = 1").Take(&row).Error
	})
	return row.N, err
}
