package litellm

import (
	"cmp"
	"math"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits are the columns that keys, users, teams and budgets have alike.
type Limits struct {
	MaxBudget   *float64 `json:"max_budget"` // dollars; nil = no budget
	Duration    string   `json:"budget_duration"`
	ResetAt     Time     `json:"budget_reset_at"`
	RPM         *int64   `json:"rpm_limit"` // nil = no limit; 0 refuses every call
	TPM         *int64   `json:"tpm_limit"`
	MaxParallel *int64   `json:"max_parallel_requests"`
}

// Owner is the columns that keys, users and teams have alike.
type Owner struct {
	Limits
	OrganizationID string         `json:"organization_id"`
	Spend          float64        `json:"spend"` // dollars, since the last reset
	Models         []string       `json:"models"`
	CreatedAt      Time           `json:"created_at"`
	Blocked        bool           `json:"blocked"`
	AccessGroups   []string       `json:"access_group_ids"`
	ModelBudgets   jsontext.Value `json:"model_max_budget"`
	BudgetLimits   jsontext.Value `json:"budget_limits"`
	Metadata       jsontext.Value `json:"metadata"`
}

// Key is a row of LiteLLM_VerificationToken.
type Key struct {
	Owner
	Token    string         `json:"token"` // SHA-256 of the key in hex
	Shown    string         `json:"key_name"`
	Alias    string         `json:"key_alias"`
	Expires  Time           `json:"expires"`
	UserID   string         `json:"user_id"`
	TeamID   string         `json:"team_id"`
	BudgetID string         `json:"budget_id"`
	Routes   []string       `json:"allowed_routes"`
	Aliases  jsontext.Value `json:"aliases"`
}

// Deprecated is the former secret of a key that was rotated, in its period of grace.
type Deprecated struct {
	Token    string `json:"token"`
	Active   string `json:"active_token_id"`
	RevokeAt Time   `json:"revoke_at"`
}

// User is a row of LiteLLM_UserTable.
type User struct {
	Owner
	ID    string   `json:"user_id"`
	Email string   `json:"user_email"`
	Alias string   `json:"user_alias"`
	Role  string   `json:"user_role"`
	Teams []string `json:"teams"`
}

// Team is a row of LiteLLM_TeamTable.
type Team struct {
	Owner
	ID        string         `json:"team_id"`
	Alias     string         `json:"team_alias"`
	Admins    []string       `json:"admins"`
	Members   []string       `json:"members"`
	WithRoles jsontext.Value `json:"members_with_roles"`
	AliasesID int64          `json:"model_id"` // of the team's own names of models; 0 = none
}

// Organization is a row of LiteLLM_OrganizationTable.
type Organization struct {
	ID       string   `json:"organization_id"`
	Alias    string   `json:"organization_alias"`
	BudgetID string   `json:"budget_id"`
	Models   []string `json:"models"`
	Spend    float64  `json:"spend"`
}

// Membership is a row of LiteLLM_TeamMembership: what a member spends in a team.
type Membership struct {
	UserID   string `json:"user_id"`
	TeamID   string `json:"team_id"`
	BudgetID string `json:"budget_id"`
}

// Budget is a row of LiteLLM_BudgetTable.
type Budget struct {
	Limits
	ID string `json:"budget_id"`
}

// AccessGroup is a row of LiteLLM_AccessGroupTable: a name for several models.
type AccessGroup struct {
	ID     string   `json:"access_group_id"`
	Name   string   `json:"access_group_name"`
	Models []string `json:"access_model_names"`
}

// ProxyModel is a row of LiteLLM_ProxyModelTable: an entry of model_list. The texts of Params are
// encrypted.
type ProxyModel struct {
	ID      string         `json:"model_id"`
	Name    string         `json:"model_name"`
	Params  jsontext.Value `json:"litellm_params"`
	Info    jsontext.Value `json:"model_info"`
	Blocked bool           `json:"blocked"`
}

// Credential is a row of LiteLLM_CredentialsTable. The texts of Values are encrypted.
type Credential struct {
	Name   string         `json:"credential_name"`
	Values jsontext.Value `json:"credential_values"`
}

// Setting is a row of LiteLLM_Config: a part of the configuration that was set in the UI.
type Setting struct {
	Name  string         `json:"param_name"`
	Value jsontext.Value `json:"param_value"`
}

// Daily is a row of LiteLLM_DailyUserSpend or LiteLLM_DailyTeamSpend.
type Daily struct {
	UserID      string  `json:"user_id"`
	TeamID      string  `json:"team_id"`
	Day         string  `json:"date"` // such as 2026-11-21
	Token       string  `json:"api_key"`
	Model       string  `json:"model"`
	Provider    string  `json:"custom_llm_provider"`
	Input       int64   `json:"prompt_tokens"`
	Output      int64   `json:"completion_tokens"`
	CacheRead   int64   `json:"cache_read_input_tokens"`
	CacheWrites int64   `json:"cache_creation_input_tokens"`
	Spend       float64 `json:"spend"`
	Requests    int64   `json:"api_requests"`
	Failed      int64   `json:"failed_requests"`
}

// Micros is an amount of dollars in micro-dollars, rounded once; at least 0, and at most 10^9 dollars.
func Micros(dollars float64) int64 {
	const most = 1e15
	return int64(min(max(math.Round(dollars*1e6), 0), most))
}

// Time is a column TIMESTAMP, which is in UTC; the zero Time where it is NULL. None is before 1970.
type Time struct{ time.Time }

// UnmarshalJSON reads the form of PostgreSQL's JSON.
func (t *Time) UnmarshalJSON(text []byte) (err error) {
	value := strings.Trim(string(text), `"`)
	if value == "null" {
		return nil
	}
	if t.Time, err = time.ParseInLocation("2006-01-02T15:04:05.999999999", value, time.UTC); err != nil { // a column with a zone
		t.Time, err = time.Parse(time.RFC3339Nano, value)
	}
	if first := time.UnixMicro(1).UTC(); err == nil && t.Before(first) {
		t.Time = first
	}
	return err
}

// Micro is the time in Unix microseconds; 0 for the zero Time.
func (t Time) Micro() int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// ProviderHere is the provider here with a name of LiteLLM.
func ProviderHere(name string) string {
	s := services()[name]
	if s.vendor() {
		return s.kind
	}
	return cmp.Or(s.preset, name)
}
