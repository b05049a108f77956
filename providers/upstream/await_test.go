package upstream

import (
	"io"
	"testing"
	"time"
)

// slowly is a body of which each part comes when it is sent.
func slowly(t *testing.T) (*Events, *io.PipeWriter) {
	t.Helper()
	r, w := io.Pipe()
	events := NewEvents(r)
	t.Cleanup(events.Close)
	return events, w
}

func TestAStreamIsWaitedForNoLongerThanItsLimit(t *testing.T) {
	events, upstream := slowly(t)
	if events.Await(time.Millisecond) {
		t.Fatal("nothing has come")
	}
	sent := make(chan error, 1)
	go func() {
		_, err := io.WriteString(upstream, "data: a\n\ndata: b\n\ndata: c")
		sent <- err
	}()
	if !events.Await(time.Minute) || !events.Await(time.Nanosecond) { // the second one does not wait
		t.Fatal("something has come")
	}
	for _, want := range []string{"a", "b"} {
		e, err := events.Next()
		if err != nil || string(e.Data) != want {
			t.Fatalf("%q, %v", e.Data, err)
		}
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	if events.Await(time.Millisecond) {
		t.Error("the rest of the event has not come")
	}
	go func() {
		_, err := io.WriteString(upstream, "d\n\n")
		_ = upstream.Close()
		sent <- err
	}()
	if e, err := events.Next(); err != nil || string(e.Data) != "cd" { // goes on with the read that was waited for
		t.Errorf("%q, %v", e.Data, err)
	}
	if err := <-sent; err != nil || !events.Await(time.Minute) {
		t.Errorf("at its end it is waited for: %v", err)
	}
	if _, err := events.Next(); err != io.EOF { //nolint:errorlint // as the reader returns it
		t.Error(err)
	}
}

func TestAStreamThatIsWaitedForCanBeLeft(t *testing.T) {
	events, upstream := slowly(t)
	left := 0
	events.BeforeRead(func() bool { left++; return left == 1 })
	if events.Await(time.Millisecond) || left > 0 {
		t.Fatalf("nothing has come; %d", left)
	}
	go func() { _, _ = io.WriteString(upstream, "data: a\n\n") }()
	if e, err := events.Next(); err != nil || string(e.Data) != "a" || left != 1 {
		t.Errorf("%q, %v, %d", e.Data, err, left)
	}
	if _, err := events.Next(); err == nil {
		t.Error("its reader has left")
	}
	events.Await(time.Nanosecond)
	events.Close() // waits for the read that is in progress
}
