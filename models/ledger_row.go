package models

import (
	"cmp"
	"encoding/binary"
	"errors"

	"gorm.io/gorm"
)

// ledgerRow is a row of the ledger. Its texts are numbers of names.
type ledgerRow struct {
	ID      int64
	BeganAt int64
	Cost    int64

	InputTokens, CachedTokens, CacheWriteTokens, CacheWriteHourTokens, OutputTokens, ReasoningTokens int64
	Searches, Requests, Images, Seconds, Characters                                                  int64

	UserN, KeyN, TeamN, ProjectN, SessionN, ModelN, ServedN, ProviderN, AccountN, AgentN, UserAgentN,
	DialectN, OutcomeN, ErrorN int64

	Status, CacheMiss, Flags int64
	RequestID                string
	Rest                     []byte
}

// TableName is the table of the ledger.
func (ledgerRow) TableName() string { return "ledger" }

var ledgerRows = newBulkInsert("ledger", []string{"request_id"}, nil, []string{
	"id", "began_at", "cost", "input_tokens", "cached_tokens", "cache_write_tokens", "cache_write_hour_tokens", "output_tokens",
	"reasoning_tokens", "searches", "requests", "images", "seconds", "characters",
	"user_n", "key_n", "team_n", "project_n", "session_n", "model_n", "served_n", "provider_n", "account_n", "agent_n",
	"user_agent_n", "dialect_n", "outcome_n", "error_n", "status", "cache_miss", "flags",
}, "").thin("rest")

// amounts are the amounts of a call in the order of the columns.
func (c *Call) amounts() [11]*int64 {
	return [...]*int64{
		&c.InputTokens, &c.CachedTokens, &c.CacheWriteTokens, &c.CacheWriteHourTokens, &c.OutputTokens, &c.ReasoningTokens,
		&c.Searches, &c.Requests, &c.Images, &c.Seconds, &c.Characters,
	}
}

// names are the texts of a call that have a number, in the order of the columns.
func (c *Call) names() [len(rowNames{})]name {
	return [...]name{
		{Text: c.UserID}, {Text: c.KeyID}, {Text: c.TeamID}, {Text: c.Project}, {c.sessionOwner(), c.Session}, {Text: c.Model},
		{Text: c.Served}, {Text: c.Provider}, {Text: c.Account}, {Text: c.Agent}, {Text: c.UserAgent}, {Text: c.Dialect},
		{Text: c.Outcome}, {Text: c.ErrorCode},
	}
}

// sessionOwner is the account whose session the call is in; empty without a session.
func (c *Call) sessionOwner() string {
	if c.Session == "" {
		return ""
	}
	return CallerAccount(c.UserID, c.KeyID)
}

// CallerAccount is the account of a user, else of a key without one, else that of all spending.
func CallerAccount(userID, keyID string) string {
	switch {
	case userID != "":
		return UserAccount(userID)
	case keyID != "":
		return KeyAccount(keyID)
	}
	return GatewayAccount
}

// rowNames are the numbers of the names of a row, in the order of the columns.
type rowNames [14]int64

// Where the models stand in rowNames.
const requestedModel, servedModel = 5, 6

// insertRows inserts rows of calls with these ids and names.
func insertRows(on connTx, calls []Call, ids []int64, names []rowNames) error {
	add := ledgerRows.copyRows
	if on.embedded() {
		add = ledgerRows.insertRows
	}
	return add(on, bulkRows{len(calls), func(i int, r *bulkRow) {
		c, names := &calls[i], names[i]
		if names[requestedModel] == names[servedModel] {
			names[requestedModel] = 0 // as for most calls
		}
		r.texts = append(r.texts, c.RequestID)
		r.numbers = append(r.numbers, ids[i], c.BeganAt, c.Cost)
		for _, n := range c.amounts() {
			r.numbers = append(r.numbers, *n)
		}
		r.numbers = append(r.numbers, names[:]...)
		r.numbers = append(r.numbers, int64(c.Status), int64(c.CacheMiss), c.flags())
		r.blob = appendRest(r.blob[:0], c)
	}})
}

// numberCalls looks up the numbers of the names of calls, and adds rows of names that have none: added
// has their numbers, which are to be remembered when the transaction is committed.
func (s *names) numberCalls(tx *gorm.DB, calls []Call, added namesOf) ([]rowNames, error) {
	rows := make([]rowNames, len(calls))
	s.mu.Lock()
	s.forgetOld()
	for i := range calls {
		for j, of := range calls[i].names() {
			if of.Text == "" {
				continue
			}
			if rows[i][j] = s.numbers[of]; rows[i][j] == 0 {
				added[of] = 0
			}
		}
	}
	s.mu.Unlock()
	if len(added) == 0 {
		return rows, nil
	}
	if err := s.number(tx, added); err != nil {
		return nil, err
	}
	for i := range calls {
		for j, of := range calls[i].names() {
			if rows[i][j] == 0 {
				rows[i][j] = added[of]
			}
		}
	}
	return rows, nil
}

