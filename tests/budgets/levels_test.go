package budgets

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/servertest"
)

// payer is an account with a budget.
type payer struct {
	account string
	limit   int64
}

// family is a user with two keys, of which one is their team's as well, and a third key
// that is the team's alone.
type family struct {
	name       string
	user, team payer
	keys       [3]payer
	texts      [3]string
}

// levels are the accounts that pay for calls with a key.
func (f *family) levels(key int) []payer {
	return [][]payer{{f.keys[0], f.user}, {f.keys[1], f.user, f.team}, {f.keys[2], f.team}}[key]
}

// newFamily draws budgets: those of each level may be the tightest.
func newFamily(r *gatewaytest.Replicas, token []string, name string) *family {
	t := r.T
	t.Helper()
	window := func() string { return []string{"day", "week", "month", "total"}[rand.IntN(4)] }
	limit := func() int64 { return 200_000 + rand.Int64N(25_000_000) }
	f := &family{name: name, user: payer{"user:" + name, limit()}, team: payer{"team:" + name, limit()}}
	gatewaytest.Execute(t, r.DB, "INSERT INTO users (id, email, name, password_hash, created_at, budget, budget_window) VALUES (?, ?, ?, 'x', 1, ?, ?)",
		name, name+"@example.com", name, f.user.limit, window())
	gatewaytest.Execute(t, r.DB, "INSERT INTO teams (id, name, created_at, budget, budget_window) VALUES (?, ?, 1, ?, ?)",
		name, "of "+name, f.team.limit, window())
	for i, owners := range [][2]string{{name, ""}, {name, name}, {"", name}} {
		k := &f.keys[i]
		k.limit = limit()
		id, text := r.Programs[0].CreateLimitedKey(t, token, fmt.Sprintf(`"budget_usd":%s,"budget_window":%q`, dollarsOf(k.limit), window()))
		k.account, f.texts[i] = "key:"+id, text
		gatewaytest.Execute(t, r.DB, "UPDATE api_keys SET user_id = ?, team_id = ? WHERE id = ?", owners[0], owners[1], id)
	}
	return f
}

// spentOf is what the ledger has of an account.
func spentOf(r *gatewaytest.Replicas, account string) int64 {
	return gatewaytest.Sum(r.T, r.DB, "SELECT sum(cost) FROM spend WHERE account = $1", account)
}

