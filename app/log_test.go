package app

import (
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"modelgateway/config"
)

func gap(lines int) []byte { return fmt.Appendf(nil, "%d dropped\n", lines) }

func TestUnreadLogBlocksNoWriter(t *testing.T) {
	read, write := io.Pipe()
	w := newLogWriter(write, gap)
	full(t, w)
	go w.Close()
	awaitLine(t, read, regexp.MustCompile(`(?m)^\d+ dropped$`))
}

// full writes more lines than fit into the buffer, and does not wait for the reader.
func full(t *testing.T, w io.Writer) {
	t.Helper()
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
}

// awaitLine reads until there is a line of this form, and returns it.
func awaitLine(t *testing.T, read *io.PipeReader, form *regexp.Regexp) string {
	t.Helper()
	defer func() { _ = read.Close() }()
	text := make([]byte, 4*logBuffer)
	n, last := 0, 0
	for {
		more, err := read.Read(text[n:])
		n += more
		if line := form.Find(text[max(last-200, 0):n]); line != nil {
			return string(line)
		}
		if err != nil || n > 3*logBuffer {
			t.Fatalf("the drop is not told: %v", err)
		}
		last = n
	}
}

func TestDroppedLinesAreReportedInTheFormOfTheLog(t *testing.T) {
	const when, says = `\d{4}-\d\d-\d\dT[^" ]+`, "log lines were dropped: the reader of the log is too slow"
	for format, form := range map[string]string{
		config.LogJSON: `(?m)^\{"time":"` + when + `","level":"WARN","msg":"` + says + `","lines":[1-9]\d*\}$`,
		config.LogText: `(?m)^time=` + when + ` level=WARN msg="` + says + `" lines=[1-9]\d*$`,
	} {
		read, write := io.Pipe()
		_, lines := startLog(config.Config{LogFormat: format, LogLevel: slog.LevelError}, nil, write)
		full(t, lines)
		go lines.Close()
		awaitLine(t, read, regexp.MustCompile(form))
		if lines.lost() == 0 {
			t.Errorf("%s: none is counted", format)
		}
	}
}

func TestLogIsFlushedWhenItCloses(t *testing.T) {
	var out strings.Builder
	w := newLogWriter(&out, gap)
	for range 100 {
		_, _ = w.Write([]byte("line\n"))
	}
	w.Close()
	if got := strings.Count(out.String(), "line\n"); got != 100 {
		t.Errorf("%d lines of 100", got)
	}
}
