package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"modelgateway/config"
)

// logLines is how many lines may wait for a reader that is slow.
const logLines = 4096

// logWriter hands lines to a slow or dead reader without ever waiting for it:
// a full pipe behind standard output must not stop the gateway. Lines that find
// no room are dropped and counted.
type logWriter struct {
	out     io.Writer
	lines   chan []byte
	dropped atomic.Int64
	quit    chan struct{}
	ended   chan struct{}
}

// newLogWriter begins to write to out. Close ends it.
func newLogWriter(out io.Writer) *logWriter {
	w := &logWriter{out: out, lines: make(chan []byte, logLines), quit: make(chan struct{}), ended: make(chan struct{})}
	go w.run()
	return w
}

// Write takes one line. It never fails and never waits.
func (w *logWriter) Write(line []byte) (int, error) {
	select {
	case w.lines <- append([]byte(nil), line...):
	default:
		w.dropped.Add(1)
	}
	return len(line), nil
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
	for {
		select {
		case line := <-w.lines:
			w.put(line)
		case <-w.quit:
			for len(w.lines) > 0 {
				w.put(<-w.lines)
			}
			return
		}
	}
}

// put writes a line; a reader that is gone is no reason to stop.
func (w *logWriter) put(line []byte) {
	if n := w.dropped.Swap(0); n > 0 {
		_, _ = fmt.Fprintf(w.out, `{"level":"WARN","msg":"log lines were dropped","count":%d}`+"\n", n)
	}
	_, _ = w.out.Write(line)
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
