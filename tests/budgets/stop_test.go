package budgets

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/servertest"
	"modelgateway/tests/storetest"
)

// markedUpstream is an upstream whose calls end when ends is closed, never end, or
// write without end, as their marks say: ENDS-, LASTS- or FLOODS-. It counts the
// calls of each mark.
type markedUpstream struct {
	url   string
	ends  chan struct{} // closed when calls marked ENDS end
	mu    sync.Mutex
	asked map[string]int
}

var markPattern = regexp.MustCompile(`(ENDS|LASTS|FLOODS)-[a-z0-9-]+`)

func newMarkedUpstream(t testing.TB) *markedUpstream {
	t.Helper()
	u := &markedUpstream{ends: make(chan struct{}), asked: map[string]int{}}
	u.url = gatewaytest.ServeUpstream(t, u)
	return u
}

func (u *markedUpstream) marks() map[string]int {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := make(map[string]int, len(u.asked))
	for mark, n := range u.asked {
		all[mark] = n
	}
	return all
}

func (u *markedUpstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	mark := markPattern.FindString(string(body))
	stream := strings.Contains(string(body), `"stream":true`)
	d, c := gatewaytest.OpenAIDialect(), &gatewaytest.Charges{Prompt: 10, Output: 20}
	if stream {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, d.Start(c)+d.Text("Twice ", c))
		_ = http.NewResponseController(w).Flush()
	}
	u.mu.Lock()
	u.asked[mark]++
	u.mu.Unlock()
	switch {
	case strings.HasPrefix(mark, "FLOODS"):
		for text := d.Text(strings.Repeat("tide ", 4<<10), c); r.Context().Err() == nil; {
			if _, err := io.WriteString(w, text); err != nil {
				return
			}
		}
		return
	case strings.HasPrefix(mark, "LASTS"):
		<-r.Context().Done()
		return
	}
	select {
	case <-u.ends:
	case <-r.Context().Done():
		return
	}
	if stream {
		_, _ = io.WriteString(w, d.End(c))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, d.Answer("Twice", c))
}

func markedRequest(mark string, stream bool) string {
	return fmt.Sprintf(`{"model":"gpt-4","messages":[{"role":"user","content":"%s"}],"max_tokens":50,"stream":%t}`, mark, stream)
}

// call sends a request under its mark and reads its answer until it ends or breaks.
func (u *markedUpstream) call(ctx context.Context, client *http.Client, url, mark, key string, stream bool) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", strings.NewReader(markedRequest(mark, stream)))
	if err != nil {
		return
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Request-Id", mark)
	req.Header.Set("X-Api-Key", key)
	if resp, err := client.Do(req); err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
}

// sendWithoutReading sends a request and reads no answer. The connection stays open
// until the test ends.
func sendWithoutReading(t testing.TB, url, mark, key string) {
	t.Helper()
	address := strings.TrimPrefix(url, "http://")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	body := markedRequest(mark, true)
	_, err = fmt.Fprintf(
		conn,
		"POST /v1/chat/completions HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nX-Request-Id: %s\r\nX-Api-Key: %s\r\nContent-Length: %d\r\n\r\n%s",
		address, mark, key, len(body), body,
	)
	if err != nil {
		t.Fatal(err)
	}
}

