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

// resources are what a gateway uses while it answers.
type resources struct {
	goroutines, inFlight float64
	descriptors          int
	upstream             int64 // calls that the upstream is answering
}

// resourcesOf measures what an idle gateway uses: after everything unused has
// been closed on both sides.
func resourcesOf(t testing.TB, g *gateway, u *upstream) resources {
	t.Helper()
	u.dropIdle()
	http.DefaultClient.CloseIdleConnections()
	return resources{
		goroutines: g.metric(t, "go_goroutines"), inFlight: g.metric(t, "modelgateway_http_requests_in_flight"),
		descriptors: g.descriptors(t), upstream: u.live(),
	}
}

// idleResources returns the resources when they do not change any more.
func idleResources(t testing.TB, g *gateway, u *upstream) resources {
	t.Helper()
	now, same := resourcesOf(t, g, u), 0
	within(t, 20*time.Second, "the gateway comes to rest", func() bool {
		time.Sleep(50 * time.Millisecond)
		next := resourcesOf(t, g, u)
		if next != now {
			same = 0
		}
		now = next
		same++
		return same >= 10
	})
	return now
}

// noMoreThan reports whether no resource has been leaked since before.
func (h resources) noMoreThan(before resources) bool {
	const slack = 5
	return h.upstream == before.upstream && h.inFlight == before.inFlight &&
		h.goroutines <= before.goroutines+slack && h.descriptors <= before.descriptors+slack
}

