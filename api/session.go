package api

import "net/http"

// AgentSession is a session of agents: the calls of one owner that its client named alike.
type AgentSession struct {
	ID     string `json:"id"`
	Object string `json:"object"` // session
	Name   string `json:"name"`   // as the client names it

	UserID    Maybe `json:"user_id"`
	UserEmail Maybe `json:"user_email"` // as of a call

	UserDeletedAt *int64 `json:"user_deleted_at"`

	KeyID   Maybe `json:"key_id"` // of the first call, as the next three
	KeyName Maybe `json:"key_name"`
	Agent   Maybe `json:"agent"` // the program that called, such as claude-code
	Project Maybe `json:"project"`

	SessionPart `json:",inline"`
}

// SessionPart is what the calls of a session, or of one agent in it, come to.
type SessionPart struct {
	BeganAtMS  int64 `json:"began_at_ms"` // Unix time: when the first call began
	EndedAtMS  int64 `json:"ended_at_ms"` // when the call ended that began last
	DurationMS int64 `json:"duration_ms"` // between them

	UsageSums  `json:",inline"`
	CacheShare *float64 `json:"cache_share"` // cached tokens of the input tokens; null without input
	Models     []string `json:"models"`

	CacheMisses       int64 `json:"cache_misses"`        // calls that missed something in their provider's cache
	CacheMissedTokens int64 `json:"cache_missed_tokens"` // that they paid again
	CacheMissCostUSD  USD   `json:"cache_miss_cost_usd"` // more than they would have cost from the cache
}

// AgentSessionDetail is the answer of GET /v1/sessions/{id} and GET /admin/sessions/{id}.
type AgentSessionDetail struct {
	AgentSession `json:",inline"`
	Agents       []SessionAgent `json:"agents"` // parents first
}

// SessionAgent is the part of one agent in a session. The parts add up to the session.
type SessionAgent struct {
	AgentID       Maybe `json:"agent_id"` // as the client names it; null for the main agent
	ParentAgentID Maybe `json:"parent_agent_id"`
	Depth         int   `json:"depth"` // below the main agent

	SessionPart `json:",inline"`
}

// SessionNotFound answers for a session that is unknown, another caller's or not kept any more,
// all alike.
func SessionNotFound() *Error {
	return &Error{
		Status: http.StatusNotFound, Type: TypeInvalidRequest, Code: CodeSessionNotFound, Message: "there is no session with this id",
	}
}
