package budgets

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/longtest"
	"modelgateway/tests/servertest"
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
		with := append(settings, webhookSettings(hook.URL)...)
		for range 2 { // the second start finds what the first one delivered
			p := gatewaytest.Start(t, r.Upstream.Settings(with...)...)
			gatewaytest.Until(t, "the key is counted, and nothing waits", func() bool {
				text := metricsOf(t, p)
				return strings.Contains(text, "modelgateway_budgets_nearly_spent{kind=\"key\"} 1\n") &&
					gatewaytest.Sum(t, r.DB, "SELECT count(*) FROM alerts WHERE due_at = 0") == 1
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

// What a killed replica was posting is posted again by another one, when the claim on it has
// ended and not before, with the id by which the receiver recognizes it.
func TestAnAlertOfAKilledReplicaIsPostedByAnotherOne(t *testing.T) {
	longtest.Skip(t) // waits for a claim of a minute
	t.Parallel()
	settings := []string{"DATABASE_URL=" + servertest.Postgres(t), "REDIS_URL=" + servertest.Redis(t)}
	posted, killed := make(chan string, 10), make(chan struct{})
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		posted <- r.Header.Get("webhook-id")
		<-killed // the first post is not answered before
	}))
	t.Cleanup(hook.Close)
	r, _ := spendMost(t, settings)
	with := r.Upstream.Settings(append(settings, webhookSettings(hook.URL)...)...)
	doomed := gatewaytest.Launch(t, nil, with...)
	first, at := nextPost(t, posted), time.Now()
	gatewaytest.Start(t, with...)
	doomed.Signal(t, syscall.SIGKILL)
	doomed.Wait(t)
	close(killed)
	again := nextPost(t, posted)
	if took := time.Since(at); first == "" || again != first || took < 50*time.Second || took > 3*time.Minute {
		t.Errorf("alert %q is posted again as %q after %s", first, again, took)
	}
	gatewaytest.Until(t, "nothing waits", func() bool {
		return gatewaytest.Sum(t, r.DB, "SELECT count(*) FROM alerts WHERE due_at = 0") == 1
	})
	if len(posted) > 0 {
		t.Error("the alert is posted a third time")
	}
}

// nextPost waits for a post, and returns its id.
func nextPost(t *testing.T, posted <-chan string) string {
	t.Helper()
	select {
	case id := <-posted:
		return id
	case <-time.After(3 * time.Minute):
		t.Fatal("nothing was posted")
	}
	return ""
}

func webhookSettings(url string) []string {
	return []string{
		"METRICS_TOKEN=" + metricsToken, "ALERT_WEBHOOK_URL=" + url,
		"ALERT_WEBHOOK_SECRET=whsec_c2VjcmV0IG9mIGEgd2ViaG9vayBpbiBhIHRlc3QgISE=",
	}
}
