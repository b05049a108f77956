package api

import "net/http"

// Call is a call in the ledger. Times are in milliseconds, with microseconds behind the point.
type Call struct {
	ID        string `json:"id"`
	Object    string `json:"object"` // call
	RequestID string `json:"request_id"`
	BeganAtMS int64  `json:"began_at_ms"` // Unix time

	UserID    Maybe `json:"user_id"`
	UserEmail Maybe `json:"user_email"` // of a deleted user: the last one for administrators, else null

	UserDeletedAt *int64 `json:"user_deleted_at"` // Unix seconds, where user_email is of a deleted user; null for others

	KeyID    Maybe `json:"key_id"`
	KeyName  Maybe `json:"key_name"`
	TeamID   Maybe `json:"team_id"`
	TeamName Maybe `json:"team_name"` // null for a deleted team

	Dialect     Maybe  `json:"dialect"` // null for calls of former releases
	Model       string `json:"model"`   // as requested
	ServedModel Maybe  `json:"served_model"`
	Provider    Maybe  `json:"provider"`
	Stream      bool   `json:"stream"`
	Status      int    `json:"status"`
	Outcome     string `json:"outcome"`
	ErrorCode   Maybe  `json:"error_code"`
	Attempts    int    `json:"attempts"`

	InputTokens      int64 `json:"input_tokens"`
	CachedTokens     int64 `json:"cached_tokens"`
	CacheWriteTokens int64 `json:"cache_write_tokens"`
	OutputTokens     int64 `json:"output_tokens"`
	ReasoningTokens  int64 `json:"reasoning_tokens"`
	Estimated        bool  `json:"estimated"`
	Priced           bool  `json:"priced"`
	CostUSD          USD   `json:"cost_usd"`
	OtherAmounts     `json:",inline"`

	Project       Maybe `json:"project,omitzero"`         // as the client names it
	Session       Maybe `json:"session,omitzero"`         // the same
	SessionID     Maybe `json:"session_id,omitzero"`      // of GET /v1/sessions/{id}
	AgentID       Maybe `json:"agent_id,omitzero"`        // the same: of the agent inside of the session
	ParentAgentID Maybe `json:"parent_agent_id,omitzero"` // the same: of the agent that started it
	Agent         Maybe `json:"agent,omitzero"`           // the program that called, such as claude-code
	Account       Maybe `json:"account,omitzero"`         // of the provider, where it has several

	FirstTokenMS *float64 `json:"first_token_ms"` // null when nothing was sent
	DurationMS   float64  `json:"duration_ms"`
	OverheadMS   float64  `json:"overhead_ms"`

	UpstreamRequestID Maybe `json:"upstream_request_id"`
}

// CallDetail is the answer of GET /v1/calls/{id} and its like.
type CallDetail struct {
	Call              `json:",inline"`
	AttemptList       []CallAttempt `json:"attempt_list"`
	IgnoredParameters []string      `json:"ignored_parameters"`
	UserAgent         Maybe         `json:"user_agent"`
	Costs             []CallCost    `json:"costs"`
	ProviderMessage   Maybe         `json:"provider_message"` // of a call that failed; its account's for administrators alone
	Content           string        `json:"content"`          // one of the Content constants
	Cache             *CallCache    `json:"cache,omitzero"`   // of a call of a session; absent where it is not known
}

// CallCache is what the provider's prompt cache had of the prompt that a call has in common with
// the last call of its session.
type CallCache struct {
	Verdict      string  `json:"verdict"`
	Part         Maybe   `json:"part"`    // that changed: tools, system or message
	Message      *int    `json:"message"` // its index
	Role         Maybe   `json:"role"`    // of the message
	PrefixKept   float64 `json:"prefix_kept"`
	MissedTokens int64   `json:"missed_tokens"`
	CostUSD      USD     `json:"cost_usd"`
}

// What is kept of the content of a call.
const (
	ContentOff    = "off"    // the gateway keeps none
	ContentNone   = "none"   // it is not kept, or not any more
	ContentStored = "stored" // it can be read
)

// CallAttempt is one request to a provider.
type CallAttempt struct {
	Provider     string   `json:"provider"`
	Model        string   `json:"model"`
	Key          Maybe    `json:"key"` // the last characters of the provider's; null for all but administrators
	StartMS      float64  `json:"start_ms"`
	FirstTokenMS *float64 `json:"first_token_ms"` // after its start; null when no event of a stream came
	DurationMS   float64  `json:"duration_ms"`
	Status       *int     `json:"status"` // of the provider's answer; null when none came
	ErrorCode    Maybe    `json:"error_code"`
	Result       string   `json:"result"` // served, failed or abandoned
}

// CallCost is a part of the cost of a call.
type CallCost struct {
	What          string `json:"what"`
	Amount        int64  `json:"amount"`
	Unit          string `json:"unit"` // such as token or image
	USDPerMillion USD    `json:"usd_per_million"`
	CostUSD       USD    `json:"cost_usd"`
}

// Refusal is a call with a known key that the gateway refused.
type Refusal struct {
	ID        string `json:"id"`
	Object    string `json:"object"` // refusal
	RequestID string `json:"request_id"`
	AtMS      int64  `json:"at_ms"` // Unix time

	UserID    Maybe `json:"user_id"`
	UserEmail Maybe `json:"user_email"` // as of a call

	UserDeletedAt *int64 `json:"user_deleted_at"` // likewise

	KeyID    string `json:"key_id"`
	KeyName  Maybe  `json:"key_name"`
	TeamID   Maybe  `json:"team_id"`
	TeamName Maybe  `json:"team_name"`

	Status  int    `json:"status"`
	Reason  string `json:"reason"` // the code of the error
	Model   Maybe  `json:"model"`  // as requested; null where it was refused before the request was read
	Message string `json:"message"`
}

// ObjectCall is the object of a Call.
const ObjectCall = "call"

// CallNotFound answers for a call that is unknown, another caller's or not kept any more, all
// alike.
func CallNotFound(message string) *Error {
	return &Error{
		Status: http.StatusNotFound, Type: TypeInvalidRequest, Code: CodeCallNotFound, Message: message,
	}
}

// CallContent is the answer of GET /v1/calls/{id}/content and its like.
type CallContent struct {
	Object           string `json:"object"`  // call_content
	Request          string `json:"request"` // the body, as the client sent it
	RequestTruncated bool   `json:"request_truncated"`
	Answer           string `json:"answer"` // the bytes that the client was sent
	AnswerTruncated  bool   `json:"answer_truncated"`
	ExpiresAt        int64  `json:"expires_at"` // Unix seconds
}

// ObjectCallContent is the object of a CallContent.
const ObjectCallContent = "call_content"
