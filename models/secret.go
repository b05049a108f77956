package models

import (
	"context"
	"encoding/hex"
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// secret is a row of the table of secrets.
type secret struct {
	Name      string
	Value     string // in hex
	CreatedAt int64  `gorm:"autoCreateTime:false"` // Unix microseconds
}

// TableName is the name of the table.
func (secret) TableName() string { return "secrets" }

// Secret returns the secret with this name. Where there is none it becomes fresh: of
// replicas that ask at the same time all get the same.
func (s *Store) Secret(ctx context.Context, name string, fresh []byte, at int64) ([]byte, error) {
	row := secret{Name: name, Value: hex.EncodeToString(fresh), CreatedAt: at}
	err := s.run(ctx, func(db *gorm.DB) error {
		if err := db.Clauses(clause.OnConflict{DoNothing: true}).Create(&row).Error; err != nil {
			return err
		}
		return db.Where("name = ?", name).Take(&row).Error
	})
	if err != nil {
		return nil, err
	}
	value, err := hex.DecodeString(row.Value)
	if err != nil || len(value) != len(fresh) {
		return nil, fmt.Errorf("the row %q of the table secrets is not %d bytes in hex", name, len(fresh))
	}
	return value, nil
}
