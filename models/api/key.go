package api

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/models/limit"
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
	Budget       Field[USD]    `json:"budget_usd"`
	BudgetWindow Field[string] `json:"budget_window"`
}

// Any says whether a limit is named.
func (l *KeyLimits) Any() bool { return *l != KeyLimits{} }

// NewKey is the body of POST /auth/keys.
type NewKey struct {
	Name string `json:"name"`
	KeyLimits
}

// KeyChange is the body of PATCH /auth/keys/{key_id}.
type KeyChange struct {
	Name Field[string] `json:"name"`
	KeyLimits
}

// AdminKeyChange is the body of PATCH /admin/keys/{key_id}.
type AdminKeyChange struct {
	KeyChange
	LimitedBy Field[string] `json:"limited_by"` // null gives the limits back to the owner
}

// Limits are a key's limits as they are shown; nil is no limit of the kind.
type Limits struct {
	ExpiresAt *int64    `json:"expires_at"` // Unix seconds
	Models    *[]string `json:"models"`
	limit.Numbers[*int64]
	Budget       *USD    `json:"budget_usd"`
	BudgetWindow *string `json:"budget_window"`
	LimitedBy    *string `json:"limited_by"` // admin, or nil: the owner may change them
}

// CreatedKey is the answer of POST /auth/keys, the only time the key is shown.
type CreatedKey struct {
	ID        string `json:"id"`
	Object    string `json:"object"` // api_key
	Name      string `json:"name"`
	Key       string `json:"key"`
	Prefix    string `json:"prefix"`
	CreatedAt int64  `json:"created_at"` // Unix seconds
	Limits
}

// Key is one entry of GET /auth/keys.
type Key struct {
	ID         string `json:"id"`
	Object     string `json:"object"` // api_key
	Name       string `json:"name"`
	Prefix     string `json:"prefix"`
	CreatedAt  int64  `json:"created_at"`   // Unix seconds
	LastUsedAt *int64 `json:"last_used_at"` // Unix seconds, null when never
	Limits
	Spend       USD        `json:"spend_usd"` // since ever
	BudgetState *KeyBudget `json:"budget"`    // null without a budget
}

// KeyBudget is how a key's budget stands in its window.
type KeyBudget struct {
	Spent     USD    `json:"spent_usd"`
	Remaining USD    `json:"remaining_usd"` // never below 0
	ResetsAt  *int64 `json:"resets_at"`     // Unix seconds, null when never
}

// KeyList is the answer of GET /auth/keys.
type KeyList struct {
	Object string `json:"object"`
	Data   []Key  `json:"data"`
}
