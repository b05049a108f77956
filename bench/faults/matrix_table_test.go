package faults

import (
	"slices"
	"testing"
	"time"

	"modelgateway/services/pool"
)

// The parts that a fault can befall. The first three are the providers, by their
// names in health and errors and in the order of models.
var parts = []string{"openai", "anthropic", "gemini", "postgres", "redis"}

// faults are those of the matrix. The slow one comes first: health remembers
// failures for a minute, and a slow part has none of its own.
var faults = []Fault{Slow, Refuse, Freeze, Reset, Truncate, Garble}

// moment is when the fault comes.
type moment string

const (
	atStart  moment = "at the start" // it is there before the gateway is
	idle     moment = "idle"         // it comes while nothing runs, and then there are calls
	underWay moment = "under load"   // it comes while answers and streams run, and they go on coming
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

// expectation is what must come of a combination. Of every one it is expected
// besides that calls which do not need the part are answered with 200 and whole;
// that no stream is shown as complete which is not; that every refusal is an
// error of ours with x-should-retry; and that health answers at once.
type expectation struct {
	why string

	needs    []int         // what chats that need the part may be answered with
	accounts []int         // what logins and lists of keys may be answered with
	known    time.Duration // for how long a caller who was there before the fault may still get a 200
	cut      bool          // a stream that needs the part may break off, and then says so
	garbled  bool          // what a 200 brings may be other text than what was sent
	longest  time.Duration // no call that needs the part takes longer

	spared  time.Duration // no call that does not need the part takes longer
	typical time.Duration // half of the answers that do not need the part take no longer; 0: no demand
	limit   float64       // how often its limit a caller may use within the minute; 0: not tried

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
	// A garbled length may leave a try at the schema waiting for as long as a
	// connection may take to be made.
	afterTry = recovered + 5*second
	circuit  = 15 * second // its pause of ten, a probe, and what any recovery may take
)

var (
	served  = []int{200}
	failed  = []int{502, 503} // 503: the circuit has opened
	late    = []int{503, 504}
	either  = []int{200, 502, 503}
	strange = []int{200, 400, 404, 413, 422, 429, 502, 503, 504} // never 401, which would be the caller's
	without = []int{503}
	perhaps = []int{200, 503}
	// Whether a row's revocation or a stored hash is what was kept or what a
	// network made of it cannot be told without TLS.
	rewritten = []int{200, 401, 503}

	healthy  = []string{pool.Healthy}
	weak     = []string{pool.Degraded, pool.Unhealthy}
	down     = []string{pool.Unhealthy}
	degraded = pool.Degraded
)

// trouble is a fault at a moment, of whichever part.
type trouble struct {
	fault  Fault
	moment moment
}

// expected is the matrix: what the providers' table says goes for each of them.
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

func TestTheMatrixExpectsSomethingOfEveryCombination(t *testing.T) {
	const least = 60
	table := expected()
	all := chosen(true)
	if n := len(all); n < least || n != len(table) || n != len(parts)*len(faults)*len(moments) {
		t.Errorf("%d combinations, %d expectations", n, len(table))
	}
	reasons := map[string]trouble{}
	for _, c := range all {
		e := table[c]
		if len(e.why) < 40 || e.spared == 0 || e.back == 0 || e.needs == nil && e.typical == 0 {
			t.Errorf("%v: next to nothing is expected: %+v", c, e)
		}
		if slices.Contains(e.needs, 401) && c.fault != Garble || slices.Contains(e.needs, 500) {
			t.Errorf("%v: expected to fail as it must not", c)
		}
		at := trouble{c.fault, c.moment}
		if other, ok := reasons[e.why]; ok && other != at {
			t.Errorf("%v: copied from %v", c, other)
		}
		reasons[e.why] = at
	}
	few, seen := chosen(false), map[any]int{}
	for _, c := range few {
		seen[c.part]++
		seen[c.fault]++
		seen[c.moment]++
		seen[trouble{c.fault, c.moment}]++
	}
	if len(few) != len(parts)*len(faults) || len(seen) != len(parts)+len(faults)+len(moments)+len(faults)*len(moments) {
		t.Errorf("a small run has %d combinations: %v", len(few), seen)
	}
}