func TestShutdownDuring200CallsRecordsEachOfThem(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		u := newMarkedUpstream(t)
		p := gatewaytest.Launch(
			t,
			nil,
			append(settings, "OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL="+u.url, "MAX_RETRIES=0", "REQUIRE_AUTH=true", gatewaytest.JWTSecret,
				"SHUTDOWN_GRACE_SECONDS=6", "LOG_LEVEL=info", "MAX_BUDGET_USD=100", "MAX_IN_FLIGHT_PER_CALLER=1000")...)
		_, key := p.CreateLimitedKey(t, p.Login(t), `"budget_usd":50,"max_parallel_requests":1000`)
		client := gatewaytest.ParallelClient(t)
		const calls, floods, most = 200, 10, 50
		var all sync.WaitGroup
		for i := range calls {
			mark := fmt.Sprint([]string{"ENDS", "LASTS"}[i/2%2], "-", i)
			all.Go(func() { u.call(t.Context(), client, p.URL, mark, key, i%2 == 0) })
		}
		for i := range floods {
			sendWithoutReading(t, p.URL, fmt.Sprint("FLOODS-", i), key)
		}
		gatewaytest.Until(t, "all are under way", func() bool { return len(u.marks()) == calls+floods })
		p.Signal(t, syscall.SIGTERM)
		gatewaytest.Until(t, "it stops",
			func() bool { return strings.Contains(p.Log.String(), "stopping: running requests may finish") })
		close(u.ends)
		all.Wait()
		if code := p.Wait(t); code != 0 {
			t.Errorf("it ended with %d", code)
		}
		db := gatewaytest.OpenDatabase(t, settings)
		rows, err := db.QueryContext(t.Context(),
			"SELECT request_id, outcome, status, stream, input_tokens, output_tokens, estimated FROM ledger_calls")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = rows.Close() }()
		asked := u.marks()
		for rows.Next() {
			var mark, outcome string
			var status, in, out int
			var stream, estimated bool
			if err := rows.Scan(&mark, &outcome, &status, &stream, &in, &out, &estimated); err != nil {
				t.Fatal(err)
			}
			if asked[mark]--; asked[mark] < 0 {
				t.Errorf("%s: %d rows too many", mark, -asked[mark])
			}
			switch {
			case strings.HasPrefix(mark, "ENDS"):
				if outcome != "ok" || status != 200 || in != 10 || out != 20 || estimated {
					t.Errorf("%s: %s %d, %d and %d tokens, %t", mark, outcome, status, in, out, estimated)
				}
			case strings.HasPrefix(mark, "LASTS"):
				want, tokens := http.StatusServiceUnavailable, most // of an answer whose length is not known
				if stream {
					want, tokens = http.StatusOK, out
				}
				if outcome != "stopped" || status != want || in == 0 || out == 0 || out != tokens || !estimated {
					t.Errorf("%s: %s %d, %d and %d tokens, %t", mark, outcome, status, in, out, estimated)
				}
			default:
				if outcome != "stopped" && outcome != "client_gone" || in == 0 || out == 0 || !estimated {
					t.Errorf("%s: %s %d, %d and %d tokens, %t", mark, outcome, status, in, out, estimated)
				}
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		for mark, n := range asked {
			if n != 0 {
				t.Errorf("%s: %d rows are missing", mark, n)
			}
		}
		for query, want := range map[string]int64{
			"SELECT count(*) FROM ledger_calls":                  calls + floods,
			"SELECT count(*) FROM budget_holds WHERE amount > 0": 0,
			"SELECT count(*) FROM replicas":                      0,
		} {
			if got := gatewaytest.Sum(t, db, query); got != want {
				t.Errorf("%s: %d, not %d", query, got, want)
			}
		}
		if sum := storetest.Usage(t, db); sum.Calls != calls+floods {
			t.Errorf("the sums are %+v", sum)
		}
		if log := p.Log.String(); strings.Contains(log, "not in the ledger") || strings.Contains(log, "not given back") {
			t.Errorf("the log: %s", log)
		}
	})
}

func TestShutdownWithAFrozenDatabaseLogsHowManyRowsAreLost(t *testing.T) {
	t.Parallel()
	server, u := servertest.StartPostgres(t), gatewaytest.NewPricedUpstream(t)
	p := gatewaytest.Launch(t, nil, u.Settings("DATABASE_URL="+server.URL, "SHUTDOWN_GRACE_SECONDS=2", "REQUIRE_AUTH=false")...)
	_, key := p.CreateLimitedKey(t, p.Login(t), `"budget_usd":50`)
	client := gatewaytest.ParallelClient(t)
	for i := range 3 {
		gatewaytest.Send(t.Context(), client, p.URL, gatewaytest.PricedRequest(10, 10, 10, fmt.Sprint("before-", i), false), key).Served(t)
	}
	db := gatewaytest.OpenSQL(t, server.URL)
	gatewaytest.Until(t, "the first rows",
		func() bool { return gatewaytest.Sum(t, db, "SELECT count(*) FROM ledger_calls") == 3 })
	server.Freeze()
	// Without a key: one is served without the database for a second only, which is short on a slow machine.
	const calls = 5
	var all sync.WaitGroup
	for i := range calls {
		all.Go(func() {
			request := gatewaytest.PricedRequest(10, 10, 10, fmt.Sprint("after-", i), false)
			if !gatewaytest.Send(t.Context(), client, p.URL, request, "").Served(t) {
				t.Error("a call without a key was refused")
			}
		})
	}
	all.Wait()
	p.Signal(t, syscall.SIGTERM)
	began := time.Now()
	if code := p.Wait(t); code != 0 || time.Since(began) > 25*time.Second {
		t.Errorf("it ended with %d, after %s", code, time.Since(began))
	}
	if log := p.Log.String(); !strings.Contains(
		log,
		fmt.Sprintf(`"msg":"the gateway stops: calls are not in the ledger","calls":%d`, calls),
	) {
		t.Errorf("the log: %s", log)
	}
	server.Thaw()
	if n := gatewaytest.Sum(t, db, "SELECT count(*) FROM ledger_calls"); n != 3 && n != 3+calls { // the last COMMIT may have been sent
		t.Errorf("%d rows", n)
	}
	t.Logf("it took %s", time.Since(began))
}
