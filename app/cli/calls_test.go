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
			ID: storetest.CallID(now, "abc"), RequestID: "req_1", Model: "gpt-4", Served: "gpt-4", Provider: "openai", Status: 502, Attempts: 2,
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

func TestSessionsAreListedAndOneIsShownWithItsAgents(t *testing.T) {
	t.Parallel()
	withUsers(t, func(g *gateway, d *storetest.Database) {
		store, err := models.Open(d.Address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = store.Close() }()
		now := time.Now()
		var calls []models.Call
		for i, agents := range [][2]string{{"", ""}, {"planner", ""}, {"reader", "planner"}, {"", ""}} {
			at := now.Add(time.Duration(i) * time.Second)
			calls = append(calls, models.Call{
				ID: storetest.CallID(at, "s"), BeganAt: at.UnixMicro(), DurationUS: 4_000_000, Session: "=design", Agent: "codex", Model: "gpt-5",
				AgentID: agents[0], ParentAgentID: agents[1], Outcome: models.OutcomeOK, InputTokens: 1000, CachedTokens: 250, Cost: 50_000,
			})
		}
		if err := store.WriteCalls(t.Context(), "r", calls); err != nil {
			t.Fatal(err)
		}
		list, _ := g.json("sessions", "--agent", "codex")["data"].([]any)
		if len(list) != 1 {
			t.Fatal(list)
		}
		one, _ := list[0].(map[string]any)
		id, _ := one["id"].(string)
		if text := strings.Join(strings.Fields(g.do("sessions")), " "); !strings.Contains(text, "=design - codex - 7s 4 0 4,000 25% 0 $0.20") {
			t.Error(text)
		}
		if text := g.do("sessions", "--user", "ada@example.com"); strings.Contains(text, id) {
			t.Error(text)
		}
		if text := g.do("sessions", "--csv"); !strings.HasPrefix(text, "id,name,user_id,") || !strings.Contains(text, "\n"+id+",'=design,") ||
			!strings.Contains(text, `,0.25,"[""gpt-5""]"`) {
			t.Error(text)
		}
		tree := g.do("sessions", id)
		for _, line := range []string{"\nmain agent ", "\n  planner ", "\n    reader ", "\nin all "} {
			if !strings.Contains(tree, line) {
				t.Errorf("%q is missing:\n%s", line, tree)
			}
		}
		if text := g.do("calls", "--session", id, "-q"); strings.Count(text, "call_") != len(calls) {
			t.Error(text)
		}
		if r := g.run("sessions", "session_77"); r.code != 1 || !strings.Contains(r.err, "no session") {
			t.Errorf("%+v", r)
		}
	})
}
