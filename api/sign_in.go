package api

import "github.com/go-json-experiment/json/jsontext"

// OAuthServer is the description of the sign-in (RFC 8414).
type OAuthServer struct {
	Issuer                string   `json:"issuer"`
	DeviceEndpoint        string   `json:"device_authorization_endpoint"`
	TokenEndpoint         string   `json:"token_endpoint"`
	RevocationEndpoint    string   `json:"revocation_endpoint"`
	GrantTypes            []string `json:"grant_types_supported"`
	TokenAuthMethods      []string `json:"token_endpoint_auth_methods_supported"`
	RevocationAuthMethods []string `json:"revocation_endpoint_auth_methods_supported"`
	ResponseTypes         []string `json:"response_types_supported"` // none: there is no authorization endpoint
}

// DeviceAuthorization are the codes with which a program is signed in (RFC 8628, 3.2).
type DeviceAuthorization struct {
	DeviceCode              string `json:"device_code"`
	UserCode                string `json:"user_code"`
	VerificationURI         string `json:"verification_uri"`
	VerificationURIComplete string `json:"verification_uri_complete"`
	ExpiresIn               int64  `json:"expires_in"` // seconds
	Interval                int64  `json:"interval"`   // seconds
}

// OAuthTokens are those of a program that is signed in.
type OAuthTokens struct {
	AccessToken  string `json:"access_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int64  `json:"expires_in"` // seconds
	RefreshToken string `json:"refresh_token"`
	Email        string `json:"email"` // of the user; an extension
}

// DeviceAnswer is what a user says to the code of a program.
type DeviceAnswer struct {
	UserCode string `json:"user_code"`
	TeamID   string `json:"team_id"` // empty: none
	Approve  *bool  `json:"approve"`
}

// DeviceWish is a program that asks to be signed in, as its user sees it.
type DeviceWish struct {
	Object    string `json:"object"`
	Client    string `json:"client"`
	Address   string `json:"address"`
	CreatedAt int64  `json:"created_at"`
	ExpiresAt int64  `json:"expires_at"`
}

// SignIn is a program that is signed in.
type SignIn struct {
	ID          string `json:"id"`
	Object      string `json:"object"`
	UserID      string `json:"user_id"`
	Email       string `json:"email"`
	TeamID      Maybe  `json:"team_id"`
	TeamName    Maybe  `json:"team_name"`
	Client      string `json:"client"`
	Address     string `json:"address"`
	CreatedAt   int64  `json:"created_at"`
	RefreshedAt int64  `json:"refreshed_at"`
	ExpiresAt   int64  `json:"expires_at"`
}

// ManagedSettings are those of Claude Code where it is signed in.
type ManagedSettings struct {
	UUID     string         `json:"uuid"`
	Checksum string         `json:"checksum"`
	Settings jsontext.Value `json:"settings"`
}

// AgentSettings are what administrators have set for the agents of a team, or of all teams without any.
type AgentSettings struct {
	Object    string         `json:"object"`
	TeamID    Maybe          `json:"team_id"`
	Settings  jsontext.Value `json:"settings"` // null: nothing is set
	ChangedAt *int64         `json:"changed_at"`
}

// NewAgentSettings are settings to set.
type NewAgentSettings struct {
	Settings jsontext.Value `json:"settings"`
}

// OAuthUsage is what a signed-in program has spent, as Claude Code reads it.
type OAuthUsage struct {
	Extra  ExtraUsage `json:"extra_usage"`
	Limits []UsageCap `json:"limits"`
}

// ExtraUsage is the fullest budget. Amounts are cents.
type ExtraUsage struct {
	Enabled     bool        `json:"is_enabled"`
	Limit       *float64    `json:"monthly_limit"` // of a period of any length; null: no budget
	Used        float64     `json:"used_credits"`
	Utilization *int64      `json:"utilization"` // percent
	Currency    string      `json:"currency"`
	Daily       *PeriodUsed `json:"daily,omitempty"`  // without a budget
	Weekly      *PeriodUsed `json:"weekly,omitempty"` // likewise
}

// PeriodUsed is what was spent in a period that has no budget, in cents.
type PeriodUsed struct {
	Limit       *float64 `json:"limit"`
	Used        float64  `json:"used_credits"`
	Utilization *int64   `json:"utilization"`
}

// UsageCap is one budget.
type UsageCap struct {
	Kind     string `json:"kind"`
	Group    string `json:"group"` // daily, weekly, monthly
	Percent  int64  `json:"percent"`
	ResetsAt string `json:"resets_at"`
	Severity string `json:"severity"`
	Active   bool   `json:"is_active"` // the budget of extra_usage
}