// The bits of a row's flags.
const (
	flagStream = 1 << iota
	flagEstimated
	flagPriced
)

func (c *Call) flags() (bits int64) {
	for i, is := range [...]bool{c.Stream, c.Estimated, c.Priced} {
		if is {
			bits |= flagStream << i
		}
	}
	return bits
}

// restTextsOf are the texts of a row's rest. Most are empty.
func (c *Call) restTextsOf(formerID *string) [6]*string {
	return [...]*string{&c.UpstreamRequestID, &c.UpstreamKey, &c.AgentID, &c.ParentAgentID, &c.Detail, formerID}
}

func (c *Call) restNumbers() [4]*int64 {
	return [...]*int64{&c.FirstTokenUS, &c.DurationUS, &c.OverheadUS, &c.OpenedUS}
}

// appendRest appends what nothing is selected by: bits of the texts that there are, the number of
// attempts, times, and the texts after their lengths. Numbers are varints.
func appendRest(b []byte, c *Call) []byte {
	var former string
	if _, ok := callNumber(c.ID); !ok {
		former = c.ID
	}
	texts := c.restTextsOf(&former)
	var has uint64
	for i, text := range texts {
		if *text != "" {
			has |= 1 << i
		}
	}
	b = binary.AppendUvarint(b, has)
	b = binary.AppendUvarint(b, uint64(c.Attempts))
	for _, n := range c.restNumbers() {
		b = binary.AppendUvarint(b, uint64(*n))
	}
	for _, text := range texts {
		if *text != "" {
			b = binary.AppendUvarint(b, uint64(len(*text)))
			b = append(b, *text...)
		}
	}
	return b
}

var errRest = errors.New("a row of the ledger is damaged")

// readRest reads what appendRest has written, and the id.
func (c *Call) readRest(rest []byte, id int64) error {
	u := unpacker{data: rest}
	has := u.number()
	c.Attempts = int(u.number())
	for _, n := range c.restNumbers() {
		*n = int64(u.number())
	}
	var former string
	for i, text := range c.restTextsOf(&former) {
		if has&(1<<i) != 0 {
			*text = string(u.take(u.count()))
		}
	}
	c.ID = cmp.Or(former, callIDText(id))
	if u.bad {
		return errRest
	}
	return nil
}

// callsOf are the calls of some rows.
func (s *Store) callsOf(db *gorm.DB, rows []ledgerRow) ([]Call, error) {
	texts := map[int64]string{}
	for i := range rows {
		for _, n := range rows[i].nameNumbers() {
			texts[n] = ""
		}
	}
	if err := s.texts(db, texts); err != nil {
		return nil, err
	}
	calls := make([]Call, len(rows))
	for i := range rows {
		if err := rows[i].into(&calls[i], texts); err != nil {
			return nil, err
		}
	}
	return calls, nil
}

func (r *ledgerRow) nameNumbers() rowNames {
	return rowNames{
		r.UserN, r.KeyN, r.TeamN, r.ProjectN, r.SessionN, r.ModelN, r.ServedN, r.ProviderN, r.AccountN, r.AgentN,
		r.UserAgentN, r.DialectN, r.OutcomeN, r.ErrorN,
	}
}

func (r *ledgerRow) into(c *Call, texts map[int64]string) error {
	c.BeganAt, c.Cost, c.Status, c.CacheMiss, c.RequestID = r.BeganAt, r.Cost, int(r.Status), int(r.CacheMiss), r.RequestID
	c.SessionN = r.SessionN
	c.Stream, c.Estimated, c.Priced = r.Flags&flagStream != 0, r.Flags&flagEstimated != 0, r.Flags&flagPriced != 0
	for i, n := range [...]int64{
		r.InputTokens, r.CachedTokens, r.CacheWriteTokens, r.CacheWriteHourTokens, r.OutputTokens, r.ReasoningTokens,
		r.Searches, r.Requests, r.Images, r.Seconds, r.Characters,
	} {
		*c.amounts()[i] = n
	}
	for i, text := range [...]*string{
		&c.UserID, &c.KeyID, &c.TeamID, &c.Project, &c.Session, &c.Model, &c.Served, &c.Provider, &c.Account, &c.Agent,
		&c.UserAgent, &c.Dialect, &c.Outcome, &c.ErrorCode,
	} {
		*text = texts[r.nameNumbers()[i]]
	}
	c.Model = cmp.Or(c.Model, c.Served)
	return c.readRest(r.Rest, r.ID)
}
