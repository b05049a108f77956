package faults

import (
	"slices"
	"testing"
	"time"

	"modelgateway/services/pool"
)

// The parts that can fail. The first three are the providers, by their names in
// health and errors and in the order of models.
var parts = []string{"openai", "anthropic", "gemini", "postgres", "redis"}

// faults are those of the matrix. The slow one comes first: health remembers
// failures for a minute, and a slow part has none of its own.
var faults = []Fault{Slow, Refuse, Freeze, Reset, Truncate, Garble}

// moment is when the fault begins.
type moment string

const (
	atStart  moment = "at the start" // before the gateway starts
	idle     moment = "idle"         // without calls; calls follow
	underWay moment = "under load"   // during answers and streams, which continue
)

var moments = []moment{atStart, idle, underWay}

// combination is one of the matrix.
type combination struct {
	part   string
	fault  Fault
	moment moment
}

func (c combination) String() string {
	return c.part + " " + c.fault.String() + " " + string(c.moment)
}

// expectation is the expected effect of a combination. In every one calls that
// do not need the part are answered completely with 200; no incomplete stream
// is shown as complete; every refusal is an error of the gateway with
// x-should-retry; and health answers at once.
type expectation struct {
	reason string

	needs    []int         // what chats that need the part may be answered with
	accounts []int         // what logins and lists of keys may be answered with
	known    time.Duration // for how long a caller who was there before the fault may still get a 200
	cut      bool          // a stream that needs the part may break off, and then says so
	garbled  bool          // what a 200 brings may be other text than what was sent
	longest  time.Duration // no call that needs the part takes longer

	otherLongest time.Duration // no call that does not need the part takes longer
	typical      time.Duration // half of the answers that do not need the part take no longer; 0: no demand
	limit        float64       // how often its limit a caller may use within the minute; 0: not tried

	says   []string      // one of these health comes to say of the part; none: no demand
	whole  string        // what it then says of the whole
	within time.Duration // of the fault, or of the start

	back   time.Duration // after its end everything is as before
	rested time.Duration // the same where a circuit had opened meanwhile
}

const (
	second = time.Second

	// The gateways of the matrix wait for a second for the header and for two
	// inside a stream or an answer, and try a call three times: at most seven
	// seconds with the pauses between, and room for a busy machine.
	afterTimeOuts = 9 * second
	afterTries    = 4 * second // three tries that fail at once, with their pauses

	// A query has two seconds and a credential nine tenths of one.
	afterQuery = 3 * second

	apart = 3 * second // what has nothing to do with the part takes a tenth of it, but for a busy machine

	recovered = 5 * second
	// A garbled length may delay an attempt to migrate the schema for as long as a
	// connection may take to be made.
	afterTry = recovered + 5*second
	circuit  = 15 * second // its pause of ten, a probe, and what any recovery may take
)

var (
	served    = []int{200}
	failed    = []int{502, 503} // 503: the circuit has opened
	late      = []int{503, 504}
	either    = []int{200, 502, 503}
	anyStatus = []int{200, 400, 404, 413, 422, 429, 502, 503, 504} // never 401, which would be the caller's
	without   = []int{503}
	perhaps   = []int{200, 503}
	// Without TLS a garbled revocation, expiry, limit or stored hash cannot be detected.
	rewritten = []int{200, 401, 403, 429, 503}

	healthy  = []string{pool.Healthy}
	weak     = []string{pool.Degraded, pool.Unhealthy}
	down     = []string{pool.Unhealthy}
	degraded = pool.Degraded
)

// faultAt is a fault at a moment, of any part.
type faultAt struct {
	fault  Fault
	moment moment
}

// expected is the matrix: the table of the providers applies to each of them.
func expected() map[combination]expectation {
	all := map[combination]expectation{}
	for _, p := range parts {
		table := providerFaults
		switch p {
		case "postgres":
			table = postgresFaults
		case "redis":
			table = redisFaults
		}
		for at, e := range table {
			all[combination{p, at.fault, at.moment}] = e
		}
	}
	return all
}

// chosen are the combinations of this run: all, or each fault of each part once,
// at moments that take turns so that each comes up with every part.
func chosen(whole bool) []combination {
	var list []combination
	for i, p := range parts {
		for j, f := range faults {
			for k, m := range moments {
				if whole || (i+j)%len(moments) == k {
					list = append(list, combination{p, f, m})
				}
			}
		}
	}
	return list
}

func TestEveryCombinationHasAnExpectation(t *testing.T) {
	const least = 60
	table := expected()
	all := chosen(true)
	if n := len(all); n < least || n != len(table) || n != len(parts)*len(faults)*len(moments) {
		t.Errorf("%d combinations, %d expectations", n, len(table))
	}
	reasons := map[string]faultAt{}
	for _, c := range all {
		e := table[c]
		if len(e.reason) < 40 || e.otherLongest == 0 || e.back == 0 || e.needs == nil && e.typical == 0 {
			t.Errorf("%v: next to nothing is expected: %+v", c, e)
		}
		if slices.Contains(e.needs, 401) && c.fault != Garble || slices.Contains(e.needs, 500) {
			t.Errorf("%v: expected to fail as it must not", c)
		}
		at := faultAt{c.fault, c.moment}
		if other, ok := reasons[e.reason]; ok && other != at {
			t.Errorf("%v: copied from %v", c, other)
		}
		reasons[e.reason] = at
	}
	few, seen := chosen(false), map[any]int{}
	for _, c := range few {
		seen[c.part]++
		seen[c.fault]++
		seen[c.moment]++
		seen[faultAt{c.fault, c.moment}]++
	}
	if len(few) != len(parts)*len(faults) || len(seen) != len(parts)+len(faults)+len(moments)+len(faults)*len(moments) {
		t.Errorf("a small run has %d combinations: %v", len(few), seen)
	}
}
