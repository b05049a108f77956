package models

import (
	"context"

	"gorm.io/gorm"
)

// Project is the name of a project that calls of an account are booked for.
type Project struct {
	Owner     string // TeamAccount, UserAccount, KeyAccount or GatewayAccount
	Name      string
	CreatedAt int64 // Unix microseconds
}

// AddProject adds a project where its owner does not have it yet. ErrTooMany when the owner
// has limit projects already.
func (s *Store) AddProject(ctx context.Context, p Project, limit int) error {
	var known bool
	check := func(db *gorm.DB) (err error) {
		known, err = p.known(db, limit)
		return err
	}
	if err := s.run(ctx, check); err != nil || known {
		return err
	}
	return s.inTx(ctx, func(tx *gorm.DB) error {
		// Replicas that add at the same time would count the same projects.
		if err := s.advisoryLock(tx, "projects "+p.Owner); err != nil {
			return err
		}
		if err := check(tx); err != nil || known {
			return err
		}
		return tx.Create(&p).Error
	})
}

// known says whether the owner has the project. ErrTooMany when it has limit others.
func (p Project) known(db *gorm.DB, limit int) (bool, error) {
	var n struct{ Total, Same int }
	err := db.Model(&p).Select("COUNT(*) AS total, COUNT(CASE WHEN name = ? THEN 1 END) AS same", p.Name).
		Where("owner = ?", p.Owner).Scan(&n).Error
	if err == nil && n.Same == 0 && n.Total >= limit {
		err = ErrTooMany
	}
	return n.Same > 0, err
}
