package faults

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// holding is what a gateway holds while it answers.
type holding struct {
	goroutines, inFlight float64
	descriptors          int
	upstream             int64 // calls that the upstream is answering
}

// holds measures what is left when nobody asks: after everything unused has
// been closed on both sides.
func holds(t testing.TB, g *gateway, u *upstream) holding {
	t.Helper()
	u.dropIdle()
	http.DefaultClient.CloseIdleConnections()
	return holding{
		goroutines: g.metric(t, "go_goroutines"), inFlight: g.metric(t, "modelgateway_http_requests_in_flight"),
		descriptors: g.descriptors(t), upstream: u.live(),
	}
}

// atRest is what is held when nothing changes any more.
func atRest(t testing.TB, g *gateway, u *upstream) holding {
	t.Helper()
	now, same := holds(t, g, u), 0
	within(t, 20*time.Second, "the gateway comes to rest", func() bool {
		time.Sleep(50 * time.Millisecond)
		next := holds(t, g, u)
		if next != now {
			same = 0
		}
		now = next
		same++
		return same >= 10
	})
	return now
}

// near says whether nothing has been left behind since before.
func (h holding) near(before holding) bool {
	const slack = 5
	return h.upstream == before.upstream && h.inFlight == before.inFlight &&
		h.goroutines <= before.goroutines+slack && h.descriptors <= before.descriptors+slack
}

