package models

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
)

// CallFilter selects calls of the ledger; an empty field selects all.
type CallFilter struct {
	UserID, KeyID, TeamID string
	Model                 string // the one that answered, or was tried last
	Provider, Dialect     string
	Agent, Project        string
	Session               string // its name, of whichever owner, or its id
	Outcome               string
	Failed                bool // only calls that were neither answered nor ended by their client
	MinStatus, MaxStatus  int  // both included; 0 = any
	RequestID             string
	CacheMiss             int    // one of the Cache constants, or AnyCacheMiss; 0 = any call
	Search                string // a request id, or how a key's name, its prefix or a user's e-mail address begins
	SearchDeleted         bool   // also by the addresses of deleted users
	From, To              int64  // Unix microseconds; To is excluded; 0 = no bound
}

// NamedCall is a call with the names of those whose call it is. They are empty where there
// is none, and for users and teams that are deleted: see DeletedUsers.
type NamedCall struct {
	Call
	UserEmail string
	DeletedAt int64 `gorm:"-"` // of a deleted user whose former address UserEmail is; 0 = none
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
		// A row that is moved meanwhile is found in both tables.
		found, err := s.formerCalls(db, &f, p)
		if err != nil {
			return err
		}
		ledger, err := s.ledgerCalls(db, &f, p)
		if err != nil {
			return err
		}
		calls, next := mergeCalls(append(found, ledger), p.Limit)
		if next > 0 {
			page.Next = callIDText(next)
		}
		page.Rows, err = s.named(db, calls)
		return err
	})
	return page, err
}

// foundCalls are calls of one table for a page.
type foundCalls struct {
	calls []Call
	all   int64 // it has all calls whose numbers are not less than this
}

