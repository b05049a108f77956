package app

import (
	"bytes"
	"io"
	stdlog "log"
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
	gap   func(lines int) []byte // is the line that reports so many dropped ones
	wake  chan struct{}
	quit  chan struct{}
	ended chan struct{}

	mu       sync.Mutex
	lines    []byte // that wait
	dropped  int    // since the last write
	reported int    // dropped before that
}

// newLogWriter starts a writer to out. Close ends it.
func newLogWriter(out io.Writer, gap func(lines int) []byte) *logWriter {
	w := &logWriter{out: out, gap: gap, wake: make(chan struct{}, 1), quit: make(chan struct{}), ended: make(chan struct{})}
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

// flush writes the waiting lines, and after them how many did not fit, and leaves an
// empty buffer for the next ones. Errors of the reader are ignored: there is no other
// place to report them.
func (w *logWriter) flush(empty []byte) (written []byte) {
	w.mu.Lock()
	lines, dropped := w.lines, w.dropped
	w.lines, w.dropped = empty[:0], 0
	w.reported += dropped
	w.mu.Unlock()
	if len(lines) > 0 {
		_, _ = w.out.Write(lines)
	}
	if dropped > 0 {
		_, _ = w.out.Write(w.gap(dropped)) // not by Write, whose buffer may be full again
	}
	const keep = 64 << 10 // bytes, for the next time
	if cap(lines) > keep {
		return nil
	}
	return lines
}

// startLog returns the logger, and the writer that its lines go through.
func startLog(cfg config.Config, environ []string, out io.Writer) (*slog.Logger, *logWriter) {
	handler := logHandler(cfg, environ, out)
	lines := newLogWriter(out, func(lines int) []byte {
		var text bytes.Buffer
		log := slog.New(handler(&text, slog.LevelWarn)) // not LOG_LEVEL: dropped lines may have been errors
		log.Warn("log lines were dropped: the reader of the log is too slow", "lines", lines)
		return text.Bytes()
	})
	return slog.New(handler(lines, cfg.LogLevel)), lines
}

// logHandler makes handlers that write for people on a terminal, if out is one, and JSON
// otherwise, unless LOG_FORMAT says so. NO_COLOR turns colours off (no-color.org).
func logHandler(cfg config.Config, environ []string, out io.Writer) func(io.Writer, slog.Level) slog.Handler {
	file, isFile := out.(*os.File)
	switch {
	case cfg.LogFormat == config.LogJSON:
	case isFile && term.IsTerminal(int(file.Fd())):
		noColour := slices.ContainsFunc(environ, func(e string) bool {
			return strings.HasPrefix(e, "NO_COLOR=") && e != "NO_COLOR=" || e == "TERM=dumb"
		})
		width := func() int {
			const unknown = 120
			if columns, _, err := term.GetSize(int(file.Fd())); err == nil && columns > 0 {
				return columns
			}
			return unknown
		}
		return func(to io.Writer, least slog.Level) slog.Handler {
			return &terminal{out: to, level: least, colour: !noColour, width: width}
		}
	case cfg.LogFormat == config.LogText:
		return func(to io.Writer, least slog.Level) slog.Handler {
			return slog.NewTextHandler(to, &slog.HandlerOptions{Level: least})
		}
	}
	return func(to io.Writer, least slog.Level) slog.Handler {
		return slog.NewJSONHandler(to, &slog.HandlerOptions{Level: least})
	}
}

// redirectStandardLog has what libraries print to Go's standard logger, as its HTTP client
// does, become lines of the log.
func redirectStandardLog(log *slog.Logger) {
	stdlog.SetFlags(0)
	stdlog.SetOutput(standardLog{log})
}

type standardLog struct{ log *slog.Logger }

// Write logs the fixed beginning of a text. What the client has received from a provider
// follows in quotes, and may be a part of an answer.
func (s standardLog) Write(text []byte) (int, error) {
	const most = 200 // bytes
	fixed, _, isCut := bytes.Cut(text[:min(len(text), most)], []byte{'"'})
	s.log.Warn("a library reports a fault", "text", strings.TrimSpace(string(fixed)), "is_cut", isCut || len(text) > most)
	return len(text), nil
}
