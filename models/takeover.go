package models

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// LiteLLMHash begins the Hash of a key that was taken over from LiteLLM. The rest is what LiteLLM stores of it:
// the SHA-256 of its whole text, in hex.
const LiteLLMHash = "litellm:"

// Origin is litellm for a key whose secret, or whose secret before the last rotation, was taken over from
// LiteLLM; else empty.
func (k *Key) Origin() string {
	if strings.HasPrefix(k.Hash, LiteLLMHash) || strings.HasPrefix(k.PreviousHash, LiteLLMHash) {
		return "litellm"
	}
	return ""
}

// KeysTakenOver reports whether a takeover made keys.
func (s *Store) KeysTakenOver(ctx context.Context) (bool, error) {
	var found bool
	err := s.run(ctx, func(db *gorm.DB) error {
		return db.Raw("SELECT EXISTS (SELECT 1 FROM takeovers WHERE kind = ?)", TakenKey).Scan(&found).Error
	})
	return found, err
}

// takenPart names what a takeover has added to the spend of an account and to the usage of a day, which
// each run sets.
const takenPart = "litellm"

// Takeover ties something of another gateway to what it has become here.
type Takeover struct {
	Kind      TakenKind `gorm:"primaryKey"`
	ForeignID string    `gorm:"primaryKey"`
	ID        string
	Taken     string // JSON of what it was there when it was taken last
	Exported  string // JSON of what it was here when it was last written for going back; empty: never
}

// TableName is the table of what was taken over.
func (Takeover) TableName() string { return "takeovers" }

// TakenKind is a kind of things that are taken over.
type TakenKind string

// The kinds.
const (
	TakenUser TakenKind = "user"
	TakenTeam TakenKind = "team"
	TakenKey  TakenKind = "key"
)

// Takeovers are all things that were taken over, in the order of their kinds and foreign ids.
func (t *Transaction) Takeovers() (all []Takeover, err error) {
	err = t.db.Order("kind, foreign_id").Find(&all).Error
	return all, err
}

// SaveTakeover adds or replaces the row of something that was taken over.
func (t *Transaction) SaveTakeover(row *Takeover) error {
	return mapError(t.db.Clauses(clause.OnConflict{UpdateAll: true}).Create(row).Error)
}

// RenameTakeover gives a row another foreign id.
func (t *Transaction) RenameTakeover(row *Takeover, foreignID string) error {
	return mapError(t.db.Model(&Takeover{}).Where("kind = ? AND foreign_id = ?", row.Kind, row.ForeignID).
		UpdateColumn("foreign_id", foreignID).Error)
}

// SetTakenSpend sets what an account has spent elsewhere in the window of its budget, in micro-dollars. firstDay is the first
// of the window, and empty for one that does not end. The day of the row sorts behind it and before the next day, so that the
// row counts in this window and in no shorter one, and no call is added to it.
func (t *Transaction) SetTakenSpend(account, firstDay string, cost int64) error {
	if err := t.db.Exec("DELETE FROM spend WHERE account = ? AND day LIKE ?", account, "% "+takenPart).Error; err != nil {
		return err
	}
	return t.db.Exec("INSERT INTO spend (account, day, cost) VALUES (?, ?, ?)", account, firstDay+" "+takenPart, cost).Error
}

// SetTakenUsage replaces the usage of days, such as 2026-11-21, that was taken over. Days that are not
// named keep theirs.
func (s *Store) SetTakenUsage(ctx context.Context, days map[string]map[UsageGroup]Sum) error {
	for _, day := range slices.Sorted(maps.Keys(days)) {
		begin, err := time.Parse(time.DateOnly, day)
		if err != nil {
			return err
		}
		minutes := minutesOf{}
		for group, sum := range days[day] {
			minutes[group] = []minuteTally{{begin.Unix() / secondsPerMinute, Tally{Sum: sum}}}
		}
		row := packRow(packedForm, usageSums{Begins: begin.Unix(), Hours: hoursPerDay, Part: takenPart}, minutes)
		row.Details = []byte{} // there are no times within the day
		err = s.run(ctx, func(db *gorm.DB) error {
			return db.Table(ledgerSums).Clauses(clause.OnConflict{
				Columns: []clause.Column{{Name: "begins"}, {Name: "hours"}, {Name: "part"}}, UpdateAll: true,
			}).Create(&row).Error
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// ForgetTakeovers deletes the keys that still have LiteLLM's secret, the teams and users that a takeover has made and
// that have no other keys (of users those who have never logged in), the spend and usage that were imported, and all rows
// of takeovers. Secrets of LiteLLM that keys had before a rotation end. It returns the keys whose secrets open nothing any more.
// In Taken a row has "linked":true for what was here before.
func (t *Transaction) ForgetTakeovers() (gone []Key, err error) {
	const foreign, former = "hash LIKE '" + LiteLLMHash + "%'", "previous_hash LIKE '" + LiteLLMHash + "%'"
	if err := t.db.Where(foreign + " OR " + former).Find(&gone).Error; err != nil {
		return nil, err
	}
	const made = "id IN (SELECT id FROM takeovers WHERE kind = '%s' AND taken NOT LIKE '%%\"linked\":true%%')"
	for _, statement := range []string{
		"DELETE FROM api_keys WHERE " + foreign,
		"UPDATE api_keys SET previous_hash = '', previous_expires_at = 0 WHERE " + former, // those that were rotated here
		"DELETE FROM teams WHERE " + fmt.Sprintf(made, TakenTeam) + " AND NOT EXISTS (SELECT 1 FROM api_keys WHERE team_id = teams.id)",
		"DELETE FROM users WHERE " + fmt.Sprintf(made, TakenUser) + ` AND password_hash = '' AND last_used_at = 0
			AND NOT EXISTS (SELECT 1 FROM api_keys WHERE user_id = users.id)
			AND NOT EXISTS (SELECT 1 FROM identities WHERE user_id = users.id)`,
		"DELETE FROM spend WHERE day LIKE '% " + takenPart + "'",
		"DELETE FROM " + ledgerSums + " WHERE part = '" + takenPart + "'",
		"DELETE FROM takeovers",
	} {
		if err := t.db.Exec(statement).Error; err != nil {
			return nil, err
		}
	}
	return gone, nil
}
