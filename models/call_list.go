package models

import (
	"context"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"
)

// CallFilter selects calls of the ledger; an empty field selects all.
type CallFilter struct {
	UserID, KeyID, TeamID string
	Model                 string // the one that answered, or was tried last
	Provider, Dialect     string
	Outcome               string
	Failed                bool // only calls that were neither answered nor ended by their client
	MinStatus, MaxStatus  int  // both included; 0 = any
	RequestID             string
	Search                string // a request id, or how a key's name, its prefix or a user's e-mail address begins
	From, To              int64  // Unix microseconds; To is excluded; 0 = no bound
}

// NamedCall is a call with the names of those whose call it is. They are empty where there
// is none, and for users and teams that are deleted.
type NamedCall struct {
	Call      `gorm:"embedded"`
	UserEmail string
	KeyName   string
	TeamName  string
}

// CallPage is a page of calls. Next is the id from which older calls follow; empty when there
// are none. A page may be short, or empty, and have one: see callsScanned.
type CallPage struct {
	Rows []NamedCall
	Next string
}

// scanned is how many rows are read for a page.
func (f *CallFilter) scanned() int {
	if f.owned() {
		return ownedScanned
	}
	return callsScanned
}

// How many rows of the ledger are read for a page, so that a filter without an index neither
// hangs nor keeps an embedded database from its writer. Those of an owner lie apart from each
// other on the disk.
const (
	callsScanned = 20_000
	ownedScanned = 2_000
)

// Calls lists calls of the ledger, the newest first. After is the id of a call that it goes
// on from; no call has to have it.
func (s *Store) Calls(ctx context.Context, f CallFilter, p Page) (*CallPage, error) {
	page := &CallPage{}
	err := s.run(ctx, func(db *gorm.DB) error {
		if err := f.findOwner(db); err != nil {
			return err
		}
		scanned := f.ordered(f.indexed(db.Table("calls"), p.After)).Limit(f.scanned())
		newest := f.ordered(f.others(db, db.Table("(?) AS calls", scanned))).Limit(p.Limit + 1)
		if err := f.ordered(withNames(db, newest)).Find(&page.Rows).Error; err != nil {
			return err
		}
		if len(page.Rows) > p.Limit {
			page.Rows = page.Rows[:p.Limit]
			page.Next = page.Rows[p.Limit-1].ID
			return nil
		}
		if !f.scans() {
			return nil
		}
		last := f.ordered(f.indexed(db.Table("calls"), p.After)).Offset(f.scanned() - 1).Limit(1)
		return last.Select("id").Scan(&page.Next).Error
	})
	return page, err
}

// findOwner adds to a filter by key the user or the team that the key belongs to, by which
// there is an index.
func (f *CallFilter) findOwner(db *gorm.DB) error {
	if f.KeyID == "" || f.UserID != "" || f.TeamID != "" {
		return nil
	}
	var key Key
	if err := db.Select("user_id", "team_id").Where("id = ?", f.KeyID).Limit(1).Find(&key).Error; err != nil {
		return err
	}
	if f.UserID = key.UserID; f.UserID == "" {
		f.TeamID = key.TeamID
	}
	return nil
}

// owned says whether an index by owner selects the calls, which has their times and not
// their ids.
func (f *CallFilter) owned() bool { return f.UserID != "" || f.TeamID != "" }

// scans says whether the filter selects by more than an index.
func (f *CallFilter) scans() bool {
	plain := CallFilter{UserID: f.UserID, From: f.From, To: f.To}
	if f.UserID == "" {
		plain.TeamID = f.TeamID
	}
	return *f != plain
}

// ordered sorts by the index that selects the calls. Their ids begin with the time as well.
func (f *CallFilter) ordered(calls *gorm.DB) *gorm.DB {
	if f.owned() {
		return calls.Order("calls.began_at DESC, calls.id DESC")
	}
	return calls.Order("calls.id DESC")
}

// Call is a call of the ledger, or ErrNotFound. The filter's ids select as for Calls.
func (s *Store) Call(ctx context.Context, f CallFilter, id string) (*NamedCall, error) {
	var row NamedCall
	err := s.run(ctx, func(db *gorm.DB) error {
		one := db.Table("calls").Where("id = ?", id)
		for _, only := range []struct{ column, value string }{{"user_id", f.UserID}, {"key_id", f.KeyID}, {"team_id", f.TeamID}} {
			if only.value != "" {
				one = one.Where(only.column+" = ?", only.value)
			}
		}
		return withNames(db, one).Take(&row).Error
	})
	row.decodeDetail()
	return &row, err
}

