package api

import "github.com/go-json-experiment/json/jsontext"

// ObjectAudit is the object of an AuditEntry.
const ObjectAudit = "audit_entry"

// AdminUser is a user as administrators see them.
type AdminUser struct {
	ID         string `json:"id"`
	Object     string `json:"object"` // user
	Email      string `json:"email"`
	Name       string `json:"name"`
	CreatedAt  int64  `json:"created_at"`   // Unix seconds
	DisabledAt *int64 `json:"disabled_at"`  // Unix seconds, null when not
	LastUsedAt *int64 `json:"last_used_at"` // Unix seconds, of a token; null when never
	Verified   bool   `json:"verified"`     // the address was proven to be the user's
	Admin      bool   `json:"admin"`

	SignIn []string `json:"sign_in"` // password, identity_provider
	Limits
	Teams       []UserTeam `json:"teams"`
	Keys        int64      `json:"keys"`      // live ones
	Spend       USD        `json:"spend_usd"` // since ever
	BudgetState *KeyBudget `json:"budget"`    // null without a budget
}

// UserTeam is a team of a user.
type UserTeam struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Role string `json:"role"`
}

// NewUser is the body of POST /admin/users.
type NewUser struct {
	Email    string `json:"email"`
	Name     string `json:"name"`
	Password string `json:"password"` // empty: the answer has a link with which the user sets one
	Admin    bool   `json:"admin"`
	TeamID   string `json:"team_id"` // empty: in no team
	Role     string `json:"role"`    // in the team; empty: member
	KeyLimits
	Key    *NewKey `json:"key"`    // a first key; nil: none
	Reveal bool    `json:"reveal"` // the administrator is shown its secret
}

// CreatedUser is the answer of POST /admin/users.
type CreatedUser struct {
	AdminUser
	Key  *CreatedKey `json:"key"`  // null without a first key
	Link *Link       `json:"link"` // null with a password
}

// Link is a link for one use. The only answer with its address is the one that made it.
type Link struct {
	URL       *string `json:"url"`        // null when it was mailed
	ExpiresAt int64   `json:"expires_at"` // Unix seconds
}

// NewInvitation is the body of POST /admin/invitations. Those of a team have the team
// in their path.
type NewInvitation struct {
	Email  string `json:"email"`   // empty: any person who has the link
	TeamID string `json:"team_id"` // empty: no team
	Role   string `json:"role"`    // in the team; empty: member
}

// Invitation is an invitation that is neither used nor over.
type Invitation struct {
	ID        string `json:"id"`
	Object    string `json:"object"`  // invitation
	Email     Maybe  `json:"email"`   // null for any person
	TeamID    Maybe  `json:"team_id"` // null for no team
	TeamName  Maybe  `json:"team_name"`
	Role      Maybe  `json:"role"`       // null for no team
	CreatedBy Maybe  `json:"created_by"` // id of the user; null for the command line

	CreatedByEmail Maybe `json:"created_by_email"` // null for the command line, and for a user who was deleted

	CreatedAt int64 `json:"created_at"` // Unix seconds
	ExpiresAt int64 `json:"expires_at"` // Unix seconds
}

// CreatedInvitation is the answer of POST /admin/invitations.
type CreatedInvitation struct {
	Invitation
	URL *string `json:"url"` // null when it was mailed
}

// UserChange is the body of PATCH /admin/users/{user_id}.
type UserChange struct {
	Name     Field[string] `json:"name"`
	Disabled *bool         `json:"disabled"`
	Admin    *bool         `json:"admin"`
	KeyLimits
}

// Erasure is the body of POST /admin/users/{user_id}/erase, which may be left out.
type Erasure struct {
	Delete bool `json:"delete"` // deletes a user who is still there first
}

// AdminNewKey is the body of POST /admin/keys: UserID, TeamID or both are named.
type AdminNewKey struct {
	NewKey
	UserID string `json:"user_id"`
	Reveal bool   `json:"reveal"` // the administrator is shown the secret of a user's key
}

// AdminKeyRotation is the body of POST /admin/keys/{key_id}/rotate.
type AdminKeyRotation struct {
	KeyRotation
	Reveal bool `json:"reveal"` // as of a new key
}

// AdminKey is a key as administrators and managers see it.
type AdminKey struct {
	Key
	UserID    Maybe `json:"user_id"` // null for a key of a team alone
	UserEmail Maybe `json:"user_email"`
}

// AuditEntry is one entry of GET /admin/audit.
type AuditEntry struct {
	ID         string         `json:"id"`
	Object     string         `json:"object"` // audit_entry
	At         int64          `json:"at"`     // Unix seconds
	ActorID    string         `json:"actor_id"`
	ActorEmail string         `json:"actor_email"`
	ActorName  Maybe          `json:"actor_name"` // today's; null for none
	Action     string         `json:"action"`
	Target     string         `json:"target"`      // id of what was changed
	TargetName Maybe          `json:"target_name"` // today's name or e-mail address; null for what is no more
	Detail     jsontext.Value `json:"detail"`
	RequestID  string         `json:"request_id"`
	Address    string         `json:"address"`
}

// AuditList is the answer of GET /admin/audit.
type AuditList struct {
	Object    string       `json:"object"`
	Data      []AuditEntry `json:"data"`
	HasMore   bool         `json:"has_more"`
	NextAfter Maybe        `json:"next_after"` // id after which the next page begins; null for none
}
