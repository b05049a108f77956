package models

import (
	"context"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// CallContent is the request and the answer of a call, encrypted.
type CallContent struct {
	ID     string // of the call
	Sealed []byte
}

// KeepContents adds contents of calls. One that is there already stays.
func (s *Store) KeepContents(ctx context.Context, rows []CallContent) error {
	return s.run(ctx, func(db *gorm.DB) error { return db.Clauses(clause.OnConflict{DoNothing: true}).Create(rows).Error })
}

// CallContent is the content of a call, or ErrNotFound.
func (s *Store) CallContent(ctx context.Context, id string) (*CallContent, error) {
	var row CallContent
	err := s.run(ctx, func(db *gorm.DB) error { return db.Where("id = ?", id).Take(&row).Error })
	return &row, err
}

// HasContent says whether there is content of a call.
func (s *Store) HasContent(ctx context.Context, id string) (bool, error) {
	var n int64
	err := s.run(ctx, func(db *gorm.DB) error { return db.Model(&CallContent{}).Where("id = ?", id).Count(&n).Error })
	return n > 0, err
}

// DeleteContentsBefore deletes the contents of calls that began before at, the oldest first,
// and returns how many: at most limit.
func (s *Store) DeleteContentsBefore(ctx context.Context, at time.Time, limit int) (n int64, err error) {
	err = s.run(ctx, func(db *gorm.DB) error {
		done := db.Exec("DELETE FROM call_contents WHERE id IN (SELECT id FROM call_contents WHERE id < ? ORDER BY id LIMIT ?)",
			CallID(at, ""), limit)
		n = done.RowsAffected
		return done.Error
	})
	return n, err
}

// RecordAudit adds a row of the audit that belongs to no change.
func (s *Store) RecordAudit(ctx context.Context, row *Audit) error {
	return s.run(ctx, func(db *gorm.DB) error { return insertAudit(db, row) })
}
