package budgets

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"modelgateway/tests/gatewaytest"
)

// The webhook is told once, by whichever replica, and not again by the next start.
func TestAWebhookIsToldOnceThatABudgetIsNearlySpent(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		var mu sync.Mutex
		var posts []string
		told := func() []string { mu.Lock(); defer mu.Unlock(); return posts }
		hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			mu.Lock()
			defer mu.Unlock()
			posts = append(posts, r.Header.Get("webhook-signature")[:3]+string(body))
		}))
		t.Cleanup(hook.Close)
		r := gatewaytest.StartReplicas(t, gatewaytest.NewPricedUpstream(t), 1, settings...)
		p := r.Programs[0]
		id, key := p.CreateLimitedKey(t, p.Login(t), `"budget_usd":1,"budget_window":"total"`)
		const out = 15_000 // $0.90
		if o := gatewaytest.Send(t.Context(), r.Client, p.URL, gatewaytest.PricedRequest(1, out, out, "most", false), key); !o.Served(t) {
			t.Fatal("the call does not fit its budget")
		}
		gatewaytest.Until(t, "the call is booked", func() bool {
			return gatewaytest.Sum(t, r.DB, "SELECT sum(cost) FROM spend WHERE account = $1", "key:"+id) > 0
		})
		if err := p.Stop(); err != nil {
			t.Fatal(err)
		}
		with := append(settings, "METRICS_TOKEN=metrics-0123456789abcdef", "ALERT_WEBHOOK_URL="+hook.URL,
			"ALERT_WEBHOOK_SECRET=whsec_c2VjcmV0IG9mIGEgd2ViaG9vayBpbiBhIHRlc3QgISE=")
		for range 2 { // the second start finds what the first one delivered
			p = gatewaytest.Start(t, r.Upstream.Settings(with...)...)
			gatewaytest.Until(t, "the key is counted, and nothing waits", func() bool {
				text := p.Call(t, "GET", "/metrics", "", "Authorization", "Bearer metrics-0123456789abcdef").Body
				return strings.Contains(text, "modelgateway_budgets_nearly_spent{kind=\"key\"} 1\n") &&
					gatewaytest.Sum(t, r.DB, "SELECT count(*) FROM budget_alerts WHERE due_at = 0") == 1
			})
			if err := p.Stop(); err != nil {
				t.Fatal(err)
			}
		}
		if all := told(); len(all) != 1 || !strings.HasPrefix(all[0], "v1,") || !strings.Contains(all[0], id) ||
			!strings.Contains(all[0], `"threshold":80`) {
			t.Errorf("%q", all)
		}
	})
}
