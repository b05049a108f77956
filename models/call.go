package models

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
	Estimated        bool  // at least some of the tokens are estimated
	Priced           bool  // false: the model has no price, and Cost is 0
	Cost             int64 // micro-dollars

	BeganAt      int64 // Unix microseconds; the call is summed under this UTC day
	FirstTokenUS int64 // microseconds until the first byte was sent to the client; 0 = none was
	DurationUS   int64 // microseconds until the call ended
	OverheadUS   int64 // microseconds of FirstTokenUS that were not spent waiting for a provider

	Holds [2]HoldKey `gorm:"-"` // the budgets that this is paid from
}

// HoldKey identifies the budget of an account in one of its windows.
type HoldKey struct {
	Account string // KeyAccount, or GatewayAccount; empty = no budget
	Since   string // first day of the window; empty = the window of all time
}

// GatewayAccount is the account of all spending.
const GatewayAccount = "gateway"

// KeyAccount is the account of a key's spending.
func KeyAccount(id string) string { return "key:" + id }

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

// TableName is the table of the ledger.
func (Call) TableName() string { return "calls" }
