package models

import (
	"context"

	"gorm.io/gorm"
)

// Audit is a row of what administrators did. It is written in the transaction
// of what it tells of, and the database lets nobody change or remove it.
type Audit struct {
	ID         string // begins with the time: later ones are greater
	At         int64  // Unix microseconds
	ActorID    string
	ActorEmail string
	Action     string
	Target     string // id of the user or the key
	Detail     string // JSON, without secrets
	RequestID  string
	Address    string // of the client
}

// TableName is the table of the audit.
func (Audit) TableName() string { return "audit" }

// AuditFilter chooses rows of the audit; what is empty chooses all.
type AuditFilter struct {
	ActorID string
	Target  string
}

// Page is a part of a list: at most Limit rows that come after the row of the
// id After, or from the beginning of the list without it.
type Page struct {
	After string
	Limit int
}

// Audit lists what administrators did, the newest first.
func (s *Store) Audit(ctx context.Context, f AuditFilter, p Page) ([]Audit, error) {
	var rows []Audit
	err := s.do(ctx, func(db *gorm.DB) error {
		if f.ActorID != "" {
			db = db.Where("actor_id = ?", f.ActorID)
		}
		if f.Target != "" {
			db = db.Where("target = ?", f.Target)
		}
		if p.After != "" {
			db = db.Where("id < ?", p.After)
		}
		return db.Order("id DESC").Limit(p.Limit).Find(&rows).Error
	})
	return rows, err
}

// recordAct adds the row of an act to its transaction; nil when nothing was done.
func recordAct(tx *gorm.DB, row *Audit) error {
	if row == nil {
		return nil
	}
	return tx.Create(row).Error
}

// alone makes a transaction the only one that changes keys or users, so that
// what it reads is true until it commits. Triggers take the same lock before
// each such change: taken only after a row of keys or users, it could wait for
// somebody who waits for that row.
func (s *Store) alone(tx *gorm.DB) error {
	if s.embedded {
		return nil // SQLite's transactions are
	}
	return tx.Exec("SELECT n FROM revisions WHERE id = 1 FOR UPDATE").Error
}