// settles waits until no more is held than before, and says what was.
func settles(t testing.TB, g *gateway, u *upstream, before holding, limit time.Duration) (after holding, took time.Duration) {
	t.Helper()
	began := time.Now()
	for {
		after, took = holds(t, g, u), time.Since(began)
		if after.near(before) {
			return after, took
		}
		if took > limit {
			t.Errorf("%s later it still holds %+v, before it was %+v", limit, after, before)
			return after, took
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// answersAll makes an answer and a stream of each provider, which have to be whole.
func answersAll(t testing.TB, g *gateway, client *http.Client) {
	t.Helper()
	for _, model := range models {
		for _, stream := range []bool{false, true} {
			if s := chat(t.Context(), client, g.url, ask(model, "mark=whole", stream)); !s.whole(wholeText("whole", 3)) {
				t.Errorf("%s, stream %v: %s", model, stream, s)
			}
		}
	}
	client.CloseIdleConnections()
}

// leaver is a client that does not stay for what it asked for.
type leaver struct {
	mark  string
	heard int // bytes of the answer
	left  time.Time
	err   error // it did not even get to ask
}

// leave asks, stays for a while, and closes its connection: in order or, when
// it is killed, with a reset.
func leave(address, mark string, dice *rand.Rand) (l leaver) {
	l.mark = mark
	conn, err := net.DialTimeout("tcp", address, 10*time.Second)
	if err != nil {
		l.err = err
		return l
	}
	const longest = 600 * time.Millisecond
	words, stream := "mark="+mark+" first=10ms every=25ms chunks=6000", true
	switch dice.IntN(4) {
	case 0: // its header comes late
		words = "mark=" + mark + " first=300ms every=10ms chunks=6000"
	case 1: // the header never comes while somebody listens
		words, stream = "mark="+mark+" first=60s", dice.IntN(2) == 0
	}
	body := ask(models[dice.IntN(len(models))], words, stream)
	request := fmt.Sprintf(
		"POST /v1/chat/completions HTTP/1.1\r\nHost: faults\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		len(body), body,
	)
	if dice.IntN(20) == 0 {
		request = request[:dice.IntN(len(request))] // it leaves while it is still asking
	}
	until := time.Now().Add(time.Duration(dice.Int64N(int64(longest))))
	_ = conn.SetDeadline(until.Add(time.Second))
	_, l.err = conn.Write([]byte(request))
	_ = conn.SetReadDeadline(until)
	heard := make([]byte, 16<<10)
	for err == nil {
		var n int
		n, err = conn.Read(heard)
		l.heard += n
	}
	if !timedOut(err) {
		l.err = fmt.Errorf("the gateway ended the call: %w, after %.300q", err, heard)
	}
	if dice.IntN(2) == 0 {
		_ = conn.(*net.TCPConn).SetLinger(0)
	}
	l.left = time.Now()
	_ = conn.Close()
	return l
}

// TestCallsOfClientsThatVanishAreCancelled has clients vanish at random
// moments: while they ask, before the header, while an answer is waited for,
// inside a stream. The upstream has to learn of it, and nothing may be left.
func TestCallsOfClientsThatVanishAreCancelled(t *testing.T) {
	u := startUpstream(t)
	g := startGateway(t, providersAt(u, "MAX_IN_FLIGHT=200", "MAX_IN_FLIGHT_PER_CALLER=200")...)
	client := newClient(t)
	answersAll(t, g, client)
	before := atRest(t, g, u)
	clients := size(300, 10_000)
	leavers := make([]leaver, clients)
	address := strings.TrimPrefix(g.url, "http://")
	const atOnce = 100
	var working sync.WaitGroup
	for worker := range atOnce {
		working.Go(func() {
			dice := rand.New(rand.NewPCG(uint64(worker), 23))
			for i := worker; i < clients; i += atOnce {
				leavers[i] = leave(address, fmt.Sprintf("leaver%d", i), dice)
			}
		})
	}
	working.Wait()
	within(t, 10*time.Second, "every upstream call ends", func() bool { return u.live() == 0 })
	judgeLeavers(t, u, leavers)
	after, took := settles(t, g, u, before, 10*time.Second)
	figure(
		t, "what vanished clients leave behind", "%+v before, %+v %s after %d clients", before, after,
		took.Round(time.Millisecond), clients,
	)
	answersAll(t, g, client)
	slotsAreFree(t, g, u, client, 200)
}

// judgeLeavers holds what the upstream noticed against when the clients left.
func judgeLeavers(t *testing.T, u *upstream, leavers []leaver) {
	t.Helper()
	var lags []time.Duration
	inside := 0
	for _, l := range leavers {
		at, cancelled, ok := u.ended(l.mark)
		switch {
		case l.err != nil:
			t.Errorf("%s: %v", l.mark, l.err)
		case u.begun(l.mark) > 1:
			t.Errorf("%s: the upstream was called %d times", l.mark, u.begun(l.mark))
		case !ok: // it left before the gateway had called anybody
		case !cancelled || at.Before(l.left):
			t.Errorf("%s: the upstream call was cancelled: %v, %s after its client had left", l.mark, cancelled, at.Sub(l.left))
		default:
			lags = append(lags, at.Sub(l.left))
		}
		if l.heard > 0 {
			inside++
		}
	}
	if len(lags) < len(leavers)*3/4 || inside < len(leavers)/5 || inside > len(leavers)*4/5 {
		t.Fatalf(
			"of %d clients %d got as far as the upstream, %d heard something: the test is not what it should be",
			len(leavers), len(lags), inside,
		)
	}
	slices.Sort(lags)
	p99 := lags[len(lags)*99/100]
	figure(
		t,
		"from a client's leaving to the upstream's noticing",
		"p50 %s, p99 %s, longest %s (%d clients, %d upstream calls, %d inside a stream)",
		lags[len(lags)/2].Round(
			10*time.Microsecond,
		),
		p99.Round(10*time.Microsecond),
		lags[len(lags)-1].Round(10*time.Microsecond),
		len(leavers),
		len(lags),
		inside,
	)
	limit := 2 * time.Second // beside other tests
	if full() {
		limit = 500 * time.Millisecond
	}
	if p99 > limit {
		t.Errorf("p99 is %s, more than %s", p99, limit)
	}
}

// slotsAreFree holds as many calls as the gateway takes at once: all have to be
// admitted.
func slotsAreFree(t *testing.T, g *gateway, u *upstream, client *http.Client, slots int) {
	t.Helper()
	before := u.calls()
	var holding sync.WaitGroup
	for i := range slots {
		holding.Go(func() {
			mark := fmt.Sprintf("slot%d", i)
			if s := chat(t.Context(), client, g.url, ask(models[i%len(models)], "mark="+mark+" first=2s", i%2 == 0)); !s.whole(
				wholeText(mark, 3),
			) {
				t.Errorf("one of %d at once: %s", slots, s)
			}
		})
	}
	holding.Wait()
	if n := u.calls() - before; n != int64(slots) {
		t.Errorf("%d of %d calls reached the upstream: slots have leaked", n, slots)
	}
}
