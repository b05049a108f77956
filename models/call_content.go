package models

import (
	"context"
	"math"
	"strings"
	"time"
	"unicode/utf8"

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
		// Ids of the former release have another length.
		done := db.Exec("DELETE FROM call_contents WHERE id IN (SELECT id FROM call_contents "+
			"WHERE CASE WHEN LENGTH(id) = ? THEN id < ? ELSE id < ? END ORDER BY id LIMIT ?)",
			len(callIDMark)+callIDDigits, callIDText(firstCallNumber(at)), formerID(at.UnixMicro(), ""), limit)
		n = done.RowsAffected
		return done.Error
	})
	return n, err
}

// RecordAudit adds a row of the audit that belongs to no change.
func (s *Store) RecordAudit(ctx context.Context, row *Audit) error {
	return s.run(ctx, func(db *gorm.DB) error { return insertAudit(db, row) })
}

// Clean changes a row so that every database accepts it and no sum overflows: a client
// may send any text, and a provider report any numbers.
func (c *Call) Clean() {
	for _, text := range []*string{
		&c.ID, &c.RequestID, &c.UserID, &c.KeyID, &c.Model, &c.Served, &c.Provider, &c.Outcome, &c.ErrorCode,
		&c.UpstreamRequestID, &c.TeamID, &c.Dialect, &c.UserAgent, &c.UpstreamKey,
		&c.Project, &c.Session, &c.AgentID, &c.ParentAgentID, &c.Agent, &c.Account,
	} {
		*text = cleanText(*text)
	}
	c.Attempts = max(0, min(c.Attempts, math.MaxInt32))
	for _, n := range []*int{&c.Status, &c.CacheMiss} {
		*n = max(0, min(*n, math.MaxInt16))
	}
	amounts := c.amounts()
	numbers := append(amounts[:], &c.Cost, &c.FirstTokenUS, &c.DurationUS, &c.OverheadUS, &c.OpenedUS)
	for _, n := range numbers {
		const most = 1_000_000_000_000_000 // a billion dollars
		*n = max(0, min(*n, most))
	}
	c.BeganAt = max(0, c.BeganAt)
	c.UserAgent = clipped(c.UserAgent, longestAgent)
	c.encodeDetail()
}

// cleanText returns valid UTF-8 without NUL, which PostgreSQL cannot store,
// and no longer than its indexes allow.
func cleanText(s string) string {
	const longest = 256
	if len(s) > longest {
		s = strings.Clone(s[:longest])
	}
	if utf8.ValidString(s) && !strings.Contains(s, "\x00") {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, ""), "\x00", "")
}
