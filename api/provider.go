package api

// ProviderList is the answer of GET /admin/providers.
type ProviderList struct {
	Object    string     `json:"object"`
	Replica   string     `json:"replica"` // whose state it is
	Since     int64      `json:"since"`   // Unix seconds; since then fallbacks are counted
	Data      []Provider `json:"data"`
	Fallbacks []Fallback `json:"fallbacks"`
}

// Provider is the present state of a provider in one replica.
type Provider struct {
	Name         string          `json:"name"`
	Type         string          `json:"type"`          // whose API it speaks
	Status       string          `json:"status"`        // healthy, degraded or unhealthy
	Configured   bool            `json:"configured"`    // without this it is unhealthy
	Setting      Maybe           `json:"setting"`       // that configures it; null for a provider of the models file
	Simulated    bool            `json:"simulated"`     // the gateway's simulator takes its place
	Circuit      string          `json:"circuit"`       // closed, open or half_open: of all keys together
	CircuitUntil *int64          `json:"circuit_until"` // Unix seconds, null unless it is open
	Keys         []ProviderKey   `json:"keys"`
	Models       int             `json:"models"` // that are listed and available
	LastHour     ProviderHour    `json:"last_hour"`
	Recent       []ProviderEvent `json:"recent"` // the latest first
}

// ProviderKey is the present state of a key of a provider.
type ProviderKey struct {
	Key        string    `json:"key"`    // its last characters
	State      string    `json:"state"`  // in_use, cooling_down or refused
	Reason     Maybe     `json:"reason"` // of the last two
	Until      *int64    `json:"until"`  // Unix seconds, null while it is in use
	Models     *[]string `json:"models"` // that it is not used for; null: all
	InFlight   int64     `json:"in_flight"`
	Calls      int64     `json:"last_hour_calls"`
	Circuit    string    `json:"circuit"`
	CircuitFor Maybe     `json:"circuit_for"` // all or one_caller; null unless the circuit is open
}

// ProviderHour is the traffic of a provider in the last hour.
type ProviderHour struct {
	Calls      int64           `json:"calls"`
	Failed     int64           `json:"failed"`
	Refused    int64           `json:"refused"` // for a rate limit or for the request; no failures
	FirstToken Percentiles     `json:"first_token_ms"`
	ByMinute   ProviderMinutes `json:"by_minute"`
}

// Percentiles are of times in milliseconds, null where there is none.
type Percentiles struct {
	P50 *int64 `json:"p50"`
	P95 *int64 `json:"p95"`
}

// ProviderMinutes are the calls that ended in each minute, the oldest first.
type ProviderMinutes struct {
	Times  []int64 `json:"times"` // Unix seconds of their beginnings
	Calls  []int64 `json:"calls"`
	Failed []int64 `json:"failed"`
}

// ProviderEvent is a change of a circuit or of a key.
type ProviderEvent struct {
	At     int64  `json:"at"`    // Unix seconds, of the latest one
	Since  int64  `json:"since"` // Unix seconds, of the first one
	Times  int    `json:"times"`
	Event  string `json:"event"`
	Key    string `json:"key"`
	Model  Maybe  `json:"model"` // null: all
	Detail string `json:"detail"`
}

// Fallback is how often one model answered in the place of another.
type Fallback struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Calls int64  `json:"calls"`
}
