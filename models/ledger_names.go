package models

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// name is a text to which the ledger gives a number. Owner is the account whose session it
// names; it is empty for all other texts.
type name struct{ Owner, Text string }

// ledgerName is the row of a name.
type ledgerName struct {
	N     int64 `gorm:"primaryKey"`
	Owner string
	Text  string
}

// TableName is the table of names.
func (ledgerName) TableName() string { return "ledger_names" }

// mostNames is how many names a process remembers, some 20 MB.
const mostNames = 50_000

// NamesKept is how long a process remembers a name at most: the text of one is
// changed when a person is erased who is named in it, and sessions are deleted, see DeleteSessions.
const NamesKept = 30 * time.Minute

// names remembers numbers of names.
type names struct {
	mu      sync.Mutex
	since   time.Time
	numbers map[name]int64
	texts   map[int64]string
}

// namesOf are the numbers of some names in a transaction. The empty text has 0.
type namesOf map[name]int64

// remember keeps numbers that the database has.
func (s *names) remember(some namesOf) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.numbers)+len(some) > mostNames || s.numbers == nil {
		s.numbers, s.texts = make(map[name]int64), make(map[int64]string)
	}
	for of, number := range some {
		s.numbers[of], s.texts[number] = number, of.Text
	}
}

func (s *names) forgetOld() {
	if now := time.Now(); now.Sub(s.since) > NamesKept {
		s.numbers, s.texts, s.since = nil, nil, now
	}
}

// known adds to some numbers those that are remembered, and returns the names that are not.
func (s *names) known(some namesOf) (missing []name) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetOld()
	for of := range some {
		if number := s.numbers[of]; number != 0 {
			some[of] = number
		} else if of.Text != "" {
			missing = append(missing, of)
		}
	}
	return missing
}

// number sets the numbers of all names, and adds rows of those that have none. They are to be
// remembered when the transaction is committed.
func (s *names) number(tx *gorm.DB, some namesOf) error {
	missing := s.known(some)
	if len(missing) == 0 {
		return nil
	}
	// All replicas insert in the same order, or their transactions could deadlock.
	slices.SortFunc(missing, func(a, b name) int { return cmp.Or(cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Text, b.Text)) })
	for part := range slices.Chunk(missing, idsPerStatement) {
		rows := make([]ledgerName, len(part))
		for i := range part {
			rows[i].Owner, rows[i].Text = part[i].Owner, part[i].Text
		}
		if err := tx.Clauses(clause.OnConflict{DoNothing: true}).Omit("N").Create(rows).Error; err != nil {
			return err
		}
		found, err := findNames(tx, part)
		if err != nil {
			return err
		}
		maps.Copy(some, found)
	}
	return nil
}

// find sets the numbers of names as far as the database has them.
func (s *Store) findNames(db *gorm.DB, some namesOf) error {
	missing := s.names.known(some)
	found, err := findNames(db, missing)
	s.names.remember(found)
	maps.Copy(some, found)
	return err
}

func findNames(db *gorm.DB, some []name) (namesOf, error) {
	found := namesOf{}
	for part := range slices.Chunk(some, idsPerStatement) {
		values := make([]any, 0, 2*len(part))
		for _, of := range part {
			values = append(values, of.Owner, of.Text)
		}
		pairs := strings.Repeat(", (?, ?)", len(part))[len(", "):]
		var rows []ledgerName
		if err := db.Where("(owner, text) IN (VALUES "+pairs+")", values...).Find(&rows).Error; err != nil {
			return nil, err
		}
		for _, row := range rows {
			found[name{row.Owner, row.Text}] = row.N
		}
	}
	return found, nil
}

// texts are the texts of numbers.
func (s *Store) texts(db *gorm.DB, numbers map[int64]string) error {
	var missing []int64
	s.names.mu.Lock()
	s.names.forgetOld()
	for n := range numbers {
		if text, known := s.names.texts[n]; known {
			numbers[n] = text
		} else if n != 0 {
			missing = append(missing, n)
		}
	}
	s.names.mu.Unlock()
	for part := range slices.Chunk(missing, idsPerStatement) {
		var rows []ledgerName
		if err := db.Where("n IN ?", part).Find(&rows).Error; err != nil {
			return err
		}
		found := namesOf{}
		for _, row := range rows {
			numbers[row.N], found[name{row.Owner, row.Text}] = row.Text, row.N
		}
		s.names.remember(found)
	}
	return nil
}