// awaitIdle waits until no more is used than before, and returns what is used.
func awaitIdle(t testing.TB, g *gateway, u *upstream, before resources, limit time.Duration) (after resources, took time.Duration) {
	t.Helper()
	began := time.Now()
	for {
		after, took = resourcesOf(t, g, u), time.Since(began)
		if after.noMoreThan(before) {
			return after, took
		}
		if took > limit {
			t.Errorf("%s later it still holds %+v, before it was %+v", limit, after, before)
			return after, took
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// answersAll checks a complete answer and a complete stream of each provider.
func answersAll(t testing.TB, g *gateway, client *http.Client) {
	t.Helper()
	for _, model := range models {
		for _, stream := range []bool{false, true} {
			if s := chat(t.Context(), client, g.url, chatRequest(model, "mark=whole", stream)); !s.whole(wholeText("whole", 3)) {
				t.Errorf("%s, stream %v: %s", model, stream, s)
			}
		}
	}
	client.CloseIdleConnections()
}

// disconnecting is a client that disconnects before the end of its answer.
type disconnecting struct {
	mark  string
	heard int // bytes of the answer
	left  time.Time
	err   error // it could not send its request
}

// leave sends a request, waits for a while, and closes its connection: with a
// FIN or, when it is killed, with a RST.
func leave(address, mark string, random *rand.Rand) (l disconnecting) {
	l.mark = mark
	conn, err := net.DialTimeout("tcp", address, 10*time.Second)
	if err != nil {
		l.err = err
		return l
	}
	const longest = 600 * time.Millisecond
	words, stream := "mark="+mark+" first=10ms every=25ms chunks=6000", true
	switch random.IntN(4) {
	case 0: // its header comes late
		words = "mark=" + mark + " first=300ms every=10ms chunks=6000"
	case 1: // the header never comes before the client disconnects
		words, stream = "mark="+mark+" first=60s", random.IntN(2) == 0
	}
	body := chatRequest(models[random.IntN(len(models))], words, stream)
	request := fmt.Sprintf(
		"POST /v1/chat/completions HTTP/1.1\r\nHost: faults\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		len(body), body,
	)
	if random.IntN(20) == 0 {
		request = request[:random.IntN(len(request))] // it disconnects while it sends its request
	}
	until := time.Now().Add(time.Duration(random.Int64N(int64(longest))))
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
	if random.IntN(2) == 0 {
		_ = conn.(*net.TCPConn).SetLinger(0)
	}
	l.left = time.Now()
	_ = conn.Close()
	return l
}

// TestCallsOfClientsThatDisconnectAreCancelled has clients disconnect at random
// moments: while they send, before the header, during an answer, inside a
// stream. The upstream has to notice it, and nothing may be leaked.
func TestCallsOfClientsThatDisconnectAreCancelled(t *testing.T) {
	u := startUpstream(t)
	g := startGateway(t, providersAt(u, "MAX_IN_FLIGHT=200", "MAX_IN_FLIGHT_PER_CALLER=200")...)
	client := newClient(t)
	answersAll(t, g, client)
	before := idleResources(t, g, u)
	clients := size(300, 10_000)
	disconnected := make([]disconnecting, clients)
	address := strings.TrimPrefix(g.url, "http://")
	const atOnce = 100
	var working sync.WaitGroup
	for worker := range atOnce {
		working.Go(func() {
			random := rand.New(rand.NewPCG(uint64(worker), 23))
			for i := worker; i < clients; i += atOnce {
				disconnected[i] = leave(address, fmt.Sprintf("leaver%d", i), random)
			}
		})
	}
	working.Wait()
	within(t, 10*time.Second, "every upstream call ends", func() bool { return u.live() == 0 })
	checkDisconnected(t, u, disconnected)
	after, took := awaitIdle(t, g, u, before, 10*time.Second)
	figure(t, "what vanished clients leave behind", "%+v before, %+v %s after %d clients", before, after,
		took.Round(time.Millisecond), clients)
	answersAll(t, g, client)
	slotsAreFree(t, g, u, client, 200)
}

// checkDisconnected compares when the upstream noticed the disconnects with
// when they happened.
func checkDisconnected(t *testing.T, u *upstream, disconnected []disconnecting) {
	t.Helper()
	var lags []time.Duration
	inside := 0
	for _, l := range disconnected {
		at, cancelled, ok := u.ended(l.mark)
		switch {
		case l.err != nil:
			t.Errorf("%s: %v", l.mark, l.err)
		case u.begun(l.mark) > 1:
			t.Errorf("%s: the upstream was called %d times", l.mark, u.begun(l.mark))
		case !ok: // it disconnected before the gateway had called an upstream
		case !cancelled || at.Before(l.left):
			t.Errorf("%s: the upstream call was cancelled: %v, %s after its client had left", l.mark, cancelled, at.Sub(l.left))
		default:
			lags = append(lags, at.Sub(l.left))
		}
		if l.heard > 0 {
			inside++
		}
	}
	if len(lags) < len(disconnected)*3/4 || inside < len(disconnected)/5 || inside > len(disconnected)*4/5 {
		t.Fatalf("of %d clients %d got as far as the upstream, %d heard something: the test is not what it should be",
			len(disconnected), len(lags), inside)
	}
	slices.Sort(lags)
	p99 := lags[len(lags)*99/100]
	figure(
		t,
		"from a client's leaving to the upstream's noticing",
		"p50 %s, p99 %s, longest %s (%d clients, %d upstream calls, %d inside a stream)",
		lags[len(lags)/2].Round(10*time.Microsecond),
		p99.Round(10*time.Microsecond),
		lags[len(lags)-1].Round(10*time.Microsecond),
		len(disconnected),
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

// slotsAreFree makes as many concurrent calls as the gateway allows: all have
// to be admitted.
func slotsAreFree(t *testing.T, g *gateway, u *upstream, client *http.Client, slots int) {
	t.Helper()
	before := u.calls()
	var resources sync.WaitGroup
	for i := range slots {
		resources.Go(func() {
			mark := fmt.Sprintf("slot%d", i)
			if s := chat(t.Context(), client, g.url, chatRequest(models[i%len(models)], "mark="+mark+" first=2s", i%2 == 0)); !s.whole(
				wholeText(mark, 3),
			) {
				t.Errorf("one of %d at once: %s", slots, s)
			}
		})
	}
	resources.Wait()
	if n := u.calls() - before; n != int64(slots) {
		t.Errorf("%d of %d calls reached the upstream: slots have leaked", n, slots)
	}
}
