package api

import "github.com/go-json-experiment/json/jsontext"

// ObjectAudit is the object of an AuditEntry.
const ObjectAudit = "audit_entry"

// AdminUser is one entry of GET /admin/users.
type AdminUser struct {
	ID         string `json:"id"`
	Object     string `json:"object"` // user
	Email      string `json:"email"`
	Name       string `json:"name"`
	CreatedAt  int64  `json:"created_at"`  // Unix seconds
	DisabledAt *int64 `json:"disabled_at"` // Unix seconds, null when not
	Admin      bool   `json:"admin"`
	Keys       int64  `json:"keys"`      // live ones
	Spend      USD    `json:"spend_usd"` // since ever
}

// AdminUserList is the answer of GET /admin/users.
type AdminUserList struct {
	Object  string      `json:"object"`
	Data    []AdminUser `json:"data"`
	HasMore bool        `json:"has_more"`
}

// UserChange is the body of PATCH /admin/users/{user_id}.
type UserChange struct {
	Disabled *bool `json:"disabled"`
}

// AdminKey is one entry of GET /admin/keys.
type AdminKey struct {
	Key
	UserID    string `json:"user_id"`
	UserEmail string `json:"user_email"`
}

// AdminKeyList is the answer of GET /admin/keys.
type AdminKeyList struct {
	Object  string     `json:"object"`
	Data    []AdminKey `json:"data"`
	HasMore bool       `json:"has_more"`
}

// AuditEntry is one entry of GET /admin/audit.
type AuditEntry struct {
	ID         string         `json:"id"`
	Object     string         `json:"object"` // audit_entry
	At         int64          `json:"at"`     // Unix seconds
	ActorID    string         `json:"actor_id"`
	ActorEmail string         `json:"actor_email"`
	Action     string         `json:"action"`
	Target     string         `json:"target"` // id of the user or the key
	Detail     jsontext.Value `json:"detail"`
	RequestID  string         `json:"request_id"`
	Address    string         `json:"address"`
}

// AuditList is the answer of GET /admin/audit.
type AuditList struct {
	Object  string       `json:"object"`
	Data    []AuditEntry `json:"data"`
	HasMore bool         `json:"has_more"`
}
