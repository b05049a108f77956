package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"modelgateway/tests/servertest"
)

// begin starts a stream and returns when its first event has arrived.
func (g *gateway) begin(t testing.TB, model, words string) io.ReadCloser {
	t.Helper()
	resp, err := g.open("POST", "/v1/chat/completions", chatRequest(model, words, true))
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		text, err := io.ReadAll(resp.Body)
		t.Fatalf("stream: %d %s %v", resp.StatusCode, text, err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp.Body
}

// lastReceived is what a client received at the end: of a stream that has
// begun, or of a call that was not answered yet.
type lastReceived struct {
	text, fault string
	done        bool
	answer      wholeAnswer
	err         error
}

func TestASecondSignalEndsTheProcessAtOnce(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		u := startUpstream(t)
		g := startGateway(t, append(upstreamSettings(u.url, u.url, u.url), "SHUTDOWN_GRACE_SECONDS=60")...)
		g.begin(t, models[0], "mark=long chunks=600 every=100ms")
		g.signal(s)
		within(t, 10*time.Second, "the first signal is seen", func() bool { return g.status("/readyz") != http.StatusOK })
		if g.ended() {
			t.Fatalf("one %v ended it under a live stream: %v", s, g.err)
		}
		began := time.Now()
		g.signal(s)
		err := g.wait(10 * time.Second)
		took := time.Since(began)
		if end, ok := errors.AsType[*exec.ExitError](err); !ok || end.ExitCode() == 0 || took > 2*time.Second {
			t.Errorf("two %v: it ended after %s with %v", s, took, err)
		}
		figure(t, "a second signal ends at once", "%v: %s", s, took.Round(time.Millisecond))
	}
}

