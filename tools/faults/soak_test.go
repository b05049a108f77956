package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"
)

// soak is a long load of all kinds of calls.
type soak struct {
	t      *testing.T
	g      *gateway
	u      *upstream
	client *http.Client
	user   string // Authorization

	wrong                        failures
	answers, streams, left, keys atomic.Int64
	faults                       atomic.Int64
}

// soakTime is ten minutes at full size, a minute in CI, and what SOAK says.
func soakTime() time.Duration {
	wanted, err := time.ParseDuration(os.Getenv("SOAK"))
	switch {
	case err == nil:
		return wanted
	case full():
		return 10 * time.Minute
	case os.Getenv("CI") == "true":
		return time.Minute
	}
	return 20 * time.Second
}

// TestMemoryIsFlatUnderAMixedLoad calls all providers for a long time, for
// answers and streams, with keys that come and go, clients that leave and
// upstreams that fail.
func TestMemoryIsFlatUnderAMixedLoad(t *testing.T) {
	skipUnlessLong(t)
	u := startUpstream(t)
	g := startGateway(t, providersAt(u)...)
	s := &soak{t: t, g: g, u: u, client: newClientIdle(t, 90*time.Second), user: g.account(t, "soak@example.com")}
	answersAll(t, g, s.client)
	s.key("first", models[0], true)
	before := idleResources(t, g, u)
	const perSecond = 100
	memory := watchMemory(t, g)
	openLoop(perSecond, soakTime(), s.call)
	memory.stop()
	s.client.CloseIdleConnections()
	g.client.CloseIdleConnections()
	after, took := awaitIdle(t, g, u, before, 15*time.Second)

	figure(
		t, "unexpected failures under a mixed load",
		"%d in %s: %d answers, %d streams, %d keys made and revoked, %d clients that left, %d upstream faults",
		s.wrong.count.Load(), soakTime(), s.answers.Load(), s.streams.Load(), s.keys.Load(), s.left.Load(),
		s.faults.Load(),
	)
	figure(t, "what a mixed load leaves behind", "%+v before, %+v %s after", before, after, took.Round(time.Millisecond))
	second, last, slope := memory.median(0.25, 0.5), memory.median(0.75, 1), memory.slope(0.5)
	figure(
		t, "memory under a mixed load",
		"%s in the second quarter, %s in the last, %+.3f MiB a minute in the second half, never more than %s",
		mib(second), mib(last), slope/(1<<20), mib(memory.most()),
	)
	if full() && slope > 1<<20 {
		t.Errorf("memory grows by %s a minute", mib(int64(slope)))
	}
	if last > second*5/4+8<<20 {
		t.Errorf("memory has grown from %s to %s", mib(second), mib(last))
	}
}

// call makes one call of the load.
func (s *soak) call(i int, _ time.Time) {
	random := rand.New(rand.NewPCG(uint64(i), 29))
	mark := "soak" + strconv.Itoa(i)
	model, stream := models[random.IntN(len(models))], random.IntN(2) == 0
	switch n := random.IntN(100); {
	case n < 2:
		s.fault(mark, model, stream, random)
	case n < 7:
		s.leave(mark, model, stream, random)
	case n < 10:
		s.key(mark, model, stream)
	default:
		s.good(mark, model, stream, random)
	}
}

func (s *soak) good(mark, model string, stream bool, random *rand.Rand) {
	chunks := 1 + random.IntN(20)
	words := fmt.Sprintf("mark=%s chunks=%d first=%dms every=3ms pad=%d", mark, chunks, random.IntN(30), random.IntN(300))
	kind := &s.answers
	if stream {
		kind = &s.streams
	}
	kind.Add(1)
	want, err := parseScript(words)
	if err != nil {
		s.t.Error(err)
	}
	if got := chat(context.Background(), s.client, s.g.url, chatRequest(model, words, stream)); !got.whole(want.text()) {
		s.wrong.add(s.t, "%s, stream %v: %s: %s", model, stream, words, got)
	}
}

// fault has the upstream fail in one of several ways: the answer must not look
// complete.
func (s *soak) fault(mark, model string, stream bool, random *rand.Rand) {
	s.faults.Add(1)
	words := "mark=" + mark + []string{" status=500", " status=503", " cut=40", " cut=150 reset", " cut=90 frame=close"}[random.IntN(5)]
	got := chat(context.Background(), s.client, s.g.url, chatRequest(model, words, stream))
	if got.whole(wholeText(mark, 3)) || got.status == 0 || got.status == http.StatusOK && (got.err == nil || got.done) {
		s.wrong.add(s.t, "%s, stream %v: %s: %s", model, stream, words, got)
	}
}

// leave disconnects before the end.
func (s *soak) leave(mark, model string, stream bool, random *rand.Rand) {
	s.left.Add(1)
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+random.IntN(80))*time.Millisecond)
	defer cancel()
	got := chat(ctx, s.client, s.g.url, chatRequest(model, "mark="+mark+" first=20ms every=10ms chunks=50", stream))
	if got.status != 0 && got.status != http.StatusOK {
		s.wrong.add(s.t, "%s, stream %v, a client that leaves: %s", model, stream, got)
	}
}

// key makes a key, uses it and revokes it: from then on it must be refused.
func (s *soak) key(mark, model string, stream bool) {
	s.keys.Add(1)
	made, err := s.g.call("POST", "/auth/keys", `{"name":"soak"}`, "Authorization", s.user)
	if err != nil || made.status != http.StatusCreated {
		s.wrong.add(s.t, "make a key: %d %s %v", made.status, made.body, err)
		return
	}
	key := made.field("key")
	if got := chat(context.Background(), s.client, s.g.url, chatRequest(model, "mark="+mark, stream), "X-API-Key", key); !got.whole(
		wholeText(mark, 3),
	) {
		s.wrong.add(s.t, "with a new key: %s", got)
	}
	gone, err := s.g.call("DELETE", "/auth/keys/"+made.field("id"), "", "Authorization", s.user)
	if err != nil || gone.status != http.StatusOK {
		s.wrong.add(s.t, "revoke a key: %d %s %v", gone.status, gone.body, err)
	}
	if got := chat(context.Background(), s.client, s.g.url, chatRequest(model, "mark="+mark, stream), "X-API-Key", key); got.status != http.StatusUnauthorized {
		s.wrong.add(s.t, "with a revoked key: %s", got)
	}
}
