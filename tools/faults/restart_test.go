package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/tests/servertest"
)

// A deploy: one replica after the other is stopped and started again while
// clients request answers at a fixed rate and read streams without a pause.
func TestRollingRestartsLoseNothing(t *testing.T) {
	rounds, rate, streams := size(2, 20), size(50, 200), size(30, 200)
	u := startUpstream(t)
	settings := append(upstreamSettings(u.url, u.url, u.url), authSettings()...)
	settings = append(settings, "DATABASE_URL="+servertest.Postgres(t), "REDIS_URL="+servertest.Redis(t),
		"RATE_LIMIT_RPM=1000000", // counted in Redis, and never reached
		fmt.Sprintf("SHUTDOWN_GRACE_SECONDS=%d", size(20, 60)))
	ports := []string{fixedPort(t), fixedPort(t)}
	gateways := make([]*gateway, len(ports))
	var gone []*gateway
	for i, port := range ports {
		gateways[i] = startGateway(t, append(settings, "PORT="+port)...)
	}
	within(t, 10*time.Second, "the first replica is ready", func() bool { return gateways[0].status("/readyz") == http.StatusOK })
	_, key := gateways[0].newKey(t, gateways[0].account(t, "ada@example.com"))
	b := startBalancer(t, "127.0.0.1:"+ports[0], "127.0.0.1:"+ports[1])
	for _, r := range b.replicas {
		within(t, 10*time.Second, "the balancer sees both replicas", r.ready.Load)
	}

	l := startTraffic(t, b.url, key, rate, streams)
	var slowestStop time.Duration
	fewestLive := int64(streams)
	for round := range rounds {
		i := round % len(gateways)
		r := b.replicas[i]
		served := r.served.Load()
		within(t, 20*time.Second, "the replica has its share", func() bool {
			return r.live.Load() >= int64(streams/4) && r.served.Load() >= served+int64(rate/4)
		})
		fewestLive = min(fewestLive, r.live.Load())
		began := time.Now()
		if err := gateways[i].terminate(); err != nil {
			t.Errorf("round %d: the replica ended with %v", round, err)
		}
		slowestStop = max(slowestStop, time.Since(began))
		gone = append(gone, gateways[i])
		gateways[i] = startGateway(t, append(settings, "PORT="+ports[i])...)
		within(t, 20*time.Second, "the balancer sees the new replica", r.ready.Load)
	}
	l.finish()

	figure(
		t,
		"rolling restarts of two replicas lose nothing",
		"%d restarts at %d answers/s and %d live streams: %d answers, %d streams, %d failed, %d truncated, %d sent twice; slowest answer %s, slowest stop %s, at least %d calls live at each stop",
		rounds,
		rate,
		streams,
		l.answers.Load(),
		l.streams.Load(),
		l.failed.count,
		l.truncated.count,
		b.retried.Load(),
		l.slowest().Round(time.Millisecond),
		slowestStop.Round(time.Millisecond),
		fewestLive,
	)
	if l.failed.count != 0 || l.truncated.count != 0 || b.retried.Load() != 0 {
		t.Errorf("clients saw:\n%s\nthe balancer saw:\n%s", strings.Join(append(l.failed.notes, l.truncated.notes...), "\n"),
			strings.Join(b.notes, "\n"))
		for _, mark := range append(l.failed.marks, l.truncated.marks...) {
			for _, g := range append(gone, gateways...) {
				if text := g.logLines(mark); text != "" {
					t.Logf("the gateway %d: %s", g.pid, text)
				}
			}
		}
	}
	if n, took := l.answers.Load(), l.took.Seconds(); float64(n) < 0.9*float64(rate)*took {
		t.Errorf("the load was %d answers in %.0f s, not %d a second", n, took, rate)
	}
}

// traffic is the clients' load and its results.
type traffic struct {
	url, key string
	client   *http.Client
	began    time.Time
	took     time.Duration
	stop     chan struct{}
	end      func() // closes stop, once
	all      sync.WaitGroup

	answers, streams  atomic.Int64
	failed, truncated failureNotes // truncated: it began well and was not whole
	slow              atomic.Int64 // nanoseconds, of the slowest answer
}

