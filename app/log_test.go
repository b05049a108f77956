package app

import (
	"io"
	"strings"
	"testing"
	"time"
)

func TestUnreadLogBlocksNoWriter(t *testing.T) {
	read, write := io.Pipe()
	w := newLogWriter(write)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 3 * logBuffer / len("line\n") {
			_, _ = w.Write([]byte("line\n"))
		}
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("it waited for its reader")
	}
	go w.Close()
	text := make([]byte, 4*logBuffer)
	n := 0
	for !strings.Contains(string(text[:n]), `"log lines were dropped"`) {
		more, err := read.Read(text[n:])
		if err != nil || n > 2*logBuffer {
			t.Fatalf("the drop is not told: %v", err)
		}
		n += more
	}
	_ = read.Close()
}

func TestLogIsFlushedWhenItCloses(t *testing.T) {
	var out strings.Builder
	w := newLogWriter(&out)
	for range 100 {
		_, _ = w.Write([]byte("line\n"))
	}
	w.Close()
	if got := strings.Count(out.String(), "line\n"); got != 100 {
		t.Errorf("%d lines of 100", got)
	}
}
