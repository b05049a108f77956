// Package limit is the table of the limits of a key, a user or a team that are whole
// numbers. What stores, changes, checks and shows limits, and the settings for their
// defaults, range over this table: a new limit is a field and a row here, a column, and
// the code that enforces it. docs/adr/0033 has the list.
package limit

// Numbers has a value of type T for each limit: an int64 where limits are stored,
// a member of a request, or one of a response. Its JSON has the members in the
// order of the fields.
type Numbers[T any] struct {
	RPMLimit    T `json:"rpm_limit"`             // requests a minute, instead of the gateway's own limit
	TPMLimit    T `json:"tpm_limit"`             // tokens a minute
	MaxParallel T `json:"max_parallel_requests"` // calls at the same time
}

// Number is one of the limits, and its value in a Numbers.
type Number[T any] struct {
	Value   *T
	Name    string // member of JSON
	Column  string // of the tables of keys, users and teams
	Setting string // the end of its settings' names: DEFAULT_KEY_ and DEFAULT_USER_ precede it
	Doc     string // what is limited, for the setting
	Zero    string // what a setting of 0 means
}

// The bounds of every limit. A stored limit of 0 is none, as is a setting of 0 and
// null in JSON.
const (
	Min = 1
	Max = 1_000_000_000
)

// All is the table, in the order of the fields.
func (n *Numbers[T]) All() []Number[T] {
	return []Number[T]{
		{&n.RPMLimit, "rpm_limit", "rpm_limit", "RPM", "Requests a minute", "RATE_LIMIT_RPM"},
		{&n.TPMLimit, "tpm_limit", "tpm_limit", "TPM", "Tokens a minute", "unlimited"},
		{&n.MaxParallel, "max_parallel_requests", "max_parallel", "MAX_PARALLEL", "Calls in flight", "unlimited"},
	}
}

// Map returns f of each value.
func Map[A, B any](n Numbers[A], f func(A) B) Numbers[B] {
	var mapped Numbers[B]
	to := mapped.All()
	for i, from := range n.All() {
		*to[i].Value = f(*from.Value)
	}
	return mapped
}
