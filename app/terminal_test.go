package app

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"unicode/utf8"
)

// screen is a log on a terminal of this width, with the time of each line cut off.
func screen(width int, colour bool) (*slog.Logger, func() []string) {
	var out strings.Builder
	h := &terminal{out: &out, level: slog.LevelInfo, colour: colour, width: func() int { return width }}
	return slog.New(h), func() (lines []string) {
		for line := range strings.Lines(out.String()) {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
		return lines
	}
}

func requestAttrs() []any {
	return []any{
		slog.String("request_id", "req_4711"), slog.String("method", "POST"), slog.String("route", "/v1/chat/completions"),
		slog.Int("status", 200), slog.Int64("duration_us", 1287949), slog.Int("bytes", 812), slog.String("client", "127.0.0.1"),
		slog.String("provider", ""), slog.String("model", "gpt-4"), slog.Int64("cost_micro_usd", 51),
	}
}

func TestTerminalShowsRequestsInUnitsForPeople(t *testing.T) {
	log, lines := screen(200, false)
	log.Info("request", requestAttrs()...)
	const want = " INFO  200 POST /v1/chat/completions 1.29s model=gpt-4 bytes=812 client=127.0.0.1 cost=$0.000051 req_4711"
	if got := lines(); len(got) != 1 || !strings.HasSuffix(got[0], want) || len(got[0]) != len("15:04:05")+len(want) {
		t.Errorf("%q", got)
	}
}

func TestTerminalLinesFit(t *testing.T) {
	const width = 60
	log, lines := screen(width, false)
	log.Info("request", requestAttrs()...)
	log.Warn("the database is not ready", "error", errors.New("connection refused"), "next_try", "250ms", "advice", "")
	got := lines()
	if len(got) != 3 || !strings.HasSuffix(got[0], "…") {
		t.Fatalf("%q", got)
	}
	for _, line := range got {
		if utf8.RuneCountInString(line) > width {
			t.Errorf("%d columns: %s", utf8.RuneCountInString(line), line)
		}
	}
	if !strings.HasSuffix(got[1], `WARN  the database is not ready`) || strings.TrimSpace(got[2]) != `error="connection refused" next_try=250ms` {
		t.Errorf("%q", got[1:])
	}
}

func TestTerminalColoursByLevel(t *testing.T) {
	log, lines := screen(80, true)
	log.Debug("below the level")
	log.Info("one")
	log.Warn("two")
	log.Error("three")
	got := lines()
	if len(got) != 3 {
		t.Fatalf("%q", got)
	}
	for i, colour := range []string{"\x1b[32m", "\x1b[33m", "\x1b[31m"} {
		if !strings.HasPrefix(got[i], colour) || strings.Count(got[i], "\x1b[0m") != 1 {
			t.Errorf("%q", got[i])
		}
	}
}

func TestTerminalIsNotControlledByWhatClientsSend(t *testing.T) {
	log, lines := screen(200, true)
	log.With("part", "x").Error("one\x1b[2J\r\n", "path", "/\x1b]0;title\x07", "user", "a\nINFO forged")
	got := lines()
	if len(got) != 1 || strings.Count(got[0], "\x1b") != 2 || strings.ContainsAny(got[0], "\r\x07") || !strings.Contains(got[0], "part=x") {
		t.Errorf("%q", got)
	}
}
