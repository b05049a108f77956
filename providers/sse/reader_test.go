package sse

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

type plain struct{ Name, Data string }

func all(r io.Reader) ([]plain, error) {
	var events []plain
	reader := NewReader(r)
	for {
		e, err := reader.Next()
		if err == io.EOF {
			return events, nil
		}
		if err != nil {
			return events, err
		}
		events = append(events, plain{e.Name, string(e.Data)})
	}
}

func TestEventsWithEveryLineEnding(t *testing.T) {
	want := []plain{{"", "one"}, {"two", "a\nb"}, {"", "drei é"}}
	text := ": hello\ndata: one\n\nevent: two\nid: 7\ndata: a\ndata:b\n\nevent: lost\n\ndata: drei é\n\n"
	for name, ending := range map[string]string{"LF": "\n", "CRLF": "\r\n", "CR": "\r"} {
		t.Run(name, func(t *testing.T) {
			stream := strings.ReplaceAll(text, "\n", ending)
			got, err := all(strings.NewReader(stream))
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("got %q, %v", got, err)
			}
			got, err = all(iotest.OneByteReader(strings.NewReader(stream)))
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("byte by byte: %q, %v", got, err)
			}
			for cut := range len(stream) {
				got, err = all(io.MultiReader(strings.NewReader(stream[:cut]), strings.NewReader(stream[cut:])))
				if err != nil || !reflect.DeepEqual(got, want) {
					t.Fatalf("cut at %d: %q, %v", cut, got, err)
				}
			}
		})
	}
}

func TestUnusualEventStreams(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     []plain
	}{
		{"byte order mark", "\xef\xbb\xbfdata: x\n\n", []plain{{"", "x"}}},
		{"no final newline", "data: x\n\ndata: [DONE]", []plain{{"", "x"}, {"", "[DONE]"}}},
		{"one final newline", "data: x\n", []plain{{"", "x"}}},
		{"one space is dropped, two are not", "data:  x\n\n", []plain{{"", " x"}}},
		{"empty data line", "data\n\ndata:\n\n", []plain{{"", ""}, {"", ""}}},
		{"mixed endings", "data: a\r\n\rdata: b\n\r\n", []plain{{"", "a"}, {"", "b"}}},
		{"comments only", ": ping\n\n: ping\n\n", nil},
		{"nothing", "", nil},
		{"only a mark", "\xef\xbb\xbf", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := all(strings.NewReader(tt.in))
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestAnEventIsDispatchedBeforeMoreArrives(t *testing.T) {
	for _, ending := range []string{"\n\n", "\r\n\r\n", "\r\r"} {
		in, out := io.Pipe()
		go func() {
			_, _ = io.WriteString(out, "data: now"+ending)
			// Nothing more, and no end: a reader that wants either hangs.
		}()
		if e, err := NewReader(in).Next(); err != nil || string(e.Data) != "now" {
			t.Errorf("%q: %q, %v", ending, e.Data, err)
		}
		_ = in.Close()
	}
}

func TestLongLines(t *testing.T) {
	for _, size := range []int{64<<10 - 1, 64 << 10, 64<<10 + 1, 1 << 20, MaxLine - len("data: ")} {
		line := strings.Repeat("x", size)
		got, err := all(strings.NewReader("data: " + line + "\n\ndata: after\n\n"))
		if err != nil || len(got) != 2 || got[0].Data != line || got[1].Data != "after" {
			t.Errorf("%d bytes: %d events, %v", size, len(got), err)
		}
	}
	for name, in := range map[string]string{
		"one line":     "data: " + strings.Repeat("x", MaxLine+firstBuffer) + "\n\n",
		"many lines":   strings.Repeat("data: "+strings.Repeat("x", 1<<20)+"\n", 17) + "\n",
		"never ending": "data: " + strings.Repeat("x", 2*MaxLine),
	} {
		if _, err := all(strings.NewReader(in)); !errors.Is(err, ErrTooLong) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestErrorOfTheSourceIsReturned(t *testing.T) {
	broken := errors.New("reset")
	got, err := all(io.MultiReader(strings.NewReader("data: a\n\ndata: half"), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) || len(got) != 1 {
		t.Errorf("%q, %v", got, err)
	}
}

func TestStrayLinesAreKept(t *testing.T) {
	r := NewReader(strings.NewReader("data: a\n\n{\n \"error\": {}\n}\n"))
	for {
		if _, err := r.Next(); err != nil {
			break
		}
	}
	if got := string(r.Stray()); got != "{\n \"error\": {}\n}\n" {
		t.Errorf("%q", got)
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("data: a\n\nevent: b\r\ndata: c\r\n\r\n:x\rdata:d\r\r"), 3)
	f.Add([]byte("\xef\xbb\xbfdata: [DONE]"), 1)
	f.Fuzz(func(t *testing.T, in []byte, size int) {
		whole, err := all(bytes.NewReader(in))
		if err != nil {
			t.Fatal(err)
		}
		pieces, err := all(&chunks{in, max(size, 1)})
		if err != nil || !reflect.DeepEqual(whole, pieces) {
			t.Fatalf("%q whole, %q in pieces of %d, %v", whole, pieces, size, err)
		}
	})
}

type chunks struct {
	rest []byte
	size int
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.rest[:min(c.size, len(c.rest))])
	c.rest = c.rest[n:]
	return n, nil
}

func BenchmarkNext(b *testing.B) {
	text := bytes.Repeat(
		[]byte(
			"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hello\"}}\n\n",
		),
		1000,
	)
	b.ReportAllocs()
	b.SetBytes(int64(len(text) / 1000))
	r := NewReader(bytes.NewReader(text))
	for b.Loop() {
		if _, err := r.Next(); err == io.EOF {
			r = NewReader(bytes.NewReader(text))
		}
	}
}
