package ratelimit

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"modelgateway/models"
	"modelgateway/tests/longtest"
	"modelgateway/tests/servertest"
)

func limitRedis(t testing.TB, address string) *redis.Client {
	t.Helper()
	client, err := models.OpenRedis(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client.(*redis.Client)
}

// client has every command.
func (q *Quotas) client() *redis.Client { return q.redis.(*redis.Client) }

// waitLong makes the limits wait for a Redis that other tests keep busy, so that a
// loaded machine does not look like a fault of Redis.
func waitLong(limits ...*Requests) *Requests {
	for _, l := range limits {
		l.shared.batches.ticks = 1000
	}
	return limits[0]
}

// replicas makes n limits of one name, each with its own connections, that wait long.
func replicas(t testing.TB, address string, n, perMinute int) []*Requests {
	t.Helper()
	all := make([]*Requests, n)
	for i := range all {
		all[i] = newTestLimit(t, "replicas", perMinute, limitRedis(t, address))
	}
	waitLong(all...)
	return all
}

// counted returns what Redis has counted for an account.
func counted(t testing.TB, client *redis.Client, l *Requests, account string) int64 {
	t.Helper()
	n, err := client.Get(t.Context(), requestPrefix+l.shared.batches.limit+":"+account).Int64()
	if err != nil {
		return 0
	}
	return n
}

// awaitShared waits until Redis counts the requests of the limit.
func awaitShared(t *testing.T, client *redis.Client, l *Requests) {
	t.Helper()
	began, late := time.Now(), longtest.Lateness(t)
	account := fmt.Sprint("recovery:", began.UnixNano())
	for time.Since(began) < 5*time.Second+late() {
		sequential(t, l, account, 1)
		if counted(t, client, l, account) > 0 {
			t.Logf("shared again after %s", time.Since(began).Round(time.Millisecond))
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the limit is not shared again five seconds after Redis is back")
}

func TestExactlyTheLimitOfConcurrentRequestsPassesOnTwoReplicas(t *testing.T) {
	const perMinute, trials = 200, 20
	address := servertest.Redis(t)
	both := replicas(t, address, 2, perMinute)
	for trial := range trials {
		if passed := concurrent(t, fmt.Sprint("key:", trial), perMinute+500, both...); passed != perMinute {
			t.Errorf("trial %d: %d passed", trial, passed)
		}
	}
}

// With a round trip for each request, the connections of the pool would be busy for
// longer than a request waits.
func TestConcurrentRequestsShareRoundTrips(t *testing.T) {
	const perMinute, requests = 100, 1000
	server := servertest.StartRedis(t)
	admin := limitRedis(t, server.URL)
	slow := newDelay(t, server.URL)
	l := replicas(t, slow.url, 1, perMinute)[0]
	sequential(t, l, "warm", 1)
	slow.each.Store(int64(150 * time.Millisecond)) // more than the time-outs of the client
	if err := admin.ConfigResetStat(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if passed := concurrent(t, "a", requests, l); passed != perMinute {
		t.Errorf("%d passed", passed)
	}
	if n := counted(t, admin, l, "a"); n != requests {
		t.Errorf("Redis has counted %d", n)
	}
	if n := scriptCalls(t, admin); n < 2 || n > 20 {
		t.Errorf("%d scripts were run", n)
	}
}

// scriptCalls returns how many scripts Redis has run.
func scriptCalls(t *testing.T, admin *redis.Client) (n int) {
	t.Helper()
	stats := admin.Info(t.Context(), "commandstats").Val()
	_, calls, _ := strings.Cut(stats, "cmdstat_evalsha:calls=")
	if _, err := fmt.Sscanf(calls, "%d,", &n); err != nil {
		t.Fatalf("%v in %q", err, stats)
	}
	return n
}

func TestRemainingRequestsAreThoseOfAllReplicas(t *testing.T) {
	both := replicas(t, servertest.Redis(t), 2, 10)
	for i := range 20 {
		q, err := both[i%2].Take(t.Context(), "a", nil)
		if want := int64(max(9-i, 0)); q.Limit != 10 || q.Remaining != want || q.Reset > time.Minute || q.Reset < 50*time.Second {
			t.Errorf("request %d: %+v", i, q)
		}
		if (err != nil) != (i >= 10) {
			t.Errorf("request %d: %v", i, err)
		}
		if err != nil {
			checkRefusal(t, err)
		}
	}
}

func TestWindowsEndInRedis(t *testing.T) {
	t.Parallel()
	client := limitRedis(t, servertest.Redis(t))
	l := newTestLimit(t, "short", 3, client)
	var err error
	const window = 1500 * time.Millisecond
	opts := RequestOptions{Name: "short", Redis: client, Log: slog.New(slog.DiscardHandler)}
	if l.shared, err = newSharedRequests(opts, window); err != nil {
		t.Fatal(err)
	}
	waitLong(l)
	for range 3 {
		if passed := sequential(t, l, "a", 9); passed != 3 {
			t.Errorf("%d passed", passed)
		}
		q, _ := l.Take(t.Context(), "a", nil)
		if q.Reset <= 0 || q.Reset > window {
			t.Fatalf("%+v", q)
		}
		time.Sleep(q.Reset + 5*time.Millisecond) // not a millisecond too early
	}
}

func TestAccountsAndLimitsAreCountedSeparatelyInRedis(t *testing.T) {
	client := limitRedis(t, servertest.Redis(t))
	for _, name := range []string{"v1", "auth"} {
		l := waitLong(newTestLimit(t, name, 3, client))
		for _, account := range []string{
			"", " ", "a", "A", "a:b", "address:::1", "address:2001:db8::1", "user:{x}", "a\r\nFLUSHALL\r\n", "a\x00b", "*", "\xff\xfe", strings.Repeat("x", 100_000),
		} {
			if passed := sequential(t, l, account, 9); passed != 3 {
				t.Errorf("%.20q: %d passed", account, passed)
			}
			if n := counted(t, client, l, account); n != 9 {
				t.Errorf("%.20q: Redis has counted %d", account, n)
			}
		}
	}
}

func TestARequestWhoseClientHasLeftIsCounted(t *testing.T) {
	client := limitRedis(t, servertest.Redis(t))
	l := waitLong(newTestLimit(t, "gone", 1000, client))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for range 10 {
		if _, err := l.Take(gone, "a", nil); err != nil {
			t.Error(err)
		}
	}
	if n := counted(t, client, l, "a"); n != 10 {
		t.Errorf("Redis has counted %d", n)
	}
}

// During each fault of Redis a request waits 50 ms at most, no request fails, and
// the limit holds. Within five seconds after it the limit is shared again.
func TestLimitsHoldDuringEachFaultOfRedis(t *testing.T) {
	faults := map[string]func(*testing.T) (address string, fail, repair func()){
		"stopped": func(t *testing.T) (string, func(), func()) {
			s := servertest.StartRedis(t)
			return s.URL, s.Stop, s.Restart
		},
		"killed": func(t *testing.T) (string, func(), func()) {
			s := servertest.StartRedis(t)
			return s.URL, s.Kill, s.Restart
		},
		"frozen": func(t *testing.T) (string, func(), func()) {
			s := servertest.StartRedis(t)
			return s.URL, s.Freeze, s.Thaw
		},
		"slow": func(t *testing.T) (string, func(), func()) {
			d := newDelay(t, servertest.StartRedis(t).URL)
			return d.url, func() { d.each.Store(int64(2 * time.Second)) }, func() { d.each.Store(0) }
		},
		"full": func(t *testing.T) (string, func(), func()) {
			s := servertest.StartRedis(t)
			admin := limitRedis(t, s.URL)
			set := func(bytes string) func() {
				return func() {
					if err := admin.ConfigSet(t.Context(), "maxmemory", bytes).Err(); err != nil {
						t.Error(err)
					}
				}
			}
			return s.URL, set("1"), set("0")
		},
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, fail, repair := fault(t)
			var log lockedText
			client := limitRedis(t, address)
			l, err := NewRequests(RequestOptions{
				Name: "outlive", PerMinute: 50, Redis: client, Log: slog.New(slog.NewTextHandler(&log, nil)),
			})
			if err != nil {
				t.Fatal(err)
			}
			if passed := sequential(t, waitLong(l), "before", 20); passed != 20 || counted(t, client, l, "before") != 20 {
				t.Errorf("%d passed, Redis has counted %d", passed, counted(t, client, l, "before"))
			}
			fail()
			l.shared.batches.ticks = redisTicks
			checkLatency(t, l)
			if passed := sequential(t, l, "before", 100); passed != 30 {
				t.Errorf("%d passed after the 20 before", passed)
			}
			if passed := concurrent(t, "during", 550, l); passed != 50 {
				t.Errorf("%d concurrent requests passed", passed)
			}
			repair()
			awaitShared(t, client, l)
			other := newTestLimit(t, "outlive", 50, limitRedis(t, address))
			waitLong(l, other)
			if passed := concurrent(t, "after", 550, l, other); passed != 50 {
				t.Errorf("%d concurrent requests passed after Redis is back", passed)
			}
			if text := log.String(); strings.Count(text, "counts this limit by itself") != 1 ||
				strings.Count(text, "share this limit") != 1 {
				t.Errorf("the log says:\n%s", text)
			}
		})
	}
}

// checkLatency sends 400 requests a second for three seconds, each of another
// account, and checks how long they take.
func checkLatency(t *testing.T, l *Requests) {
	t.Helper()
	const requests = 1200
	took := make([]time.Duration, requests)
	late := machineLateness()
	var all sync.WaitGroup
	tick := time.NewTicker(2500 * time.Microsecond)
	defer tick.Stop()
	for i := range took {
		<-tick.C
		all.Go(func() {
			began := time.Now()
			_, err := l.Take(t.Context(), fmt.Sprint("address:", i), nil)
			took[i] = time.Since(began)
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	slices.Sort(took)
	median, p99, most, lateness := took[requests/2], took[requests*99/100], took[requests-1], late()
	t.Logf("added: median %s, p99 %s, at most %s; the machine itself is late by %s", median, p99, most, lateness)
	if median > 5*time.Millisecond || p99 > 50*time.Millisecond+lateness || most > 150*time.Millisecond+lateness {
		t.Error("requests wait too long")
	}
}

// machineLateness measures, until the returned function is called, by how much a
// wait of redisTicks is late on this machine at most.
func machineLateness() (worst func() time.Duration) {
	stop, found := make(chan struct{}), make(chan time.Duration)
	go func() {
		var most time.Duration
		for {
			began := time.Now()
			for range redisTicks {
				select {
				case <-stop:
					found <- most
					return
				case <-time.After(redisTick):
				}
			}
			most = max(most, time.Since(began)-redisTicks*redisTick)
		}
	}()
	return func() time.Duration { close(stop); return <-found }
}

// A Redis that has never answered does not keep the gateway from starting.
func TestALimitStartsWithoutRedis(t *testing.T) {
	for name, fail := range map[string]func(*servertest.RedisServer) (repair func()){
		"refused": func(s *servertest.RedisServer) func() { s.Stop(); return s.Restart },
		"frozen":  func(s *servertest.RedisServer) func() { s.Freeze(); return s.Thaw },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := servertest.StartRedis(t)
			repair := fail(server)
			client := limitRedis(t, server.URL)
			began, late := time.Now(), longtest.Lateness(t)
			l := newTestLimit(t, "start", 50, client)
			if took := time.Since(began); took > 10*time.Millisecond+late() {
				t.Errorf("NewRequests took %s", took)
			}
			checkLatency(t, l)
			if passed := sequential(t, l, "a", 100); passed != 50 {
				t.Errorf("%d passed", passed)
			}
			repair()
			awaitShared(t, client, l)
		})
	}
}

func TestScriptsThatRedisHasLostAreLoadedAgain(t *testing.T) {
	const perMinute = 100
	address := servertest.Redis(t)
	client := limitRedis(t, address)
	both := replicas(t, address, 2, perMinute)
	for trial := range 10 {
		account := fmt.Sprint("key:", trial)
		passed := sequential(t, both[0], account, 10)
		if err := client.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		if passed += concurrent(t, account, perMinute+500, both...); passed != perMinute {
			t.Errorf("%d passed", passed)
		}
		if n := counted(t, client, both[0], account); n != perMinute+510 {
			t.Errorf("Redis has counted %d", n)
		}
	}
}

func TestAnEmptiedRedisCountsFromZero(t *testing.T) {
	address := servertest.Redis(t)
	client := limitRedis(t, address)
	l := replicas(t, address, 1, 50)[0]
	for range 3 {
		if passed := concurrent(t, "a", 550, l); passed != 50 {
			t.Errorf("%d passed", passed)
		}
		if err := client.FlushDB(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCountersWithoutAnExpiryAreRepairedInRedis(t *testing.T) {
	client := limitRedis(t, servertest.Redis(t))
	l := waitLong(newTestLimit(t, "repair", 5, client))
	for _, tt := range []struct {
		count  int
		left   time.Duration // 0: for ever
		passes bool
	}{
		{count: 99, passes: false},
		{count: 2, passes: true},
		{count: 99, left: time.Hour, passes: false},
		{count: 2, left: 1000 * time.Hour, passes: true},
	} {
		account := fmt.Sprint(tt)
		key := requestPrefix + "repair:" + account
		if err := client.Set(t.Context(), key, tt.count, tt.left).Err(); err != nil {
			t.Fatal(err)
		}
		q, err := l.Take(t.Context(), account, nil)
		if (err == nil) != tt.passes || q.Reset > time.Minute || q.Reset < 59*time.Second {
			t.Errorf("%v: %+v, %v", tt, q, err)
		}
		if err != nil {
			checkRefusal(t, err)
		}
		if left := client.PTTL(t.Context(), key).Val(); left <= 0 || left > time.Minute {
			t.Errorf("%v: the counter ends in %s", tt, left)
		}
	}
	if counted(t, client, l, "x") != 0 || sequential(t, l, "x", 9) != 5 || counted(t, client, l, "x") != 9 {
		t.Error("Redis is not used any more")
	}
}

// A key that something else has written is Redis's failure, not the caller's.
func TestAKeyOfAnotherTypeInRedisFailsNoRequest(t *testing.T) {
	client := limitRedis(t, servertest.Redis(t))
	l := newTestLimit(t, "kind", 5, client)
	if err := client.LPush(t.Context(), requestPrefix+"kind:a", "x").Err(); err != nil {
		t.Fatal(err)
	}
	if passed := sequential(t, l, "a", 9); passed != 5 {
		t.Errorf("%d passed", passed)
	}
	awaitShared(t, client, l)
}

// delay is a proxy in front of Redis that holds each answer back.
type delay struct {
	url  string
	each atomic.Int64 // nanoseconds
}

func newDelay(t *testing.T, target string) *delay {
	t.Helper()
	opts, err := redis.ParseURL(target)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &delay{url: strings.Replace(target, opts.Addr, listener.Addr().String(), 1)}
	stop := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { d.serve(client, opts.Addr, stop) })
		}
	})
	t.Cleanup(func() {
		close(stop)
		_ = listener.Close()
		running.Wait()
	})
	return d
}

func (d *delay) serve(client net.Conn, target string, stop <-chan struct{}) {
	server, err := net.Dial("tcp", target)
	if err != nil {
		_ = client.Close()
		return
	}
	var both sync.WaitGroup
	ended := make(chan struct{})
	both.Go(func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	})
	both.Go(func() {
		d.answer(client, server, stop)
		_ = client.Close()
	})
	go func() { // ends with stop or with the connection
		select {
		case <-stop:
			_, _ = client.Close(), server.Close()
		case <-ended:
		}
	}()
	both.Wait()
	close(ended)
}

func (d *delay) answer(client io.Writer, server io.Reader, stop <-chan struct{}) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := server.Read(buffer)
		if err != nil {
			return
		}
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(d.each.Load())):
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// lockedText is a log that is read while it is written.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func TestAnAccountsOwnLimitIsSharedWhereTheGatewayHasNone(t *testing.T) {
	server := servertest.StartRedis(t)
	both := replicas(t, server.URL, 2, 0)
	var passed int
	for i := range 20 {
		if _, err := both[i%2].Take(t.Context(), "a", ofRPM("a", 7)); err == nil {
			passed++
		}
	}
	if passed != 7 || !both[0].Shared() {
		t.Errorf("%d passed, shared: %v", passed, both[0].Shared())
	}
	server.Stop()
	if _, err := both[0].Take(t.Context(), "b", ofRPM("b", 7)); err != nil || both[0].Shared() {
		t.Errorf("%v, shared: %v", err, both[0].Shared())
	}
}
