package budgets

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/servertest"
)

// Thirteen keys of one user share a budget on two replicas, and 400 calls come at once. Where calls
// reserve what they are expected to cost, the budget is exceeded by no more than what the admitted
// calls cost beyond that; where they reserve the most that they can cost, by nothing.
func TestWhatAdmittedCallsStillCostIsAllThatABudgetIsExceededBy(t *testing.T) {
	t.Parallel()
	for _, reserve := range []string{"expected", "worst"} {
		t.Run(reserve, func(t *testing.T) {
			t.Parallel()
			u := gatewaytest.NewPricedUpstream(t)
			r := gatewaytest.StartReplicas(t, u, 2, "DATABASE_URL="+servertest.Postgres(t), "BUDGET_RESERVE="+reserve)
			const limit, calls, most, credentials = 3_000_000, 400, 8000, 13
			user := gatewaytest.Field(t, r.Programs[0].Patiently(t, "/auth/register", gatewaytest.AdaAccount), "id")
			token := r.Programs[0].Login(t)
			root := r.Programs[0].Administrator(t)
			if a := r.Programs[0].Call(t, "PATCH", "/admin/users/"+user, `{"budget_usd":3,"budget_window":"day"}`, root...); a.Status != 200 {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
			var keys []string
			for range credentials {
				_, key := r.Programs[0].CreateLimitedKey(t, token, `"tpm_limit":null`)
				keys = append(keys, key)
			}
			var all sync.WaitGroup
			var served, dearest atomic.Int64
			gate := make(chan struct{})
			for i := range calls {
				in, out := 1+rand.Int64N(200), most-rand.Int64N(most/2) // 4096 are expected of an answer
				body := gatewaytest.PricedRequest(in, out, most, fmt.Sprint("c-", i), i%2 == 0)
				all.Go(func() {
					<-gate
					o := gatewaytest.Send(t.Context(), r.Client, r.Programs[i%2].URL, body, keys[i%credentials])
					if o.Status != http.StatusServiceUnavailable && o.Served(t) { // a busy machine's database may be late
						served.Add(1)
						beyond := max(in*gatewaytest.InputPrice+out*gatewaytest.OutputPrice-4096*gatewaytest.OutputPrice, 0)
						dearest.Add(beyond)
					}
				})
			}
			close(gate)
			all.Wait()
			charged := u.Charged.Load()
			over := max(charged-limit, 0)
			t.Logf("%s: %d of %d calls served, $%.2f of $%.2f, $%.2f more than the budget",
				reserve, served.Load(), calls, float64(charged)/1e6, float64(limit)/1e6, float64(over)/1e6)
			r.AwaitSpent("user:"+user, charged)
			switch {
			case served.Load() == 0:
				t.Error("no call is served")
			case reserve == "worst" && over > 0, over > dearest.Load():
				t.Errorf("%d of %d are charged, and the calls cost %d beyond what was reserved", charged, limit, dearest.Load())
			}
		})
	}
}
