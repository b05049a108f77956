package budgets

import (
	"fmt"
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

// metricsToken is the credential of /metrics, and metricsOf reads them.
const metricsToken = "metrics-0123456789abcdef"

func metricsOf(t *testing.T, p *gatewaytest.Program) string {
	t.Helper()
	return p.Call(t, "GET", "/metrics", "", "Authorization", "Bearer "+metricsToken).Body
}

// spendMost has a key spend 90 % of its budget, and stops the gateway.
func spendMost(t *testing.T, settings []string) (r *gatewaytest.Replicas, keyID string) {
	t.Helper()
	r = gatewaytest.StartReplicas(t, gatewaytest.NewPricedUpstream(t), 1, settings...)
	p := r.Programs[0]
	keyID, key := p.CreateLimitedKey(t, p.Login(t), `"budget_usd":1,"budget_window":"total"`)
	const out = 15_000 // $0.90
	if o := gatewaytest.Send(t.Context(), r.Client, p.URL, gatewaytest.PricedRequest(1, out, out, "most", false), key); !o.Served(t) {
		t.Fatal("the call does not fit its budget")
	}
	gatewaytest.Until(t, "the call is booked", func() bool {
		return gatewaytest.Sum(t, r.DB, "SELECT sum(cost) FROM spend WHERE account = $1", "key:"+keyID) > 0
	})
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	return r, keyID
}

// A gateway that is started when a key may call no more has to tell it as well.
func TestMetricsTellOfBudgetsThatAreNearlySpent(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		r, _ := spendMost(t, settings)
		p := gatewaytest.Start(t, r.Upstream.Settings(append(settings, "METRICS_TOKEN="+metricsToken)...)...)
		var text string
		has := func(metric, kind string, n int) bool {
			return strings.Contains(text, fmt.Sprintf("modelgateway_%s{kind=%q} %d\n", metric, kind, n))
		}
		gatewaytest.Until(t, "the key is counted", func() bool {
			text = metricsOf(t, p)
			return has("budgets_nearly_spent", "key", 1)
		})
		if !has("budgets_spent", "key", 0) || !has("budgets_nearly_spent", "user", 0) || !has("budgets_nearly_spent", "team", 0) {
			t.Errorf("%s", text)
		}
	})
}
