package app

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// terminal is the log on a terminal: lines that fit it, coloured by their level,
// with durations and amounts in units for people and without empty attributes. It
// handles no groups, since the gateway logs none.
type terminal struct {
	out    io.Writer
	level  slog.Leveler
	colour bool
	width  func() int  // columns
	attrs  []slog.Attr // of With
}

func (h *terminal) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level.Level() }

func (h *terminal) WithAttrs(attrs []slog.Attr) slog.Handler {
	more := *h
	more.attrs = append(slices.Clone(h.attrs), attrs...)
	return &more
}

func (h *terminal) WithGroup(string) slog.Handler { return h }

// Handle writes a record. The line of a request is cut at the width of the
// terminal: LOG_FORMAT=json has the rest. The attributes of other records continue
// on further lines.
func (h *terminal) Handle(_ context.Context, r slog.Record) error {
	attrs := slices.Clone(h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, a)
		return true
	})
	const levelWidth = 6
	head := r.Time.Format(time.TimeOnly) + " " + (r.Level.String() + "      ")[:levelWidth]
	indent, width := len(head), max(h.width(), 40)
	var words []string
	if r.Message == "request" {
		words = requestWords(attrs)
	} else {
		words = append(strings.Fields(plainText(r.Message)), attrWords(attrs)...)
	}
	text := strings.Join(words, " ")
	if utf8.RuneCountInString(text)+indent > width {
		if r.Message == "request" {
			text = cut(text, width-indent)
		} else {
			text = wrapped(words, width-indent, "\n"+strings.Repeat(" ", indent))
		}
	}
	if colour := levelColour(r.Level); h.colour && colour != "" {
		head = colour + head + "\x1b[0m"
	}
	_, err := io.WriteString(h.out, head+text+"\n")
	return err
}

func levelColour(level slog.Level) string {
	switch {
	case level >= slog.LevelError:
		return "\x1b[31m" // red
	case level >= slog.LevelWarn:
		return "\x1b[33m" // yellow
	case level < slog.LevelInfo:
		return "\x1b[90m" // grey
	default:
		return "\x1b[32m" // green
	}
}

// requestWords begins with what identifies a request: status, method, path and
// duration.
func requestWords(attrs []slog.Attr) []string {
	text := map[string]string{}
	for _, a := range attrs {
		text[a.Key] = humanText(a)
	}
	path := text["path"]
	if path == "" {
		path = text["route"]
	}
	words := []string{text["status"], text["method"], path, text["duration_us"]}
	rest := slices.DeleteFunc(slices.Clone(attrs), func(a slog.Attr) bool {
		return slices.Contains([]string{"status", "method", "path", "route", "duration_us", "request_id"}, a.Key)
	})
	for _, first := range []string{"message", "param", "code", "model"} { // the last is in front
		if i := slices.IndexFunc(rest, func(a slog.Attr) bool { return a.Key == first }); i >= 0 {
			a := rest[i]
			rest = slices.Insert(slices.Delete(rest, i, i+1), 0, a)
		}
	}
	return append(append(words, attrWords(rest)...), text["request_id"])
}

// attrWords are the attributes that are not empty, as name=value.
func attrWords(attrs []slog.Attr) []string {
	var words []string
	for _, a := range attrs {
		if text := humanText(a); text != "" {
			name := strings.TrimSuffix(strings.TrimSuffix(a.Key, "_us"), "_micro_usd")
			words = append(words, name+"="+text)
		}
	}
	return words
}

// humanText is the value of an attribute, of which *_us are microseconds and
// *_micro_usd millionths of a dollar.
func humanText(a slog.Attr) string {
	value := a.Value.Resolve()
	if value.Kind() == slog.KindInt64 {
		switch n := value.Int64(); {
		case strings.HasSuffix(a.Key, "_us"):
			return roundedDuration(time.Duration(n) * time.Microsecond)
		case strings.HasSuffix(a.Key, "_micro_usd"):
			return "$" + strconv.FormatFloat(float64(n)/1e6, 'f', -1, 64)
		}
	}
	if value.Kind() == slog.KindDuration {
		return roundedDuration(value.Duration())
	}
	text := value.String()
	if plain := plainText(text); plain != text || strings.ContainsAny(text, ` "=`) {
		return strconv.Quote(text)
	}
	return text
}

// roundedDuration has about three digits.
func roundedDuration(d time.Duration) string {
	for unit := time.Second; unit > time.Microsecond; unit /= 10 {
		if d >= 100*unit {
			return d.Round(unit).String()
		}
	}
	return d.String()
}

// plainText is a text without characters that would control the terminal.
func plainText(text string) string {
	return strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}

// wrapped joins words to lines of a width that none exceeds but a word that is
// longer itself.
func wrapped(words []string, width int, newLine string) string {
	var b strings.Builder
	used := 0
	for i, word := range words {
		size := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case used+1+size > width:
			b.WriteString(newLine)
			used = 0
		default:
			b.WriteString(" ")
			used++
		}
		b.WriteString(word)
		used += size
	}
	return b.String()
}

// cut shortens a text to so many characters.
func cut(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	return string(runes[:width-1]) + "…"
}
