package cli_test

import (
	"strings"
	"testing"
	"time"

	"modelgateway/models"
	"modelgateway/tests/storetest"
)

func TestCallsAreListedAndOneIsShownWithItsAttempts(t *testing.T) {
	t.Parallel()
	withUsers(t, func(g *gateway, d *storetest.Database) {
		store, err := models.Open(d.Address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = store.Close() }()
		now := time.Now()
		call := models.Call{
			ID: models.CallID(now, "abc"), RequestID: "req_1", Model: "gpt-4", Served: "gpt-4", Provider: "openai", Status: 502, Attempts: 2,
			Outcome: models.OutcomeFailed, ErrorCode: "provider_error", BeganAt: now.UnixMicro(), DurationUS: 2_500_000, Priced: true,
			Details: &models.CallDetail{Attempts: []models.CallAttempt{
				{Provider: "openai", Model: "gpt-4", Key: "wxyz", TookUS: 900_000, Status: 500, Code: "server_error", Result: models.AttemptFailed},
				{Provider: "openai", Model: "gpt-4", Key: "wxyz", StartUS: 1_000_000, TookUS: 1_500_000, Result: models.AttemptAbandoned},
			}},
		}
		call.Clean()
		if err := store.WriteCalls(t.Context(), "r", []models.Call{call}); err != nil {
			t.Fatal(err)
		}
		list, _ := g.json("calls", "--outcome", "failed", "--status", "5xx")["data"].([]any)
		if len(list) != 1 {
			t.Fatal(list)
		}
		if text := g.do("calls"); !strings.Contains(text, call.ID) || !strings.Contains(text, "2.50s") {
			t.Error(text)
		}
		if text := g.do("calls", "--user", "ada@example.com"); strings.Contains(text, call.ID) {
			t.Error(text)
		}
		one := g.do("calls", call.ID)
		for _, part := range []string{"provider_error 502 provider_error", "wxyz", "900ms", "server_error", "abandoned"} {
			if !strings.Contains(one, part) {
				t.Errorf("%q is missing:\n%s", part, one)
			}
		}
		if r := g.run("calls", "call_unknown"); r.code != 1 || !strings.Contains(r.err, "no call") {
			t.Errorf("%+v", r)
		}
	})
}