// spendRest spends with one key, a call after the other, until no further call fits into
// all budgets that pay for it. Nothing stays reserved, so that is when one of them has
// less left than a call may cost.
func (f *family) spendRest(r *gatewaytest.Replicas, key int, also payer) {
	const most = 2000
	last := time.Now()
	for i := 0; time.Since(last) < 30*time.Second; i++ {
		body := gatewaytest.PricedRequest(300, most, most, fmt.Sprint(f.name, "-rest-", i), false)
		bound := int64(gatewaytest.InputPrice*(len(body)+256+16) + gatewaytest.OutputPrice*most)
		if gatewaytest.Send(r.T.Context(), r.Client, r.Programs[i%len(r.Programs)].URL, body, f.texts[key]).Served(r.T) {
			last = time.Now()
			continue
		}
		for _, p := range append(f.levels(key), also) {
			if p.limit-spentOf(r, p.account) < bound {
				return
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	r.T.Errorf("%s: a call fits into all budgets, and is refused", f.name)
}

func TestNoLevelIsOverdrawnBy500ConcurrentCallsOnTwoReplicas(t *testing.T) {
	t.Parallel()
	n := trials(1, 3)
	all := payer{"gateway", int64(n) * (4_000_000 + rand.Int64N(10_000_000))}
	u := gatewaytest.NewPricedUpstream(t)
	r := gatewaytest.StartReplicas(t, u, 2, "DATABASE_URL="+servertest.Postgres(t), "REDIS_URL="+servertest.Redis(t), "RATE_LIMIT_RPM=0",
		"MAX_BUDGET_USD="+dollarsOf(all.limit), "MAX_BUDGET_WINDOW=total")
	token := r.Programs[0].Login(t)
	var families []*family
	served, began := int64(0), time.Now()
	for i := range n {
		f := newFamily(r, token, fmt.Sprint("f", i))
		families = append(families, f)
		served += r.SpendAtOnce(f.name, f.texts[:]...)
	}
	raced, atOnce := time.Since(began), u.Charged.Load()
	r.AwaitSpent("gateway", atOnce)
	var rest sync.WaitGroup
	limits := make(chan struct{}, 8) // at once
	for i, f := range families {
		rest.Go(func() {
			limits <- struct{}{}
			defer func() { <-limits }()
			f.spendRest(r, i%3, all)
		})
	}
	rest.Wait()
	charged := u.Charged.Load()
	r.AwaitSpent("gateway", charged)
	if charged > all.limit {
		t.Errorf("%d of %d are spent", charged, all.limit)
	}
	fullest := map[string]int64{"gateway": 100 * charged / all.limit}
	sum := int64(0)
	for _, f := range families {
		keys := [3]int64{}
		for i, k := range f.keys {
			keys[i] = spentOf(r, k.account)
			sum += keys[i]
		}
		for account, want := range map[payer]int64{
			f.keys[0]: keys[0], f.keys[1]: keys[1], f.keys[2]: keys[2], f.user: keys[0] + keys[1], f.team: keys[1] + keys[2],
		} {
			if got := spentOf(r, account.account); got != want || got > account.limit {
				t.Errorf("%s: %d of %d are spent, and %d by its calls", account.account, got, account.limit, want)
			}
			level := account.account[:4]
			fullest[level] = max(fullest[level], 100*want/account.limit)
		}
	}
	if sum != charged {
		t.Errorf("the keys have spent %d of %d", sum, charged)
	}
	r.AwaitBalance()
	t.Logf("%d trials in %s: %d served, $%s at once, $%s in the end; the fullest budgets in %% of the limit: %v",
		n, raced.Round(time.Millisecond), served, dollarsOf(atOnce), dollarsOf(charged), fullest)
}

// What a user or a team has spent counts from the first call, also where a budget is
// set later.
func TestABudgetThatIsSetLaterCountsWhatWasSpentBefore(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		u := gatewaytest.NewPricedUpstream(t)
		r := gatewaytest.StartReplicas(t, u, 1, settings...)
		p, token := r.Programs[0], r.Programs[0].Login(t)
		id, key := p.CreateKey(t, token)
		gatewaytest.Execute(t, r.DB, "INSERT INTO teams (id, name, created_at) VALUES ('t1', 'Research', 1)")
		gatewaytest.Execute(t, r.DB, "UPDATE api_keys SET team_id = 't1' WHERE id = ?", id)
		refusal := func() string {
			got := gatewaytest.Send(t.Context(), r.Client, p.URL, gatewaytest.PricedRequest(100, 500, 500, "later", false), key)
			if got.Served(t) {
				return ""
			}
			return gatewaytest.Answer{Status: got.Status, Body: got.Body}.APIError(t).Message
		}
		if told := refusal(); told != "" {
			t.Fatal(told)
		}
		for table, name := range map[string]string{"users": "your account", "teams": "the team Research"} {
			set := func(budget int64, told string) {
				gatewaytest.Execute(t, r.DB, "UPDATE "+table+" SET budget = ?, budget_window = 'month'", budget)
				gatewaytest.Until(t, told, func() bool { return strings.HasPrefix(refusal(), told) })
			}
			set(0, name+" has a budget of $0.00 a month, of which $0.00 is left")
			spent := u.Charged.Load() // without a budget of this level
			r.AwaitSpent("gateway", spent)
			set(spent+1, fmt.Sprintf("%s has a budget of $%s a month, of which $0.000001 is left", name, dollarsOf(spent+1)))
			if u.Charged.Load() != spent {
				t.Errorf("%s: a call was served", table)
			}
			gatewaytest.Execute(t, r.DB, "UPDATE "+table+" SET budget_window = ''")
			gatewaytest.Until(t, "calls are served", func() bool { return refusal() == "" })
		}
	})
}

// lane is a key of a user and a team, which one test changes after the other.
type lane struct{ table, id, key string }

func TestALoweredLimitOfAUserOrATeamHoldsOnEveryReplicaWithinASecond(t *testing.T) {
	t.Parallel()
	const lanes = 10
	u := gatewaytest.NewPricedUpstream(t)
	r := gatewaytest.StartReplicas(t, u, 2, "DATABASE_URL="+servertest.Postgres(t), "RATE_LIMIT_RPM=0")
	token := r.Programs[0].Login(t)
	var mu sync.Mutex
	var delays []time.Duration
	var all sync.WaitGroup
	defer all.Wait() // also where the test ends early
	for i := range lanes {
		f := newFamily(r, token, fmt.Sprint("lane", i))
		for _, table := range []string{"users", "teams"} {
			gatewaytest.Execute(t, r.DB, "UPDATE "+table+" SET budget_window = '' WHERE id = ?", f.name)
		}
		l := lane{[]string{"users", "teams"}[i%2], f.name, f.texts[1]}
		gatewaytest.Execute(t, r.DB, "UPDATE api_keys SET budget_window = ''")
		all.Go(func() {
			for range trials(2, 20) {
				d := l.lower(r)
				mu.Lock()
				delays = append(delays, d)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	slices.Sort(delays)
	worst := delays[len(delays)-1]
	t.Logf("%d changes: median %v, worst %v", len(delays), delays[len(delays)/2], worst)
	if worst > time.Second {
		t.Errorf("a call was served %v after the limit was lowered", worst)
	}
}

// lower takes away the budget and returns how long after that the last call began that
// was served by a replica.
func (l *lane) lower(r *gatewaytest.Replicas) time.Duration {
	served := func(i int) bool {
		body := gatewaytest.PricedRequest(1, 1, 1, l.id, false)
		got := gatewaytest.Send(r.T.Context(), r.Client, r.Programs[i].URL, body, l.key)
		for range 5 { // the database of a busy machine may be too slow for a call, which is then neither served nor refused
			if got.Err != nil || got.Status != http.StatusServiceUnavailable {
				break
			}
			got = gatewaytest.Send(r.T.Context(), r.Client, r.Programs[i].URL, body, l.key)
		}
		return got.Served(r.T)
	}
	gatewaytest.Execute(r.T, r.DB, "UPDATE "+l.table+" SET budget_window = '' WHERE id = ?", l.id)
	for i := range r.Programs {
		gatewaytest.Until(r.T, "calls are served", func() bool { return served(i) })
	}
	gatewaytest.Execute(r.T, r.DB, "UPDATE "+l.table+" SET budget = 0, budget_window = 'day' WHERE id = ?", l.id)
	lowered, last := time.Now(), time.Time{}
	for i := range r.Programs {
		for refused := 0; refused < 3; time.Sleep(5 * time.Millisecond) {
			began := time.Now()
			refused++
			if served(i) {
				refused, last = 0, began
			}
		}
	}
	return max(last.Sub(lowered), 0)
}
