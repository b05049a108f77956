package app

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"modelgateway/config"
)

const (
	// logRoom is how many bytes of lines may wait for a reader that is slow.
	logRoom = 1 << 20
	// logGather is how long lines are gathered after some have been written, so
	// that a busy gateway writes some hundred times a second and not once a line.
	logGather = 5 * time.Millisecond
)

// logWriter hands lines to a slow or dead reader without ever waiting for it:
// a full pipe behind standard output must not stop the gateway. Lines that find
// no room are dropped and counted.
type logWriter struct {
	out   io.Writer
	wake  chan struct{}
	quit  chan struct{}
	ended chan struct{}

	mu      sync.Mutex
	lines   []byte // that wait
	dropped int    // and not yet told
	gone    int    // told of
}

// newLogWriter begins to write to out. Close ends it.
func newLogWriter(out io.Writer) *logWriter {
	w := &logWriter{out: out, wake: make(chan struct{}, 1), quit: make(chan struct{}), ended: make(chan struct{})}
	go w.run()
	return w
}

// Write takes one line. It never fails and never waits.
func (w *logWriter) Write(line []byte) (int, error) {
	w.mu.Lock()
	if len(w.lines)+len(line) > logRoom {
		w.dropped++
	} else {
		w.lines = append(w.lines, line...)
	}
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default: // it is awake
	}
	return len(line), nil
}

// lost is how many lines were dropped in all.
func (w *logWriter) lost() float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return float64(w.gone + w.dropped)
}

// Close writes what waits, for at most a second.
func (w *logWriter) Close() {
	close(w.quit)
	select {
	case <-w.ended:
	case <-time.After(time.Second):
	}
}

func (w *logWriter) run() {
	defer close(w.ended)
	var spare []byte // of the two buffers, the one that is not filled
	for {
		select {
		case <-w.wake:
			spare = w.put(spare)
		case <-w.quit:
			w.put(spare)
			return
		}
		select {
		case <-time.After(logGather):
		case <-w.quit:
		}
	}
}

// put writes what waits, and leaves an empty buffer for what comes. A reader
// that is gone is no reason to stop.
func (w *logWriter) put(empty []byte) (written []byte) {
	w.mu.Lock()
	lines, dropped := w.lines, w.dropped
	w.lines, w.dropped = empty[:0], 0
	w.gone += dropped
	w.mu.Unlock()
	if dropped > 0 {
		_, _ = fmt.Fprintf(w.out, `{"level":"WARN","msg":"log lines were dropped","count":%d}`+"\n", dropped)
	}
	if len(lines) > 0 {
		_, _ = w.out.Write(lines)
	}
	const keep = 64 << 10 // bytes, for the next time
	if cap(lines) > keep {
		return nil
	}
	return lines
}

// logger writes text for people and JSON for programs.
func logger(cfg config.Config, out io.Writer, lines *logWriter) *slog.Logger {
	opts := &slog.HandlerOptions{Level: cfg.LogLevel}
	file, isFile := out.(*os.File)
	if cfg.LogFormat == config.LogText || cfg.LogFormat == config.LogAuto && isFile && term.IsTerminal(int(file.Fd())) {
		return slog.New(slog.NewTextHandler(lines, opts))
	}
	return slog.New(slog.NewJSONHandler(lines, opts))
}