func TestCallsThatOutliveTheGraceGetAnError(t *testing.T) {
	const grace = time.Second
	u := startUpstream(t)
	g := startGateway(t, append(upstreamSettings(u.url, u.url, u.url), "SHUTDOWN_GRACE_SECONDS=1", "LOG_LEVEL=debug")...)
	ends := make(chan func())
	for _, model := range models {
		body := g.begin(t, model, "chunks=1000 every=50ms mark=stream-"+model)
		go func() {
			text, done, fault, err := readStream(body)
			ends <- func() { checkCutStream(t, model, lastReceived{text: text, done: done, fault: fault, err: err}) }
		}()
		go func() {
			a, err := g.call("POST", "/v1/chat/completions", chatRequest(model, "first=1m mark=answer-"+model, false))
			ends <- func() { checkRetryable(t, model, lastReceived{answer: a, err: err}) }
		}()
	}
	within(t, 10*time.Second, "all calls run", func() bool { return u.live() == int64(2*len(models)) })

	began := time.Now()
	if err := g.terminate(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	took := time.Since(began)
	for range 2 * len(models) {
		(<-ends)()
	}
	within(t, 5*time.Second, "no call runs at the providers", func() bool { return u.live() == 0 })
	figure(t, "what outlives the grace of a stop is told so", "%d streams and %d answers, a grace of %s: ended after %s",
		len(models), len(models), grace, took.Round(time.Millisecond))
	if took > grace+5*time.Second {
		t.Errorf("it took %s to end", took)
	}
}

// checkCutStream checks that the client of a stream has an error as the last
// event, and can see that the stream is not complete.
func checkCutStream(t testing.TB, model string, w lastReceived) {
	t.Helper()
	mark := "stream-" + model
	if w.text == "" || !strings.HasPrefix(wholeText(mark, 1000), w.text) {
		t.Errorf("%s: the stream was %q", model, w.text)
	}
	if w.done {
		t.Errorf("%s: the stream ended with [DONE] in the middle", model)
	}
	if !strings.Contains(w.fault, `"code":"service_unavailable"`) {
		t.Errorf("%s: the last event of the stream is the error %q", model, w.fault)
	}
	if w.err == nil {
		t.Errorf("%s: the connection was not cut", model)
	}
}

func checkRetryable(t testing.TB, model string, w lastReceived) {
	t.Helper()
	if w.err != nil || w.answer.status != http.StatusServiceUnavailable || w.answer.code() != "service_unavailable" {
		t.Errorf("%s: the waiting call got %d %s %v", model, w.answer.status, w.answer.body, w.err)
		return
	}
	if retried := w.answer.header.Get("X-Should-Retry"); retried != "true" {
		t.Errorf("%s: x-should-retry: %q", model, retried)
	}
}

func TestAReaderOfTheLogThatHasStoppedDelaysNothing(t *testing.T) {
	u := startUpstream(t)
	port := fixedPort(t)
	g := newGateway(t, append(upstreamSettings(u.url, u.url, u.url), "PORT="+port, "LOG_LEVEL=debug", "SHUTDOWN_GRACE_SECONDS=5")...)
	read, write := fullPipe(t)
	g.cmd.Stdout = write
	g.run(t)
	within(t, 20*time.Second, "it is ready", func() bool { return g.status("/readyz") == http.StatusOK })
	for i := range size(100, 1000) {
		mark := fmt.Sprint("call", i)
		a := g.mustCall(t, http.StatusOK, "POST", "/v1/chat/completions", chatRequest(models[i%len(models)], "mark="+mark, false))
		if !strings.Contains(a.body, quote(wholeText(mark, 3))) {
			t.Fatalf("%s: %s", mark, a.body)
		}
	}
	began := time.Now()
	if err := g.terminate(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	took := time.Since(began)
	figure(t, "a log that is not read delays nothing", "%d calls served, ended after %s", size(100, 1000), took.Round(time.Millisecond))
	if took > 5*time.Second {
		t.Errorf("it took %s to end", took)
	}
	if err := write.Close(); err != nil {
		t.Fatal(err)
	}
	if written, err := io.ReadAll(read); err != nil || strings.Trim(string(written), "x") != "" {
		t.Errorf("the pipe was not full: behind %d bytes there was something else, %v", len(written), err)
	}
}

// fullPipe is a pipe that is full.
func fullPipe(t testing.TB) (read, write *os.File) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = read.Close()
		_ = write.Close()
	})
	filling := []byte(strings.Repeat("x", 4096))
	for len(filling) > 0 && err == nil {
		if err = write.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if _, err = write.Write(filling); errors.Is(err, os.ErrDeadlineExceeded) {
			filling, err = filling[:len(filling)/2], nil // a pipe takes small pieces whole or not at all
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return read, write
}

// The last use of a key is written after the requests: a stop must not lose
// uses that wait to be written, nor those during the stop.
func TestTheLastUsesOfKeysAreWrittenAtAStop(t *testing.T) {
	t.Parallel()
	stores := map[string]string{"SQLite": "sqlite:" + t.TempDir() + "/gateway.db", "PostgreSQL": servertest.Postgres(t)}
	for name, address := range stores {
		t.Run(name, func(t *testing.T) {
			settings := append(authSettings(), "DATABASE_URL="+address, "SHUTDOWN_GRACE_SECONDS=40")
			g := startGateway(t, settings...)
			within(t, 10*time.Second, "it is ready", func() bool { return g.status("/readyz") == http.StatusOK })
			token := g.account(t, "ada@example.com")
			used := map[string]time.Time{}
			use := func() {
				id, key := g.newKey(t, token)
				used[id] = time.Now()
				g.mustCall(t, http.StatusOK, "GET", "/v1/models", "", "X-API-Key", key)
			}
			use()
			unused, _ := g.newKey(t, token)
			g.signal(syscall.SIGTERM)
			within(t, 5*time.Second, "it is stopping", func() bool { return g.status("/readyz") == http.StatusServiceUnavailable })
			use() // load balancers may not have noticed yet
			if err := g.wait(20 * time.Second); err != nil {
				t.Fatal(err)
			}
			g = startGateway(t, settings...)
			within(t, 10*time.Second, "it is ready again", func() bool { return g.status("/readyz") == http.StatusOK })
			written := lastUses(t, g, token)
			for id, at := range used {
				if written[id].Before(at.Add(-time.Second)) {
					t.Errorf("a key that was used at %s has %s as its last use", at, written[id])
				}
			}
			if !written[unused].IsZero() {
				t.Errorf("a key that was not used has %s as its last use", written[unused])
			}
		})
	}
}

// lastUses is the last use of each of a user's keys, by id; zero for never.
func lastUses(t testing.TB, g *gateway, authorization string) map[string]time.Time {
	t.Helper()
	a := g.mustCall(t, http.StatusOK, "GET", "/auth/keys", "", "Authorization", authorization)
	var list struct {
		Data []struct {
			ID         string
			LastUsedAt *int64 `json:"last_used_at"` // seconds
		}
	}
	if err := json.Unmarshal([]byte(a.body), &list); err != nil {
		t.Fatal(err)
	}
	uses := map[string]time.Time{}
	for _, k := range list.Data {
		if k.LastUsedAt != nil {
			uses[k.ID] = time.Unix(*k.LastUsedAt, 0)
		}
	}
	return uses
}

func TestAStartBeforeTheDatabaseWaitsForIt(t *testing.T) {
	t.Parallel()
	u := startUpstream(t)
	server := servertest.StartPostgres(t)
	server.Stop()
	settings := append(upstreamSettings(u.url, u.url, u.url), "DATABASE_URL="+server.URL)
	open, closed := startGateway(t, settings...), startGateway(t, append(settings, authSettings()...)...)
	away := time.Now().Add(time.Duration(size(2, 8)) * time.Second) // pauses between two tries grow meanwhile
	for round := 0; round == 0 || time.Now().Before(away); round++ {
		withoutDatabase(t, open, closed, fmt.Sprint("round", round))
		time.Sleep(200 * time.Millisecond)
	}
	server.Restart()
	const limit = 5 * time.Second
	back := time.Now()
	for name, g := range map[string]*gateway{"open mode": open, "with credentials": closed} {
		within(t, limit-time.Since(back), name+": ready after PostgreSQL's return",
			func() bool { return g.status("/readyz") == http.StatusOK })
	}
	figure(t, "a start before the database waits for it", "chat served in open mode meanwhile; ready %s after PostgreSQL's return",
		time.Since(back).Round(time.Millisecond))
	_, key := closed.newKey(t, closed.account(t, "ada@example.com"))
	for _, g := range []*gateway{open, closed} {
		g.mustCall(t, http.StatusOK, "GET", "/health", "")
		g.mustCall(t, http.StatusOK, "POST", "/v1/chat/completions", chatRequest(models[0], "mark=after", false), "X-API-Key", key)
	}
}

// withoutDatabase checks two gateways that have never reached their database.
func withoutDatabase(t testing.TB, open, closed *gateway, mark string) {
	t.Helper()
	for _, g := range []*gateway{open, closed} {
		g.mustCall(t, http.StatusOK, "GET", "/livez", "")
		g.mustCall(t, http.StatusServiceUnavailable, "GET", "/readyz", "")
		if a := g.mustCall(t, http.StatusServiceUnavailable, "POST", "/auth/register", registration("early@example.com")); a.code() != "service_unavailable" {
			t.Errorf("register: %s", a.body)
		}
	}
	if a := closed.mustCall(t, http.StatusServiceUnavailable, "GET", "/health", ""); a.field("database") != "unhealthy" ||
		a.field("status") != "unhealthy" {
		t.Errorf("health with credentials: %s", a.body)
	}
	if a := open.mustCall(t, http.StatusOK, "GET", "/health", ""); a.field("database") != "unhealthy" || a.field("status") != "degraded" {
		t.Errorf("health in open mode: %s", a.body)
	}
	for _, model := range models {
		began := time.Now()
		a := open.mustCall(t, http.StatusOK, "POST", "/v1/chat/completions", chatRequest(model, "mark="+mark, false), "Authorization", "Bearer sk-any")
		if !strings.Contains(a.body, quote(wholeText(mark, 3))) || time.Since(began) > 2*time.Second {
			t.Errorf("%s after %s: %s", model, time.Since(began), a.body)
		}
	}
}