// failureNotes counts failures and describes the first ones.
type failureNotes struct {
	mu    sync.Mutex
	count int
	notes []string
	marks []string // of the calls that the notes are about
}

func (m *failureNotes) note(mark, format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count++
	const enough = 10
	if m.count <= enough {
		m.notes = append(m.notes, time.Now().UTC().Format("15:04:05.000 ")+mark+": "+fmt.Sprintf(format, args...))
		m.marks = append(m.marks, mark)
	}
}

// startTraffic requests answers at a constant rate, without waiting for the
// former ones, and keeps a number of streams open.
func startTraffic(t testing.TB, url, key string, rate, streams int) *traffic {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 1000}
	l := &traffic{
		url: url, key: key, client: &http.Client{Transport: transport, Timeout: 2 * time.Minute},
		began: time.Now(), stop: make(chan struct{}),
	}
	l.end = sync.OnceFunc(func() { close(l.stop) })
	t.Cleanup(func() {
		l.finish()
		transport.CloseIdleConnections()
	})
	l.all.Go(func() { l.callSteadily(rate) })
	for i := range streams {
		l.all.Go(func() { l.readStreams(i, streams) })
	}
	return l
}

// finish starts no further calls, and waits for the running ones.
func (l *traffic) finish() {
	l.end()
	if l.took == 0 {
		l.took = time.Since(l.began)
	}
	l.all.Wait()
}

func (l *traffic) slowest() time.Duration { return time.Duration(l.slow.Load()) }

func (l *traffic) callSteadily(rate int) {
	for i := 0; ; i++ {
		due := l.began.Add(time.Duration(i) * time.Second / time.Duration(rate))
		select {
		case <-l.stop:
			return
		case <-time.After(time.Until(due)):
			l.all.Go(func() { l.chatRequest(i, due) })
		}
	}
}

func (l *traffic) chatRequest(i int, due time.Time) {
	mark := fmt.Sprintf("answer%d", i)
	l.answers.Add(1)
	resp, err := l.post(mark, chatRequest(models[i%len(models)], "chunks=3 first=30ms mark="+mark, false))
	if err != nil {
		l.failed.note(mark, "%v", err)
		return
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK {
		l.failed.note(mark, "%d %s %v", resp.StatusCode, body, err)
		return
	}
	var answer struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if json.Unmarshal(body, &answer) != nil || len(answer.Choices) != 1 || answer.Choices[0].Message.Content != wholeText(mark, 3) {
		l.truncated.note(mark, "%s %v", body, err)
	}
	took := int64(time.Since(due))
	for now := l.slow.Load(); took > now && !l.slow.CompareAndSwap(now, took); now = l.slow.Load() {
		continue
	}
}

// readStreams reads one stream after the other. Each of several readers has its
// own numbers.
func (l *traffic) readStreams(first, step int) {
	for i := first; ; i += step {
		if !l.read(i) {
			time.Sleep(100 * time.Millisecond) // one after the other would fail at once
		}
		select {
		case <-l.stop:
			return
		default:
		}
	}
}

func (l *traffic) read(i int) (whole bool) {
	mark := fmt.Sprintf("stream%d", i)
	chunks := size(10+i%11, 50+i%31) // one or two seconds, five to eight
	l.streams.Add(1)
	resp, err := l.post(mark, chatRequest(models[i%len(models)], fmt.Sprintf("chunks=%d every=100ms mark=%s", chunks, mark), true))
	if err != nil {
		l.failed.note(mark, "%v", err)
		return false
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		text, err := io.ReadAll(resp.Body)
		l.failed.note(mark, "%d %s %v", resp.StatusCode, text, err)
		return false
	}
	text, done, fault, err := readStream(resp.Body)
	whole = text == wholeText(mark, chunks) && done && fault == "" && err == nil
	if !whole {
		l.truncated.note(mark, "[DONE] %t, error %q %v, after %d bytes of %d", done, fault, err, len(text), len(wholeText(mark, chunks)))
	}
	return whole
}

func (l *traffic) post(mark, body string) (*http.Response, error) {
	req, err := http.NewRequest(http.MethodPost, l.url+"/v1/chat/completions", bytes.NewBufferString(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-API-Key", l.key)
	req.Header.Set("X-Request-Id", mark) // stands in the gateway's log
	return l.client.Do(req)
}
