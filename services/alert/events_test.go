package alert

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"modelgateway/services/mail"
	"modelgateway/tests/storetest"
)

// Two replicas tell once that a provider fails, and once that it returns, also where they see it differently.
func TestAProviderIsToldOnceThatItFailsAndReturns(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d *storetest.Database) {
		var mails []string
		now := november
		replica := func(works map[string]bool) *Alerts {
			return New(Options{
				Store: d.Open(t), To: "ops@example.com", Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return now },
				Providers: func() map[string]bool { return works },
				Mail:      func(_ context.Context, m *mail.Message) error { mails = append(mails, m.Subject); return nil },
			})
		}
		first, second := map[string]bool{"a": true}, map[string]bool{}
		replicas := []*Alerts{replica(first), replica(second)}
		round := func(after time.Duration, want ...string) {
			t.Helper()
			now = now.Add(after)
			for _, r := range replicas {
				if err := r.CheckProviders(t.Context()); err != nil {
					t.Error(err)
				}
			}
			if _, err := replicas[0].Send(t.Context()); err != nil {
				t.Error(err)
			}
			for i := range want {
				want[i] = "Model Gateway: " + want[i]
			}
			if !slices.Equal(mails, want) {
				t.Errorf("%q, want %q", mails, want)
			}
			mails = nil
		}
		const fails, returns = "a fails: calls are refused or go to fallbacks. The page Providers shows why", "a answers again"
		round(0)
		first["a"] = false
		round(time.Second, fails)
		second["a"] = false
		round(time.Second) // it is told
		round(time.Hour)
		first["a"] = true
		round(time.Second, returns)
		round(time.Hour) // the second still fails, as it did when that was told
		second["a"] = true
		round(time.Second)
		first["a"] = false
		second["a"] = false
		round(time.Second, fails)
		first["a"] = true // and the second is gone
		round(time.Second, returns)
		first["a"] = false
		round(time.Second) // it fails again at once: that is told when it has lasted
		round(10*time.Minute, fails)
		replicas = []*Alerts{replica(map[string]bool{"a": true})} // a replica that has started since
		round(time.Second, returns)
		round(time.Hour)
	})
}
