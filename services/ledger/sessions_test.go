package ledger

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/tests/storetest"
)

// outline is the tree of the agents of calls: each agent is written "id>parent".
func outline(calls ...string) string {
	var all sessionAgents
	for _, text := range calls {
		id, parent, _ := strings.Cut(text, ">")
		all.add(&models.Call{AgentID: id, ParentAgentID: parent})
	}
	var lines []string
	for _, a := range all.tree() {
		lines = append(lines, strings.Repeat(".", a.depth)+a.id+fmt.Sprintf(":%d", a.Calls))
	}
	return strings.Join(lines, " ")
}

func TestAgentsAreBelowThoseThatStartedThem(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		calls []string
		want  string
	}{
		{[]string{""}, ":1"},
		{[]string{"", "a", "b>a", "c", "d>b", "a", ""}, ":2 .a:2 ..b:1 ...d:1 .c:1"},
		{[]string{"b>a", "a"}, ":0 .a:1 ..b:1"},                          // the child's call ended first
		{[]string{"", "a>gone"}, ":1 .a:1"},                              // its parent made no call
		{[]string{"", "a>b", "b>c", "c>a"}, ":1 .a:1 ..c:1 ...b:1"},      // each started by another of them
		{[]string{"", "a>a"}, ":1 .a:1"},                                 // by itself
		{[]string{"", "a>c", "b>a", "a>b", "c"}, ":1 .c:1 ..a:2 ...b:1"}, // the first that is said counts
	} {
		if got := outline(tt.calls...); tt.want != got {
			t.Errorf("%q: %q, not %q", tt.calls, got, tt.want)
		}
	}
}

// A client may send any agent and parent ids, also cycles: each call is counted once, and each agent is listed once, below its
// parent.
func TestThePartsOfAgentsAddUpToTheirSession(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, h *storetest.Database) {
		random := rand.New(rand.NewPCG(7, 7))
		service := NewCalls(CallsOptions{Store: h.Store})
		for round := range 8 {
			name := func() string {
				if n := random.IntN(2 + round*round); n > 0 {
					return fmt.Sprint("agent", n)
				}
				return ""
			}
			calls := make([]models.Call, 1+random.IntN(2500)*round/7)
			for i := range calls {
				at := time.Now().Add(time.Duration(i) * time.Millisecond)
				c := &calls[i]
				*c = models.Call{
					ID: newCallID(at), BeganAt: at.UnixMicro(), DurationUS: random.Int64N(1e6), Session: fmt.Sprint("round", round), KeyID: "k",
					AgentID: name(), ParentAgentID: name(), Model: "m", Priced: random.IntN(2) == 0, Estimated: random.IntN(2) == 0,
					Outcome: models.Outcomes()[random.IntN(3)], Served: []string{"", "a", "b"}[random.IntN(3)],
				}
				for _, n := range []*int64{
					&c.InputTokens, &c.CachedTokens, &c.CacheWriteTokens, &c.CacheWriteHourTokens, &c.OutputTokens, &c.ReasoningTokens,
					&c.Searches, &c.Requests, &c.Images, &c.Seconds, &c.Characters, &c.Cost,
				} {
					*n = random.Int64N(1e6)
				}
			}
			if err := h.Store.WriteCalls(t.Context(), "r", calls); err != nil {
				t.Fatal(err)
			}
			list, err := service.Sessions(t.Context(), CallsOf{KeyID: "k"}, CallsRequest{Limit: "1"})
			if err != nil {
				t.Fatal(err)
			}
			one, err := service.Session(t.Context(), CallsOf{KeyID: "k"}, list.Data[0].ID)
			if err != nil {
				t.Fatal(err)
			}
			if a, b := fmt.Sprintf("%+v", list.Data[0].UsageSums), fmt.Sprintf("%+v", one.UsageSums); a != b ||
				list.Data[0].EndedAtMS != one.EndedAtMS || !slices.Equal(list.Data[0].Models, one.Models) || one.Calls != int64(len(calls)) {
				t.Errorf("the list has %s, the session %s", a, b)
			}
			checkAgents(t, one, calls)
		}
	})
}

func checkAgents(t *testing.T, one *api.AgentSessionDetail, calls []models.Call) {
	t.Helper()
	sums, whole := map[string]*models.Sum{}, models.Sum{}
	for i := range calls {
		if sums[calls[i].AgentID] == nil {
			sums[calls[i].AgentID] = &models.Sum{}
		}
		sums[calls[i].AgentID].AddCall(&calls[i])
		whole.AddCall(&calls[i])
	}
	if usageSums(&whole) != one.UsageSums {
		t.Errorf("%+v, not %+v", one.UsageSums, usageSums(&whole))
	}
	depths := map[api.Maybe]int{}
	for i, a := range one.Agents {
		sum := sums[string(a.AgentID)]
		if sum == nil && i == 0 {
			sum = &models.Sum{}
		}
		if sum == nil || a.UsageSums != usageSums(sum) {
			t.Fatalf("%s: %+v, not %+v", a.AgentID, a.UsageSums, sum)
		}
		delete(sums, string(a.AgentID))
		if above, known := depths[a.ParentAgentID]; i > 0 && (!known || a.Depth != above+1) {
			t.Errorf("%s is at %d, its parent %q at %d", a.AgentID, a.Depth, a.ParentAgentID, above)
		}
		depths[a.AgentID] = a.Depth
	}
	if len(sums) != 0 {
		t.Errorf("not shown: %v", sums)
	}
}

func TestTheAgentsOfASessionAreBounded(t *testing.T) {
	t.Parallel()
	var all sessionAgents
	for i := range 3 * mostAgents {
		all.add(&models.Call{AgentID: fmt.Sprint(i), ParentAgentID: fmt.Sprint(i - 1)})
	}
	if tree := all.tree(); len(tree) != mostAgents || tree[0].Calls != 2*mostAgents+1 || tree[mostAgents-1].depth != mostAgents-1 {
		t.Errorf("%d agents, %d calls of the first", len(tree), tree[0].Calls)
	}
}

func TestSessionsWithoutCallsAreDeletedAtTheNextTime(t *testing.T) {
	storetest.Each(t, func(t *testing.T, h *storetest.Database) {
		l, _ := newLedger(h.Store)
		const sessions = sweepBatch + 10
		for i := range sessions {
			call := ledgerCall("m")
			call.ID, call.Session = newCallID(time.Unix(int64(1.75e9)+int64(i), 0)), fmt.Sprintf("s%06d", i)
			l.Add(call)
		}
		l.writeAll(t.Context(), t.Context(), true)
		if _, err := h.Store.DeleteCallsBefore(t.Context(), time.Unix(1.75e9+sessions-1, 0), sessions); err != nil {
			t.Fatal(err)
		}
		left := func() int { return countRows(t, h, "SELECT count(*) FROM ledger_names WHERE owner <> ''") }
		empty, err := l.deleteSessions(t.Context(), nil)
		if err != nil || len(empty) != sessions-1 || left() != sessions {
			t.Fatalf("%d without calls, %d in all: %v", len(empty), left(), err)
		}
		if again, err := l.deleteSessions(t.Context(), empty); err != nil || len(again) != 0 || left() != 1 {
			t.Errorf("%d without calls, %d in all: %v", len(again), left(), err)
		}
	})
}