// withNames adds the names to some calls.
func withNames(db, calls *gorm.DB) *gorm.DB {
	return db.Table("(?) AS calls", calls).
		Select("calls.*, users.email AS user_email, api_keys.name AS key_name, teams.name AS team_name").
		Joins("LEFT JOIN users ON users.id = calls.user_id").
		Joins("LEFT JOIN api_keys ON api_keys.id = calls.key_id").
		Joins("LEFT JOIN teams ON teams.id = calls.team_id")
}

// indexed selects by time and by an owner. The conditions on the empty text let the databases
// use the indexes, which have only the calls of those who have one.
func (f *CallFilter) indexed(calls *gorm.DB, after string) *gorm.DB {
	from, to := f.bounds()
	switch {
	case f.UserID != "":
		calls = calls.Where("user_id = ? AND user_id <> ''", f.UserID)
	case f.TeamID != "":
		calls = calls.Where("team_id = ? AND team_id <> ''", f.TeamID)
	default:
		if after != "" {
			calls = calls.Where("id < ?", after)
		}
		if from > 0 {
			calls = calls.Where("id >= ?", callID(from, ""))
		}
		if to > 0 {
			calls = calls.Where("id < ?", callID(to, ""))
		}
		return calls
	}
	if after != "" {
		at := CallBegan(after).UnixMicro()
		calls = calls.Where("began_at <= ? AND (began_at < ? OR id < ?)", at, at, after)
	}
	if from > 0 {
		calls = calls.Where("began_at >= ?", from)
	}
	if to > 0 {
		calls = calls.Where("began_at < ?", to)
	}
	return calls
}

// bounds are those of the time of the calls: of a request id of the gateway that it has in it.
func (f *CallFilter) bounds() (from, to int64) {
	from, to = f.From, f.To
	at, ok := RequestIDTime(f.RequestID)
	if !ok {
		return from, to
	}
	const before, later = time.Second, time.Minute // a call begins when its caller is known
	from = max(from, at.Add(-before).UnixMicro())
	if end := at.Add(later).UnixMicro(); to == 0 || end < to {
		to = end
	}
	return from, to
}

// others selects by what has no index.
func (f *CallFilter) others(db, calls *gorm.DB) *gorm.DB {
	for _, only := range []struct{ column, value string }{
		{"key_id", f.KeyID}, {"team_id", f.TeamID}, {"provider", f.Provider}, {"dialect", f.Dialect},
		{"outcome", f.Outcome}, {"request_id", f.RequestID},
	} {
		if only.value != "" {
			calls = calls.Where(only.column+" = ?", only.value)
		}
	}
	if f.Model != "" {
		calls = calls.Where("(served = ? OR served = '' AND model = ?)", f.Model, f.Model)
	}
	if f.Failed {
		calls = calls.Where("outcome NOT IN ?", []string{OutcomeOK, OutcomeClient})
	}
	if f.MaxStatus > 0 {
		calls = calls.Where("status BETWEEN ? AND ?", f.MinStatus, f.MaxStatus)
	}
	if f.Search != "" {
		pattern := strings.ToLower(prefixPattern(f.Search))
		keys := db.Table("api_keys").Select("id").Where("LOWER(name) LIKE ? ESCAPE '!' OR LOWER(prefix) LIKE ? ESCAPE '!'", pattern, pattern)
		users := db.Table("users").Select("id").Where("email LIKE ? ESCAPE '!'", pattern)
		calls = calls.Where("(request_id = ? OR key_id IN (?) OR user_id IN (?))", f.Search, keys, users)
	}
	return calls
}

// prefixPattern is the pattern of texts that begin with this one.
func prefixPattern(text string) string {
	return strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(text) + "%"
}

// callID is CallID of Unix microseconds.
func callID(micro int64, suffix string) string {
	const leading = 1e16 // gives the number 17 digits, of which the first is cut off
	return "call_" + strconv.FormatInt(leading+max(micro, 0), 10)[1:] + suffix
}

// CallBegan is the time in a call's id.
func CallBegan(id string) time.Time {
	const digits = 16
	_, rest, _ := strings.Cut(id, "_")
	n, _ := strconv.ParseInt(rest[:min(len(rest), digits)], 10, 64)
	return time.UnixMicro(n)
}

// IsCallID says whether a text has the form of the id of a call.
func IsCallID(id string) bool {
	const digits, longest = 16, 64
	rest, ok := strings.CutPrefix(id, "call_")
	if !ok || len(rest) < digits || len(rest) > longest {
		return false
	}
	isNo := func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'z') }
	return strings.Trim(rest[:digits], "0123456789") == "" && !strings.ContainsFunc(rest, isNo)
}
