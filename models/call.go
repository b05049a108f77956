package models

// Call is one row of the ledger: an admitted call and how it ended. No text of
// a prompt or an answer is in it.
type Call struct {
	ID        string // ours, begins with the time; a client may repeat a RequestID
	RequestID string
	UserID    string // empty when nobody said who they are
	KeyID     string // empty without a key
	Model     string // that was asked for
	Served    string // the catalogue's id of the model that answered, or was tried last
	Provider  string // that answered, or was tried last
	Stream    bool
	Attempts  int    // calls of providers
	Status    int    // HTTP, as the client was told; 499 when it had left before
	Outcome   string // one of the Outcome constants
	ErrorCode string // of the error the client was told, or would have been

	InputTokens      int64 // cached ones included
	CachedTokens     int64
	CacheWriteTokens int64
	OutputTokens     int64 // reasoning included
	ReasoningTokens  int64
	Estimated        bool  // the tokens are, at least in part, our own estimate
	Priced           bool  // false: nobody knows what the model costs, and Cost is 0
	Cost             int64 // micro-dollars

	BeganAt      int64 // Unix microseconds; its UTC day is the day it counts for
	FirstTokenUS int64 // microseconds until something was sent to the client; 0 = nothing was
	DurationUS   int64 // microseconds until the call ended
	OverheadUS   int64 // of the time until something was sent, what was not spent waiting for a provider

	Holds [2]Hold `gorm:"-"` // the budgets this is paid from
}

// Hold names a budget in one of its windows.
type Hold struct {
	Account string // AccountOfKey, or AccountOfAll; empty = no budget
	Since   string // first day of the window; empty = since ever
}

// AccountOfAll is the account of all spending.
const AccountOfAll = "gateway"

// AccountOfKey is the account of a key's spending.
func AccountOfKey(id string) string { return "key:" + id }

// The outcomes of a call.
const (
	OutcomeOK       = "ok"
	OutcomeClient   = "client_gone"    // the client left before the end
	OutcomeRefused  = "refused"        // a provider did not want the request, or had no room for it
	OutcomeFailed   = "provider_error" // a provider failed, or broke off
	OutcomeTimeout  = "timeout"        // a provider took too long
	OutcomeStopped  = "stopped"        // the gateway itself ended it, when it stopped
	OutcomeInternal = "internal_error" // our own fault
)

// TableName is the table of the ledger.
func (Call) TableName() string { return "calls" }
