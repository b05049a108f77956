package gatewaytest

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/tests/storetest"
)

// Replicas are gateways on one database and one upstream.
type Replicas struct {
	T        *testing.T
	Programs []*Program
	Upstream *PricedUpstream
	Client   *http.Client
	DB       *sql.DB
}

// StartReplicas starts so many replicas. The first setting is DATABASE_URL.
func StartReplicas(t *testing.T, u *PricedUpstream, replicas int, settings ...string) *Replicas {
	t.Helper()
	r := &Replicas{T: t, Upstream: u, Client: ParallelClient(t)}
	for range replicas {
		r.Programs = append(r.Programs, Start(t, u.Settings(settings...)...))
	}
	r.DB = OpenDatabase(t, settings)
	return r
}

// SpendAtOnce makes 500 calls at once on all replicas with these keys in turn, and
// returns how many were served. In some runs each costs as much as it may.
func (r *Replicas) SpendAtOnce(name string, keys ...string) (served int64) {
	r.T.Helper()
	const calls, most = 500, 2000
	exact := rand.IntN(2) == 0
	var all sync.WaitGroup
	var fine atomic.Int64
	gate := make(chan struct{})
	for i := range calls {
		in, out := 1+rand.Int64N(299), rand.Int64N(most+1) // a prompt has at least one token
		if exact {
			out = most
		}
		body := PricedRequest(in, out, most, fmt.Sprint(name, "-", i), i%3 == 0)
		all.Go(func() {
			<-gate
			if r.Send(i, body, keys[i%len(keys)]).Served(r.T) {
				fine.Add(1)
			}
		})
	}
	close(gate)
	all.Wait()
	return fine.Load()
}

// Send makes a call on a replica. A replica or a database without a processor for longer than a second may
// be unavailable for the moment: then the call is repeated, as the answer says.
func (r *Replicas) Send(replica int, body, key string, headers ...string) (o Outcome) {
	for end := time.Now().Add(Patience); ; time.Sleep(100 * time.Millisecond) {
		o = Send(r.T.Context(), r.Client, r.Programs[replica%len(r.Programs)].URL, body, key, headers...)
		if o.Status != http.StatusServiceUnavailable || o.Header.Get("Retry-After") == "" || time.Now().After(end) {
			return o
		}
	}
}

// SpendRest spends what is left of a budget, one call after the other. In the end
// less remains than a call may cost, since nothing stays reserved.
func (r *Replicas) SpendRest(name, account, key string, limit int64) (spent int64) {
	r.T.Helper()
	const most = 2000
	last := time.Now()
	for i := 0; ; i++ {
		body := PricedRequest(300, most, most, fmt.Sprint(name, "-rest-", i), false)
		bound := int64(InputPrice*(len(body)+256+16) + OutputPrice*most)
		if r.Send(i, body, key).Served(r.T) {
			last = time.Now()
			continue
		}
		spent := Sum(r.T, r.DB, "SELECT sum(cost) FROM spend WHERE account = $1", account)
		if limit-spent < bound {
			return spent
		}
		if time.Since(last) > Patience {
			r.T.Errorf("%s: %d of %d are spent, and a call of %d does not fit", name, spent, limit, bound)
			return spent
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// AwaitSpent waits until the account has spent what the upstream charged.
func (r *Replicas) AwaitSpent(account string, charged int64) {
	r.T.Helper()
	Until(r.T, "the ledger has everything", func() bool {
		return Sum(r.T, r.DB, "SELECT sum(cost) FROM spend WHERE account = $1", account) == charged
	})
}

// AwaitBalance compares the ledger with the upstream's calls and charges.
func (r *Replicas) AwaitBalance() {
	t := r.T
	t.Helper()
	Until(t, "a row for each call", func() bool {
		return Sum(t, r.DB, "SELECT count(*) FROM ledger_calls") == r.Upstream.Calls.Load()
	})
	for query, want := range map[string]int64{
		"SELECT count(*) FROM ledger_calls":                     r.Upstream.Calls.Load(),
		"SELECT count(DISTINCT request_id) FROM ledger_calls":   r.Upstream.Calls.Load(),
		"SELECT sum(cost) FROM ledger_calls":                    r.Upstream.Charged.Load(),
		"SELECT sum(cost) FROM spend WHERE account = 'gateway'": r.Upstream.Charged.Load(),
		"SELECT count(*) FROM ledger_calls WHERE estimated":     0,
	} {
		if got := Sum(t, r.DB, query); got != want {
			t.Errorf("%s: %d, not %d", query, got, want)
		}
	}
	if sum := storetest.Usage(t, r.DB); sum.Calls != r.Upstream.Calls.Load() || sum.Cost != r.Upstream.Charged.Load() {
		t.Errorf("the sums are %+v", sum)
	}
}
