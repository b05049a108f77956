package app

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"modelgateway/config"
)

const (
	// logBuffer is how many bytes of lines may wait for a slow reader.
	logBuffer = 1 << 20
	// logInterval is the pause between two writes: a busy gateway writes at most
	// two hundred times a second, not once a line.
	logInterval = 5 * time.Millisecond
)

// logWriter writes lines in the background, so that a slow or dead reader, such as
// a full pipe behind standard output, does not stop the gateway. Lines that find
// the buffer full are dropped and counted.
type logWriter struct {
	out   io.Writer
	wake  chan struct{}
	quit  chan struct{}
	ended chan struct{}

	mu       sync.Mutex
	lines    []byte // that wait
	dropped  int    // since the last write
	reported int    // dropped before that
}

// newLogWriter starts a writer to out. Close ends it.
func newLogWriter(out io.Writer) *logWriter {
	w := &logWriter{out: out, wake: make(chan struct{}, 1), quit: make(chan struct{}), ended: make(chan struct{})}
	go w.run()
	return w
}

// Write takes one line. It never fails and never waits.
func (w *logWriter) Write(line []byte) (int, error) {
	w.mu.Lock()
	if len(w.lines)+len(line) > logBuffer {
		w.dropped++
	} else {
		w.lines = append(w.lines, line...)
	}
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default: // a wake-up is pending
	}
	return len(line), nil
}

// lost is how many lines have been dropped since the start.
func (w *logWriter) lost() float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return float64(w.reported + w.dropped)
}

// Close writes the waiting lines, for at most a second.
func (w *logWriter) Close() {
	close(w.quit)
	select {
	case <-w.ended:
	case <-time.After(time.Second):
	}
}

func (w *logWriter) run() {
	defer close(w.ended)
	var spare []byte // the one of the two buffers that is not being filled
	for {
		select {
		case <-w.wake:
			spare = w.flush(spare)
		case <-w.quit:
			w.flush(spare)
			return
		}
		select {
		case <-time.After(logInterval):
		case <-w.quit:
		}
	}
}

// flush writes the waiting lines and leaves an empty buffer for the next ones.
// Errors of the reader are ignored: there is no other place to report them.
func (w *logWriter) flush(empty []byte) (written []byte) {
	w.mu.Lock()
	lines, dropped := w.lines, w.dropped
	w.lines, w.dropped = empty[:0], 0
	w.reported += dropped
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

// logger writes for people on a terminal and JSON otherwise, unless LOG_FORMAT
// says so. NO_COLOR turns colours off (no-color.org).
func logger(cfg config.Config, environ []string, out io.Writer, lines *logWriter) *slog.Logger {
	opts := &slog.HandlerOptions{Level: cfg.LogLevel}
	file, isFile := out.(*os.File)
	switch {
	case cfg.LogFormat == config.LogJSON:
	case isFile && term.IsTerminal(int(file.Fd())):
		noColour := slices.ContainsFunc(environ, func(e string) bool {
			return strings.HasPrefix(e, "NO_COLOR=") && e != "NO_COLOR=" || e == "TERM=dumb"
		})
		return slog.New(&terminal{out: lines, level: cfg.LogLevel, colour: !noColour, width: func() int {
			const unknown = 120
			if columns, _, err := term.GetSize(int(file.Fd())); err == nil && columns > 0 {
				return columns
			}
			return unknown
		}})
	case cfg.LogFormat == config.LogText:
		return slog.New(slog.NewTextHandler(lines, opts))
	}
	return slog.New(slog.NewJSONHandler(lines, opts))
}
