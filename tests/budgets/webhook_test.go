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
		r, id := spendMost(t, settings)
		with := append(settings, "METRICS_TOKEN="+metricsToken, "ALERT_WEBHOOK_URL="+hook.URL,
			"ALERT_WEBHOOK_SECRET=whsec_c2VjcmV0IG9mIGEgd2ViaG9vayBpbiBhIHRlc3QgISE=")
		for range 2 { // the second start finds what the first one delivered
			p := gatewaytest.Start(t, r.Upstream.Settings(with...)...)
			gatewaytest.Until(t, "the key is counted, and nothing waits", func() bool {
				text := metricsOf(t, p)
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