// mergeCalls makes a page of the calls that were found. Next is the number from which older ones
// follow, or 0.
func mergeCalls(found []foundCalls, limit int) (page []Call, next int64) {
	var calls []Call
	for _, f := range found {
		calls, next = append(calls, f.calls...), max(next, f.all)
	}
	slices.SortStableFunc(calls, func(a, b Call) int {
		return cmp.Or(cmp.Compare(numberOf(b.ID), numberOf(a.ID)), cmp.Compare(a.ID, b.ID))
	})
	calls = slices.CompactFunc(calls, func(a, b Call) bool { return a.ID == b.ID })
	calls = slices.DeleteFunc(calls, func(c Call) bool { return numberOf(c.ID) < next })
	if len(calls) > limit {
		return calls[:limit], numberOf(calls[limit-1].ID)
	}
	return calls, next
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

// owned says whether an index by owner selects the calls.
func (f *CallFilter) owned() bool { return f.UserID != "" || f.TeamID != "" || f.Session != "" }

// scans says whether the filter selects by more than an index.
func (f *CallFilter) scans() bool {
	plain := CallFilter{UserID: f.UserID, From: f.From, To: f.To}
	if f.UserID == "" {
		if plain.TeamID = f.TeamID; f.TeamID == "" {
			plain.Session = f.Session
		}
	}
	return *f != plain
}

// ledgerFilter selects rows of the ledger.
type ledgerFilter struct {
	*CallFilter
	numbers namesOf
}

// ledgerFilter is a filter with the numbers of its texts.
func (s *Store) ledgerFilter(db *gorm.DB, f *CallFilter) (ledgerFilter, error) {
	where := ledgerFilter{f, namesOf{}}
	for _, text := range where.texts() {
		where.numbers[name{Text: *text}] = 0
	}
	for _, text := range []string{OutcomeOK, OutcomeClient} {
		where.numbers[name{Text: text}] = 0
	}
	return where, s.findNames(db, where.numbers)
}

// answered are the numbers of the outcomes of calls that did not fail.
func (f *ledgerFilter) answered() []int64 {
	return []int64{f.numbers[name{Text: OutcomeOK}], f.numbers[name{Text: OutcomeClient}]}
}

// ledgerCalls are the calls of the ledger for a page.
func (s *Store) ledgerCalls(db *gorm.DB, f *CallFilter, p Page) (found foundCalls, err error) {
	where, err := s.ledgerFilter(db, f)
	if err != nil {
		return found, err
	}
	var rows []ledgerRow
	scanned := where.indexed(db.Table("ledger"), p.After).Order("id DESC").Limit(f.scanned())
	if err := where.others(db, db.Table("(?) AS ledger", scanned)).Order("id DESC").Limit(p.Limit + 1).Find(&rows).Error; err != nil {
		return found, err
	}
	if len(rows) > p.Limit {
		found.all = rows[p.Limit].ID
	} else if f.scans() {
		last := where.indexed(db.Table("ledger"), p.After).Order("id DESC").Offset(f.scanned() - 1).Limit(1)
		if err := last.Select("id").Scan(&found.all).Error; err != nil {
			return found, err
		}
	}
	found.calls, err = s.callsOf(db, rows)
	return found, err
}

// texts are the texts that a row has to have, in the order of conditions.
func (f *ledgerFilter) texts() [8]*string {
	return [...]*string{&f.UserID, &f.KeyID, &f.TeamID, &f.Provider, &f.Dialect, &f.Outcome, &f.Agent, &f.Project}
}

// indexed selects by time and by what there is an index of.
func (f *ledgerFilter) indexed(calls *gorm.DB, after string) *gorm.DB {
	switch {
	case f.UserID != "":
		calls = calls.Where("user_n = ?", f.numbers[name{Text: f.UserID}])
	case f.TeamID != "":
		calls = calls.Where("team_n = ?", f.numbers[name{Text: f.TeamID}])
	case f.Session != "":
		calls = f.inSession(calls)
	}
	if after != "" {
		calls = calls.Where("id < ?", numberOf(after))
	}
	from, to := f.bounds()
	if from > 0 {
		calls = calls.Where("id >= ?", firstCallNumber(time.UnixMicro(from)))
	}
	if to > 0 { // the time of an id may be a little later than that of its call: see NewCallID
		calls = calls.Where("id < ?", firstCallNumber(time.UnixMicro(to).Add(time.Second)))
	}
	return calls
}

func (f *ledgerFilter) inSession(calls *gorm.DB) *gorm.DB {
	if n, ok := SessionNumber(f.Session); ok {
		return calls.Where("session_n = ?", n)
	}
	return calls.Where("session_n IN (SELECT n FROM ledger_names WHERE text = ? AND owner <> '')", f.Session)
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
func (f *ledgerFilter) others(db, calls *gorm.DB) *gorm.DB {
	from, to := f.bounds() // not among the indexed ones: PostgreSQL would expect few rows, and sort all of an owner
	if from > 0 {
		calls = calls.Where("began_at >= ?", from)
	}
	if to > 0 {
		calls = calls.Where("began_at < ?", to)
	}
	texts := f.texts()
	for i, column := range [...]string{"user_n", "key_n", "team_n", "provider_n", "dialect_n", "outcome_n", "agent_n", "project_n"} {
		if *texts[i] != "" {
			calls = calls.Where(column+" = ?", f.numbers[name{Text: *texts[i]}])
		}
	}
	if f.Session != "" {
		calls = f.inSession(calls)
	}
	if f.Model != "" {
		model := db.Table("ledger_names").Select("n").Where("owner = '' AND text = ?", f.Model)
		calls = calls.Where("COALESCE(served_n, model_n) = (?)", model)
	}
	if f.Failed {
		calls = calls.Where("outcome_n NOT IN ?", f.answered())
	}
	if f.RequestID != "" {
		calls = calls.Where("request_id = ?", f.RequestID)
	}
	if f.MaxStatus > 0 {
		calls = calls.Where("status BETWEEN ? AND ?", f.MinStatus, f.MaxStatus)
	}
	if f.CacheMiss == AnyCacheMiss {
		calls = calls.Where("cache_miss > ?", CacheComplete)
	} else if f.CacheMiss != 0 {
		calls = calls.Where("cache_miss = ?", f.CacheMiss)
	}
	if f.Search != "" {
		keys, users := f.searched(db)
		named := func(ids *gorm.DB) *gorm.DB {
			return db.Table("ledger_names").Select("n").Where("owner = '' AND text IN (?)", ids)
		}
		calls = calls.Where("(request_id = ? OR key_n IN (?) OR user_n IN (?))", f.Search, named(keys), named(users))
	}
	return calls
}

// searched are the ids of the keys and of the users that a search finds.
func (f *CallFilter) searched(db *gorm.DB) (keys, users *gorm.DB) {
	pattern := strings.ToLower(prefixPattern(f.Search))
	keys = db.Table("api_keys").Select("id").Where("LOWER(name) LIKE ? ESCAPE '!' OR LOWER(prefix) LIKE ? ESCAPE '!'", pattern, pattern)
	users = db.Table("(SELECT id, email FROM users UNION ALL SELECT id, email FROM deleted_users WHERE ?) AS users", f.SearchDeleted)
	return keys, users.Select("id").Where("email LIKE ? ESCAPE '!'", pattern)
}

// prefixPattern is the pattern of texts that begin with this one.
func prefixPattern(text string) string {
	return strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(text) + "%"
}

// Call is a call of the ledger, or ErrNotFound. The filter's ids select as for Calls.
func (s *Store) Call(ctx context.Context, f CallFilter, id string) (*NamedCall, error) {
	var found []NamedCall
	err := s.run(ctx, func(db *gorm.DB) error {
		var calls []Call
		if err := db.Where("id = ?", id).Find(&calls).Error; err != nil {
			return err
		}
		if len(calls) == 0 {
			where := withIDs(db, []string{id})
			var rows []ledgerRow
			err := db.Where(where[len(where)-1]).Find(&rows).Error
			if err != nil {
				return err
			}
			if calls, err = s.callsOf(db, rows); err != nil {
				return err
			}
		}
		is := func(only, value string) bool { return only == "" || only == value }
		calls = slices.DeleteFunc(calls, func(c Call) bool {
			return c.ID != id || !is(f.UserID, c.UserID) || !is(f.KeyID, c.KeyID) || !is(f.TeamID, c.TeamID)
		})
		if len(calls) == 0 {
			return ErrNotFound
		}
		var err error
		found, err = s.named(db, calls)
		return err
	})
	if err != nil {
		return nil, err
	}
	found[0].decodeDetail()
	return &found[0], nil
}

// named adds the names to some calls.
func (s *Store) named(db *gorm.DB, calls []Call) ([]NamedCall, error) {
	rows := make([]NamedCall, len(calls))
	for i := range calls {
		rows[i].Call = calls[i]
	}
	if len(calls) == 0 {
		return nil, nil
	}
	var users, keys, teams []string
	for i := range calls {
		users, keys, teams = append(users, calls[i].UserID), append(keys, calls[i].KeyID), append(teams, calls[i].TeamID)
	}
	var named []struct{ Kind, ID, Name string }
	err := db.Raw(`SELECT 'user' AS kind, id, email AS name FROM users WHERE id IN ?
		UNION ALL SELECT 'key', id, name FROM api_keys WHERE id IN ? UNION ALL SELECT 'team', id, name FROM teams WHERE id IN ?`,
		distinct(users), distinct(keys), distinct(teams)).Scan(&named).Error
	names := map[[2]string]string{}
	for _, of := range named {
		names[[2]string{of.Kind, of.ID}] = of.Name
	}
	for i := range rows {
		r := &rows[i]
		r.UserEmail, r.KeyName = names[[2]string{"user", r.UserID}], names[[2]string{"key", r.KeyID}]
		r.TeamName = names[[2]string{"team", r.TeamID}]
	}
	return rows, err
}

// distinct are some ids, each once.
func distinct(ids []string) []string {
	slices.Sort(ids)
	return slices.Compact(ids)
}
