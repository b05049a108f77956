package faults

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// steady calls all the time; every call must be served. stop ends it and
// returns how long the calls took.
func steady(t *testing.T, g *gateway) (stop func() *durations) {
	t.Helper()
	client, took := newClient(t), &durations{}
	ctx, cancel := context.WithCancel(t.Context())
	var wrong failures
	var calling sync.WaitGroup
	calling.Go(func() {
		const least = 20
		for i := 0; ctx.Err() == nil || i < least; i++ {
			mark, began := "steady"+strconv.Itoa(i), time.Now()
			if s := chat(context.Background(), client, g.url, chatRequest(models[i%len(models)], "mark="+mark, i%2 == 0)); !s.whole(
				wholeText(mark, 3),
			) {
				wrong.add(t, "another client's call: %s", s)
			}
			took.add(time.Since(began))
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	return func() *durations {
		cancel()
		calling.Wait()
		return took
	}
}

// request is a chat request as it goes over the wire.
func request(body string) string {
	return fmt.Sprintf(
		"POST /v1/chat/completions HTTP/1.1\r\nHost: faults\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		len(body), body,
	)
}

// TestClientsThatReadSlowlyCostLittle has clients request streams that are
// longer than the kernel's buffers, and read a byte a second. The gateway must
// not buffer what they do not read, and disconnects them when they have read
// nothing for half a minute.
func TestClientsThatReadSlowlyCostLittle(t *testing.T) {
	readers := size(20, 200)
	u := startUpstream(t)
	// The collector runs often, so that what is measured is not its garbage.
	g := startGateway(t, providersAt(u, "MAX_RETRIES=0", "GOGC=20")...)
	answersAll(t, g, newClient(t))
	base := idleResources(t, g, u)
	before := g.allocated(t)
	const pad = 4000
	words := fmt.Sprintf("mark=slow chunks=100000000 pad=%d stall=%d", pad, keptByKernel()*9/8/pad)
	conns := make([]net.Conn, readers)
	stop := make(chan struct{})
	var reading sync.WaitGroup
	for i := range conns {
		conns[i] = dialSmall(t, g)
		say(t, conns[i], request(chatRequest(models[i%len(models)], words, true)))
		reading.Go(func() { readSlowly(conns[i], stop) })
	}
	// It stops because the upstream stops, or because nothing more is taken from it.
	within(t, 2*time.Minute, "every stream stands still", func() bool { return u.begun("slow") == readers && u.stalled(time.Second) })
	stood, others := time.Now(), steady(t, g)
	each, live := (g.allocated(t)-before)/int64(readers), u.live()
	figure(t, "memory of a stream whose client hardly reads", "%d KiB (%d streams, of each %s have come)", each>>10,
		readers, mib(u.sent.Load()/int64(readers)))
	if each > 256<<10 {
		t.Errorf("%d streams that stand still take %d KiB each", readers, each>>10)
	}
	if !full() && live < int64(readers) {
		t.Errorf("%d of %d streams are live", live, readers)
	}
	leaving := size(readers, readers/2)
	left := time.Now()
	for _, conn := range conns[:leaving] {
		_ = conn.Close()
	}
	within(t, 10*time.Second, "the upstream calls of those who left are cancelled", func() bool {
		return u.live() <= int64(readers-leaving)+1 // the steady caller's
	})
	figure(t, "upstream calls of clients that hardly read and left are cancelled", "%s later (%d)",
		time.Since(left).Round(time.Millisecond), leaving)
	if full() {
		within(t, 45*time.Second, "the clients that hardly read are left", func() bool { return u.live() <= 1 })
		figure(t, "clients that hardly read are left", "%s after the last of their streams stood still (%d)",
			time.Since(stood).Round(time.Millisecond), readers-leaving)
	}
	figure(t, "calls of others while clients hardly read", "p99 %s", others().at(.99))
	close(stop)
	reading.Wait()
	awaitIdle(t, g, u, base, 10*time.Second)
}

// keptByKernel is how many bytes a Linux kernel keeps of what a connection has
// been given to send, see tcp_wmem in tcp(7); elsewhere it is less.
func keptByKernel() int {
	most := 4 << 20
	text, err := os.ReadFile("/proc/sys/net/ipv4/tcp_wmem")
	if fields := strings.Fields(string(text)); err == nil && len(fields) == 3 {
		if n, err := strconv.Atoi(fields[2]); err == nil {
			most = max(most, n)
		}
	}
	return most
}

// dialSmall connects a client whose kernel takes little that the client does
// not read.
func dialSmall(t *testing.T, g *gateway) net.Conn {
	t.Helper()
	dialer := &net.Dialer{Control: smallWindow}
	conn, err := dialer.Dial("tcp", strings.TrimPrefix(g.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// readSlowly reads a byte a second.
func readSlowly(conn net.Conn, stop <-chan struct{}) {
	drop := make([]byte, 1)
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
		}
		if _, err := conn.Read(drop); err != nil {
			return
		}
	}
}

// slowClient is a client that sends its request byte by byte.
type slowClient struct {
	head string // this much at once
	rest string // byte by byte; nothing follows
}

// sendSlowly sends until the server closes the connection, and returns how long
// that took.
func (d slowClient) sendSlowly(conn net.Conn, limit time.Duration) (time.Duration, error) {
	const every = 500 * time.Millisecond
	began := time.Now()
	answer := make([]byte, 4<<10)
	_, err := io.WriteString(conn, d.head)
	for i := 0; err == nil && time.Since(began) < limit; i++ {
		if i < len(d.rest) {
			_, err = io.WriteString(conn, d.rest[i:i+1])
		}
		_ = conn.SetReadDeadline(time.Now().Add(every))
		for err == nil {
			_, err = conn.Read(answer)
		}
		if timedOut(err) {
			err = nil
		}
	}
	if err == nil {
		return 0, fmt.Errorf("still open after %s", limit)
	}
	return time.Since(began), nil
}

// sendAllSlowly has many clients of each kind send slowly, while others call.
func sendAllSlowly(t *testing.T, what string, kinds []slowClient, limit time.Duration) {
	t.Helper()
	u := startUpstream(t)
	g := startGateway(t, providersAt(u)...)
	answersAll(t, g, newClient(t))
	base := idleResources(t, g, u)
	others := steady(t, g)
	sockets := size(200, 2000)
	var open durations
	var wrong failures
	atOnce(sockets, func(i int) {
		conn, err := net.Dial("tcp", strings.TrimPrefix(g.url, "http://"))
		if err != nil {
			wrong.add(t, "%s: %v", what, err)
			return
		}
		defer func() { _ = conn.Close() }()
		took, err := kinds[i%len(kinds)].sendSlowly(conn, limit)
		if err != nil {
			wrong.add(t, "%s: %v", what, err)
			return
		}
		open.add(took)
	})
	took := others()
	figure(t, what+" are closed", "after %s to %s (%d sockets); calls of others meanwhile: p50 %s, p99 %s", open.at(0),
		open.at(1), sockets, took.at(.5), took.at(.99))
	if p99 := took.at(.99); p99 > 2*time.Second {
		t.Errorf("meanwhile calls of others took %s", p99)
	}
	awaitIdle(t, g, u, base, 10*time.Second)
}

// atOnce does something many times at once.
func atOnce(n int, do func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { do(i) })
	}
	all.Wait()
}

// TestConnectionsThatSendHeadersSlowlyAreClosed sends headers byte by byte. A connection
// on which nothing has come is idle: it may have been opened ahead of its use.
func TestConnectionsThatSendHeadersSlowlyAreClosed(t *testing.T) {
	t.Parallel()
	sendAllSlowly(t, "headers that drip", []slowClient{
		{rest: "POST /v1/chat/completions HTTP/1.1\r\nHost: faults\r\nX-Slow: " + strings.Repeat("x", 1000)},
		{head: "POST /v1/chat/completions HTTP/1.1\r\nHost: faults\r\n", rest: "X-Slow: " + strings.Repeat("x", 1000)},
	}, 13*time.Second)
}

// TestConnectionsThatSendBodiesSlowlyAreClosed sends the header at once, and then the body byte
// by byte, in either framing.
func TestConnectionsThatSendBodiesSlowlyAreClosed(t *testing.T) {
	if !full() {
		t.Skip("takes half a minute: FAULTS=full")
	}
	const head = "POST /v1/chat/completions HTTP/1.1\r\nHost: faults\r\nContent-Type: application/json\r\n"
	sendAllSlowly(t, "bodies that drip", []slowClient{
		{head: head + "Content-Length: 1000\r\n\r\n", rest: `{"model":"` + strings.Repeat("x", 900)},
		{head: head + "Transfer-Encoding: chunked\r\n\r\n", rest: strings.Repeat("1\r\n \r\n", 200)},
		{head: head + "Content-Length: 1000\r\n\r\n"},
	}, 36*time.Second)
}

// TestMoreConnectionsThanDescriptors gives the gateway fewer descriptors than
// it has clients. Connected clients get an answer, though no upstream can be
// reached: that is not the providers' fault, and passes when the others
// disconnect.
func TestMoreConnectionsThanDescriptors(t *testing.T) {
	u := startUpstream(t)
	g := startGateway(t, providersAt(u, "MAX_RETRIES=0")...)
	const most, inside, crowd = 256, 30, 600
	if err := limitDescriptors(g.pid, most); err != nil {
		t.Fatal(err)
	}
	client := newClient(t)
	client.Transport.(*http.Transport).IdleConnTimeout = time.Minute // a client that disconnects cannot connect again
	visit := func(round int, wait time.Duration, check func(chatResult)) {
		atOnce(inside, func(i int) {
			mark := fmt.Sprintf("round%d:%d", round, i)
			check(chat(t.Context(), client, g.url, chatRequest(models[i%len(models)], fmt.Sprintf("mark=%s first=%s", mark, wait), false)))
		})
	}
	visit(0, 300*time.Millisecond, func(s chatResult) { // as many connections are made as are used at once
		if s.status != http.StatusOK {
			t.Errorf("before it gets tight: %s", s)
		}
	})
	idleResources(t, g, u) // without a connection to an upstream
	conns := make([]net.Conn, crowd)
	for i := range conns {
		conns[i] = dial(t, strings.TrimPrefix(g.url, "http://"))
	}
	within(t, 10*time.Second, "the gateway has no descriptor left", func() bool { return g.descriptors(t) >= most })
	var refused durations
	var wrong failures
	const rounds = 5
	for round := range rounds {
		began := time.Now()
		visit(1+round, 0, func(s chatResult) {
			refused.add(time.Since(began))
			// A call with a kept upstream connection is served.
			if !s.isRetryable() && (s.status != http.StatusOK || s.err != nil) {
				wrong.add(t, "without descriptors: %s", s)
			}
		})
	}
	for _, conn := range conns {
		_ = conn.Close()
	}
	took := within(t, 10*time.Second, "all is as before", func() bool {
		served := 0
		for _, model := range models {
			if s := chat(t.Context(), client, g.url, chatRequest(model, "mark=after", false)); s.whole(wholeText("after", 3)) {
				served++
			}
		}
		return served == len(models)
	})
	figure(
		t, "more connections than descriptors",
		"%d with %d: %d calls of those inside were refused, p99 after %s; served again %s after the crowd had gone",
		inside+crowd, most, rounds*inside, refused.at(.99), took.Round(time.Millisecond),
	)
	if took > 5*time.Second {
		t.Errorf("it took %s until the providers were asked again", took)
	}
	answersAll(t, g, newClient(t))
}
