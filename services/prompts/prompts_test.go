package prompts

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/tests/storetest"
)

func newLog(t *testing.T, store *models.Store, change func(*Options)) *Log {
	t.Helper()
	o := Options{
		Store: store, Keep: true, For: time.Hour, Key: bytes.Repeat([]byte{1}, 32), Log: slog.New(slog.DiscardHandler), Now: time.Now,
	}
	change(&o)
	l, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func newStore(t *testing.T) *models.Store {
	t.Helper()
	store, err := models.Open("sqlite:" + filepath.Join(t.TempDir(), "x.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	if err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return store
}

// keep records one call, and writes what waits.
func keep(t *testing.T, l *Log, outcome, request, answer string) (id string) {
	t.Helper()
	call := &models.Call{ID: storetest.CallID(l.opts.Now(), strings.ToLower(t.Name()[4:8])+outcome[:1]), Outcome: outcome}
	r := l.Begin()
	for piece := range strings.SplitAfterSeq(answer, "\n") {
		r.Sent([]byte(piece))
	}
	r.End(call, []byte(request))
	l.writeAll(t.Context(), t.Context())
	if held := l.held.Load(); held != 0 {
		t.Errorf("%d bytes are held", held)
	}
	return call.ID
}

func TestContentIsReadAsItWasSentUntilItExpires(t *testing.T) {
	store := newStore(t)
	now := time.Now()
	l := newLog(t, store, func(o *Options) { o.Now = func() time.Time { return now } })
	id := keep(t, l, models.OutcomeOK, "question \xff", "data: a\n\ndata: b\n")
	got, err := l.Read(t.Context(), id, Reader{KeyID: "key_1", Address: "::1"})
	if err != nil || string(got.Request) != "question \xff" || string(got.Answer) != "data: a\n\ndata: b\n" || got.RequestTruncated || got.AnswerTruncated {
		t.Fatalf("%+v: %v", got, err)
	}
	looks, err := store.Audit(t.Context(), models.AuditFilter{}, models.Page{Limit: 9})
	if err != nil || len(looks) != 1 || looks[0].Action != "call.read" || looks[0].Target != id || looks[0].ActorID != "key_1" {
		t.Errorf("%+v: %v", looks, err)
	}
	if state, err := l.State(t.Context(), id); err != nil || state != api.ContentStored {
		t.Errorf("%s: %v", state, err)
	}
	now = now.Add(time.Hour)
	if _, err := l.Read(t.Context(), id, Reader{}); !errors.Is(err, ErrNone) {
		t.Errorf("after its time: %v", err)
	}
	if n, err := store.DeleteContentsBefore(t.Context(), now.Add(time.Second-l.opts.For), 9); n != 1 || err != nil {
		t.Errorf("%d are erased: %v", n, err)
	}
}

func TestContentOpensWithTheFormerKeyAndNoOther(t *testing.T) {
	store := newStore(t)
	id := keep(t, newLog(t, store, func(*Options) {}), models.OutcomeOK, "q", "a")
	other := bytes.Repeat([]byte{2}, 32)
	for name, tt := range map[string]struct {
		change func(*Options)
		want   error
	}{
		"rotated": {func(o *Options) { o.Previous, o.Key = o.Key, other }, nil},
		"another": {func(o *Options) { o.Key = other }, ErrNone},
		"off":     {func(o *Options) { o.Keep = false }, nil},
		"no key":  {func(o *Options) { o.Keep, o.Key = false, nil }, ErrNone},
	} {
		if _, err := newLog(t, store, tt.change).Read(t.Context(), id, Reader{KeyID: "k"}); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	row, err := store.CallContent(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	moved := models.CallContent{ID: storetest.CallID(time.Now(), "moved"), Sealed: row.Sealed}
	if err := store.KeepContents(t.Context(), []models.CallContent{moved}); err != nil {
		t.Fatal(err)
	}
	if _, err := newLog(t, store, func(*Options) {}).Read(t.Context(), moved.ID, Reader{}); !errors.Is(err, ErrNone) {
		t.Errorf("moved to another call: %v", err)
	}
	if _, err := New(Options{Keep: true}); err == nil {
		t.Error("kept without a key")
	}
}

func TestOnlySoMuchIsKeptAndTheRestIsSaid(t *testing.T) {
	store := newStore(t)
	l := newLog(t, store, func(o *Options) { o.FailedOnly = true })
	long := strings.Repeat("x", MaxText+1)
	id := keep(t, l, models.OutcomeFailed, long, long)
	got, err := l.Read(t.Context(), id, Reader{KeyID: "k"})
	if err != nil || len(got.Request) != MaxText || len(got.Answer) != MaxText || !got.RequestTruncated || !got.AnswerTruncated {
		t.Errorf("%v", err)
	}
	if state, err := l.State(t.Context(), keep(t, l, models.OutcomeOK, "q", "a")); err != nil || state != api.ContentNone {
		t.Errorf("of a call that did not fail: %s, %v", state, err)
	}
	l.held.Store(maxHeld)
	r := l.Begin()
	r.Sent([]byte("a"))
	r.End(&models.Call{ID: "call_x", Outcome: models.OutcomeFailed}, []byte("q"))
	if len(l.queue) != 0 || l.Lost() != 1 || l.held.Load() != maxHeld {
		t.Errorf("%d wait, %d are lost, %d bytes are held", len(l.queue), l.Lost(), l.held.Load())
	}
}

func TestWhatWaitsIsWrittenWhenTheGatewayStops(t *testing.T) {
	store := newStore(t)
	l := newLog(t, store, func(*Options) {})
	ctx, stop := context.WithCancel(t.Context())
	stop()
	call := &models.Call{ID: storetest.CallID(time.Now(), "stop"), Outcome: models.OutcomeOK}
	l.Begin().End(call, []byte("q"))
	l.Run(ctx)
	if has, err := store.HasContent(t.Context(), call.ID); err != nil || !has {
		t.Errorf("%t, %v", has, err)
	}
}

func TestALossIsLoggedOnceWithItsCause(t *testing.T) {
	var log bytes.Buffer
	store := newStore(t)
	l := newLog(t, store, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	for i, cause := range []bool{true, false} {
		if cause {
			l.Begin().End(&models.Call{ID: storetest.CallID(time.Now(), "lost"), Outcome: models.OutcomeOK}, []byte("q"))
			ctx, stop := context.WithCancel(t.Context())
			stop() // no pause before the second try
			l.writeAll(ctx, t.Context())
		} else {
			l.lost.Add(1) // the queue was full
		}
		if !l.warn(l.lost.Load()) || l.warn(l.lost.Load()) {
			t.Errorf("loss %d is not logged once", i+1)
		}
		if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "are lost") ||
			!strings.Contains(text, "calls=1") || strings.Contains(text, "error=") != cause {
			t.Errorf("the log: %s", text)
		}
		log.Reset()
	}
}
