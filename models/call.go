package models

import (
	"crypto/sha256"
	"encoding/hex"
)

// Call is one row of the ledger: an admitted call and how it ended. It contains no
// text of a prompt or an answer.
type Call struct {
	ID        string // from CallID; a client may send the same RequestID twice
	RequestID string
	UserID    string // empty for a call without credentials
	KeyID     string // empty without a key
	Model     string // as requested
	Served    string // the catalogue's id of the model that answered, or was tried last
	Provider  string // the one that answered, or was tried last

	UpstreamRequestID string // the provider's, for its support; empty where it gave none

	Stream    bool
	Attempts  int    // requests to providers
	Status    int    // HTTP status of the response; 499 when the client had disconnected before
	Outcome   string // one of the Outcome constants
	ErrorCode string // of the error that the client was sent, or would have been sent

	InputTokens      int64 // cached ones included
	CachedTokens     int64
	CacheWriteTokens int64
	OutputTokens     int64 // reasoning included
	ReasoningTokens  int64

	CacheWriteHourTokens int64 // of CacheWriteTokens: kept for an hour
	Searches             int64 // of the web, by the provider
	Requests             int64 // that the provider charges beside their tokens
	Images               int64 // in the answer, where they are paid by number
	Seconds              int64 // of sound or video, where they are paid by length
	Characters           int64 // where they are paid in place of tokens

	Estimated bool  // at least some of the tokens are estimated
	Priced    bool  // false: the model has no price, and Cost is 0
	Cost      int64 // micro-dollars

	BeganAt      int64 // Unix microseconds; the call is summed under this UTC day
	FirstTokenUS int64 // microseconds until the first byte was sent to the client; 0 = none was
	DurationUS   int64 // microseconds until the call ended
	OverheadUS   int64 // microseconds of FirstTokenUS that were not spent waiting for a provider

	TeamID string // of the key; empty without a team

	Dialect     string // the API that the client spoke
	UserAgent   string // the client's name for itself
	UpstreamKey string // the last four characters of the key that answered, or was tried last
	OpenedUS    int64  // microseconds until the first provider was asked; 0 = none was
	Detail      string // JSON of what only some calls have; empty = nothing

	Project       string // as the client names it
	Session       string // the same: a session belongs to the caller
	AgentID       string // the same: of the agent inside of the session that made the call
	ParentAgentID string // the same: of the agent that started it
	Agent         string // the program that made the call, such as claude-code; empty where it is not known
	Account       string // of the provider that answered; empty where it has one only
	CacheMiss     int    // one of the Cache constants; 0 = it is not known

	SessionN int64 `gorm:"-"` // the number of the session; 0 without one, and before the row is read

	Details *CallDetail `gorm:"-"` // nil = nothing; Clean makes Detail of it

	Holds Holds `gorm:"-"` // the budgets that this is paid from
}

// Holds are the budgets that a call is paid from, one at each level: of its key, its
// user, its team, the gateway and its session. Empty ones follow the others.
type Holds [5]HoldKey

// HoldKey identifies the budget of an account in one of its windows.
type HoldKey struct {
	Account string // KeyAccount, UserAccount, TeamAccount, GatewayAccount or SessionAccount; empty = no budget
	Since   string // first day of the window; empty = the window of all time
}

// GatewayAccount is the account of all spending.
const GatewayAccount = "gateway"

// KeyAccount is the account of a key's spending.
func KeyAccount(id string) string { return "key:" + id }

// UserAccount is the account of a user's spending, with any key or none.
func UserAccount(id string) string { return "user:" + id }

// TeamAccount is the account of the spending with a team's keys.
func TeamAccount(id string) string { return "team:" + id }

const sessionAccounts = "session:"

// SessionAccount is the account of what a session of a caller has spent while it had a session budget.
// It has no text of the client, which may name a person.
func SessionAccount(caller, session string) string {
	hash := sha256.Sum256([]byte(caller + " " + session))
	return sessionAccounts + hex.EncodeToString(hash[:sha256.Size/2])
}

// The outcomes of a call.
const (
	OutcomeOK       = "ok"
	OutcomeClient   = "client_gone"    // the client disconnected before the end
	OutcomeRefused  = "refused"        // a provider rejected the request, or limited its rate
	OutcomeFailed   = "provider_error" // a provider failed, or ended its answer early
	OutcomeTimeout  = "timeout"        // a provider took too long
	OutcomeStopped  = "stopped"        // the gateway was shut down
	OutcomeInternal = "internal_error" // an error of the gateway
	OutcomeLost     = "lost"           // the replica died, or lost its lease, before the call ended
)

// Outcomes are all outcomes of calls.
func Outcomes() []string {
	return []string{
		OutcomeOK, OutcomeClient, OutcomeRefused, OutcomeFailed, OutcomeTimeout, OutcomeStopped, OutcomeInternal, OutcomeLost,
	}
}

// Result is the result of the attempt that answered a call.
func (c *Call) Result() string {
	switch c.Outcome {
	case OutcomeOK:
		return AttemptServed
	case OutcomeClient:
		return AttemptAbandoned
	}
	return AttemptFailed
}

// TableName is the table of the ledger.
func (Call) TableName() string { return "calls" }
