package api

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api/limit"
)

// Field is a member of a body where it matters whether it is there at all: with
// Named it was, and a nil Value then is its null.
type Field[T any] struct {
	Named bool
	Value *T
}

// UnmarshalJSONFrom reads the value, or null.
func (f *Field[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	f.Named = true
	return json.UnmarshalDecode(dec, &f.Value)
}

// KeyLimits are the members of a body that limit a key. Null is no limit of the
// kind; what is not named stays as it is.
type KeyLimits struct {
	ExpiresAt Field[int64]    `json:"expires_at"` // Unix seconds
	Models    Field[[]string] `json:"models"`
	limit.Numbers[Field[int64]]
	Budget        Field[USD]    `json:"budget_usd"`
	BudgetWindow  Field[string] `json:"budget_window"`
	BudgetExtra   Field[USD]    `json:"budget_extra_usd"`   // by which the budget is raised until budget_extra_until
	ExtraUntil    Field[int64]  `json:"budget_extra_until"` // Unix seconds
	SessionBudget Field[USD]    `json:"session_budget_usd"`
	BudgetReserve Field[string] `json:"budget_reserve"` // worst, or null: what the gateway reserves
}

// Any says whether a limit is named.
func (l *KeyLimits) Any() bool { return *l != KeyLimits{} }

// AnyLasting says whether a limit is named that does not end by itself, as an extra does.
func (l KeyLimits) AnyLasting() bool {
	l.BudgetExtra, l.ExtraUntil = Field[USD]{}, Field[int64]{}
	return l.Any()
}

// NewKey is the body of POST /auth/keys.
type NewKey struct {
	Name   string `json:"name"`
	TeamID string `json:"team_id"` // empty: in no team
	KeyLimits
}

// KeyChange is the body of PATCH /auth/keys/{key_id}.
type KeyChange struct {
	Name Field[string] `json:"name"`
	KeyLimits
}

// KeyRotation is the body of POST /auth/keys/{key_id}/rotate.
type KeyRotation struct {
	OverlapSeconds *int64 `json:"overlap_seconds"` // how long the former secret works; nil = a day
}

// AdminKeyChange is the body of PATCH /admin/keys/{key_id}.
type AdminKeyChange struct {
	KeyChange
	LimitedBy Field[string] `json:"limited_by"` // null gives the limits back to the owner
}

// Limits are the limits of a key, a user or a team as they are shown; nil is no limit of the kind.
type Limits struct {
	ExpiresAt *int64    `json:"expires_at"` // Unix seconds
	Models    *[]string `json:"models"`
	limit.Numbers[*int64]
	Budget        *USD    `json:"budget_usd"`
	BudgetWindow  *string `json:"budget_window"`
	BudgetExtra   *USD    `json:"budget_extra_usd"`   // by which the budget is raised until budget_extra_until
	ExtraUntil    *int64  `json:"budget_extra_until"` // Unix seconds; it may be over
	SessionBudget *USD    `json:"session_budget_usd"`
	BudgetReserve *string `json:"budget_reserve"` // worst, or nil: what the gateway reserves
}

// CreatedKey is the answer of POST /auth/keys, the only time the key is shown.
type CreatedKey struct {
	ID        string `json:"id"`
	Object    string `json:"object"` // api_key
	Name      string `json:"name"`
	Key       Maybe  `json:"key"`              // null while the key has no secret
	Pending   bool   `json:"pending,omitzero"` // it has none until its owner fetches one
	Link      string `json:"link,omitzero"`    // of a pending key: the page where its owner does
	Prefix    string `json:"prefix"`
	CreatedAt int64  `json:"created_at"` // Unix seconds
	Limits
	LimitedBy *string `json:"limited_by"` // admin, manager, or nil: the owner may change the limits
	UserID    Maybe   `json:"user_id"`    // null for a key of a team alone
	TeamID    Maybe   `json:"team_id"`    // null for a key in no team
}

// RotatedKey is the answer of POST /auth/keys/{key_id}/rotate, the only time the new
// secret is shown.
type RotatedKey struct {
	CreatedKey
	PreviousExpiresAt int64 `json:"previous_expires_at"` // Unix seconds
}

// Key is one entry of GET /auth/keys.
type Key struct {
	ID         string `json:"id"`
	Object     string `json:"object"` // api_key
	Name       string `json:"name"`
	Prefix     string `json:"prefix"`           // empty while the key has no secret
	Origin     string `json:"origin,omitzero"`  // litellm: it was taken over from there, and works as it did
	Pending    bool   `json:"pending,omitzero"` // it has none until its owner fetches one
	CreatedAt  int64  `json:"created_at"`       // Unix seconds
	LastUsedAt *int64 `json:"last_used_at"`     // Unix seconds, null when never
	Limits
	LimitedBy   *string `json:"limited_by"`           // admin, manager, or nil: the owner may change the limits
	PreviousEnd *int64  `json:"previous_expires_at"`  // Unix seconds, of the secret before the last rotation; null when it is over
	TeamID      Maybe   `json:"team_id"`              // null for a key in no team
	TeamName    Maybe   `json:"team_name"`            // null for a key in no team
	RevokedAt   *int64  `json:"revoked_at"`           // Unix seconds, null when it is not
	Calls       []int64 `json:"daily_calls,omitzero"` // of the last days (UTC), the oldest first; absent where not asked for
	Spend       USD     `json:"spend_usd"`            // since ever

	// Refused are the calls of today (UTC) that the gateway refused, by the code of the error; absent where not asked for.
	Refused map[string]int64 `json:"refused_today,omitzero"`

	BudgetState *KeyBudget `json:"budget"` // null without a budget
}

// KeyBudget is how a key's budget stands in its window.
type KeyBudget struct {
	Limit     USD    `json:"limit_usd"` // with what the budget is raised by now
	Spent     USD    `json:"spent_usd"`
	Remaining USD    `json:"remaining_usd"` // never below 0
	BeganAt   *int64 `json:"began_at"`      // Unix seconds, of the window; null when it does not end
	ResetsAt  *int64 `json:"resets_at"`     // Unix seconds, null when never
}

// GatewayBudget is the answer of GET /admin/budget.
type GatewayBudget struct {
	Object    string `json:"object"`        // budget
	Limit     *USD   `json:"limit_usd"`     // null without a budget
	Window    Maybe  `json:"window"`        // day, week, month or total; null without a budget
	Spent     USD    `json:"spent_usd"`     // in the window; without a budget in this month
	Remaining *USD   `json:"remaining_usd"` // null without a budget
	BeganAt   *int64 `json:"began_at"`      // Unix seconds, null for a window that does not end
	ResetsAt  *int64 `json:"resets_at"`     // likewise
}

// AccountBudget is an entry of GET /admin/budgets.
type AccountBudget struct {
	Kind string `json:"kind"` // key, team or user
	ID   string `json:"id"`
	Name string `json:"name"` // of a user the e-mail address
	GatewayBudget
}

// KeyDefaults are the limits of a new key whose creation names none.
type KeyDefaults struct {
	Limits
	ExpiryDays *int64 `json:"expiry_days"` // null: it does not expire
}

// KeyList is the answer of GET /auth/keys.
type KeyList struct {
	List[Key]
	Defaults *KeyDefaults `json:"defaults"` // of new keys
}
