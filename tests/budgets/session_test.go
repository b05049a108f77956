package budgets

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/servertest"
)

const (
	sessionHeader = "X-Claude-Code-Session-Id"
	agentHeader   = "X-Claude-Code-Agent-Id"
)

// eachReplicas runs a test on one replica with SQLite and on two with PostgreSQL.
func eachReplicas(t *testing.T, test func(t *testing.T, r *gatewaytest.Replicas)) {
	t.Helper()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		replicas := 2
		if strings.Contains(settings[0], "sqlite") {
			replicas = 1
		}
		test(t, gatewaytest.StartReplicas(t, gatewaytest.NewPricedUpstream(t), replicas, append(settings, "RATE_LIMIT_RPM=0")...))
	})
}

// A user's two keys and the agents inside of a session spend one budget, whichever replica they call.
func TestASessionIsNotOverdrawnByItsAgentsOnTwoReplicas(t *testing.T) {
	t.Parallel()
	eachReplicas(t, func(t *testing.T, r *gatewaytest.Replicas) {
		const calls, most = 400, 2000
		p, token := r.Programs[0], r.Programs[0].Login(t)
		limits := [2]int64{2_000_000 + rand.Int64N(8_000_000), 500_000 + rand.Int64N(1_000_000)}
		gatewaytest.Execute(t, r.DB, "UPDATE users SET session_budget = ?", limits[0])
		var keys [2]string
		for i := range keys { // the first has the session budget of the user, the second a smaller one of its own
			_, keys[i] = p.CreateLimitedKey(t, token, []string{`"tpm_limit":null`, `"session_budget_usd":` + dollarsOf(limits[1])}[i])
		}
		call := func(i int, key, session, mark string) int64 {
			in, out := 1+rand.Int64N(299), rand.Int64N(most+1)
			headers := []string{sessionHeader, session, agentHeader, fmt.Sprint("agent-", i%5)}
			if session == "" {
				headers = nil
			}
			body := gatewaytest.PricedRequest(in, out, most, mark, i%3 == 0)
			if !r.Send(i, body, key, headers...).Served(t) {
				return 0
			}
			return in*gatewaytest.InputPrice + out*gatewaytest.OutputPrice
		}
		var spent [2]atomic.Int64
		var all sync.WaitGroup
		for i := range calls {
			all.Go(func() {
				session := i / 4 % 2
				spent[session].Add(call(i, keys[i/2%2], fmt.Sprint("s-", session), fmt.Sprint("race-", i)))
			})
		}
		all.Wait()
		for session := range spent {
			const bound = gatewaytest.InputPrice*600 + gatewaytest.OutputPrice*most
			last := time.Now()
			for i := 0; limits[0]-spent[session].Load() >= bound && time.Since(last) < gatewaytest.Patience; i++ {
				if cost := call(i, keys[0], fmt.Sprint("s-", session), fmt.Sprint("rest-", session, "-", i)); cost > 0 {
					spent[session].Add(cost)
					last = time.Now()
				}
			}
			got := spent[session].Load()
			if got > limits[0] || limits[0]-got >= bound {
				t.Errorf("session %d: %d of %d are spent", session, got, limits[0])
			}
			if call(session, keys[1], fmt.Sprint("s-", session), fmt.Sprint("small-", session)) != 0 {
				t.Error("the smaller budget of the other key does not hold for what the session has spent")
			}
		}
		for i := range r.Programs { // other sessions, and calls in none, are not theirs
			if call(i, keys[0], "other", fmt.Sprint("other-", i)) == 0 || call(i, keys[0], "", fmt.Sprint("none-", i)) == 0 {
				t.Error("refused for what another session has spent")
			}
		}
		gatewaytest.Until(t, "the ledger has everything", func() bool {
			const sum = "SELECT COALESCE(sum(cost), 0) FROM spend WHERE account LIKE 'session:%'"
			return gatewaytest.Sum(t, r.DB, sum) > spent[0].Load()+spent[1].Load() // and what the others have spent
		})
		for session := range spent {
			query := fmt.Sprintf("SELECT count(*) FROM (SELECT sum(cost) AS c FROM spend WHERE account LIKE 'session:%%' GROUP BY account) AS s "+
				"WHERE c = %d", spent[session].Load())
			if gatewaytest.Sum(t, r.DB, query) != 1 {
				t.Errorf("no session has spent %d", spent[session].Load())
			}
		}
		r.AwaitBalance()
		t.Logf("of $%s the sessions have spent $%s and $%s", dollarsOf(limits[0]), dollarsOf(spent[0].Load()), dollarsOf(spent[1].Load()))
	})
}

// Agents show the message to their users.
func TestARefusalOfASessionSaysSoInEachDialect(t *testing.T) {
	t.Parallel()
	r := gatewaytest.StartReplicas(t, gatewaytest.NewPricedUpstream(t), 1, "DATABASE_URL="+servertest.Postgres(t))
	p, token := r.Programs[0], r.Programs[0].Login(t)
	_, key := p.CreateLimitedKey(t, token, `"session_budget_usd":1`)
	if !gatewaytest.Send(t.Context(), r.Client, p.URL, gatewaytest.PricedRequest(10, 15_000, 15_000, "most", false), key, sessionHeader, "s").Served(t) {
		t.Fatal("the call does not fit the budget")
	}
	r.AwaitSpent("gateway", r.Upstream.Charged.Load())
	const begin = "this session has spent $0.9003 of the $1.00 that a session of this API key may cost, and this call could cost up to $"
	const end = ": start a new session to go on, or ask an administrator to raise session_budget_usd"
	for path, tt := range map[string]struct {
		body, header string
		status       int
		code         string
	}{
		"/v1/chat/completions": {`{"model":"gpt-4","max_tokens":4000,` + gatewaytest.HiMessages + `}`, "X-Session-Id", 402, `"code":"session_budget_exceeded"`},
		"/v1/messages":         {`{"model":"gpt-4","max_tokens":4000,` + gatewaytest.HiMessages + `}`, sessionHeader, 402, `"type":"billing_error"`},
		"/v1/responses":        {`{"model":"gpt-4","max_output_tokens":4000,"input":"hi"}`, "X-Session-Id", 429, `"code":"insufficient_quota"`},
	} {
		a := p.Call(t, "POST", path, tt.body, "X-Api-Key", key, tt.header, "s")
		if a.Status != tt.status || !strings.Contains(a.Body, begin) || !strings.Contains(a.Body, end) || !strings.Contains(a.Body, tt.code) ||
			a.Header.Get("X-Should-Retry") != "false" {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
	gatewaytest.Until(t, "the refusals are written", func() bool {
		return gatewaytest.Sum(t, r.DB, "SELECT count(*) FROM refusals WHERE message LIKE 'this session has spent%'") == 3
	})
}
