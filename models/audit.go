package models

import "gorm.io/gorm"

// Audit is a row of what administrators did. It is written in the transaction
// of the change that it records. Triggers refuse to change or delete it, but
// for Transaction.EraseUsers.
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

// Page is a part of a list: at most Limit rows that follow the row with the id
// After, or the first ones when After is empty.
type Page struct {
	After string
	Limit int
}

// insertAudit inserts the row of a change in its transaction; nil inserts none.
func insertAudit(tx *gorm.DB, row *Audit) error {
	if row == nil {
		return nil
	}
	return tx.Create(row).Error
}

// lockKeysAndUsers makes a transaction the only one that changes keys or users:
// what it reads of them stays true until it commits. Triggers take the same lock
// before each such change. So it must be taken before any row of keys or users is
// locked, or two transactions could wait for each other.
func (s *Store) lockKeysAndUsers(tx *gorm.DB) error {
	if s.embedded {
		return nil // SQLite runs one transaction at a time
	}
	return tx.Exec("SELECT n FROM revisions WHERE id = 1 FOR UPDATE").Error
}
