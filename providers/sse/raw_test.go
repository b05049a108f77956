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

// rawly are the events of a stream and their bytes, one after another.
func rawly(r io.Reader) (events []plain, raw string, err error) {
	reader := NewReader(r)
	reader.KeepRaw()
	for {
		e, err := reader.Next()
		if err != nil {
			return events, raw, err
		}
		events = append(events, plain{e.Name, string(e.Data)})
		raw += string(reader.Raw())
	}
}

func TestTheBytesOfAllEventsAreThoseOfTheSource(t *testing.T) {
	text := ": hello\ndata: one\n\n\n\n: a comment alone\n\nevent: two\nid: 7\ndata: a\ndata:b\n\nevent: lost\n\ndata: " +
		strings.Repeat("drei é", 2000) + "\n\nretry: 1\nstray\ndata: four\n\n"
	for name, ending := range map[string]string{"LF": "\n", "CRLF": "\r\n", "CR": "\r"} {
		stream := "\xef\xbb\xbf" + strings.ReplaceAll(text, "\n", ending)
		want, err := all(strings.NewReader(stream))
		if err != nil {
			t.Fatal(err)
		}
		check := func(how string, r io.Reader) {
			t.Helper()
			if got, raw, err := rawly(r); !errors.Is(err, io.EOF) || raw != stream || !reflect.DeepEqual(got, want) {
				t.Errorf("%s, %s: %d events, %d bytes of %d, %v", name, how, len(got), len(raw), len(stream), err)
			}
		}
		check("whole", strings.NewReader(stream))
		check("byte by byte", iotest.OneByteReader(strings.NewReader(stream)))
		for cut := range len(stream) {
			if cut > 200 && cut < len(stream)-100 && cut%500 != 0 {
				continue
			}
			check("cut", io.MultiReader(strings.NewReader(stream[:cut]), strings.NewReader(stream[cut:])))
		}
	}
}

func TestTheLastEventNeedsNoEmptyLineIfItIsWhole(t *testing.T) {
	const first = "data: a\n\n"
	for end, want := range map[string]string{
		"data: b": "", "data: b\n": "", "data: {\"a\":": "", "event: x\nda": "",
		"data: {}": "data: {}\n\n", "data: {}\n": "data: {}\n\n", "data: {}\r\n": "data: {}\r\n\n", "event: x\ndata: {\ndata: }": "event: x\ndata: {\ndata: }\n\n",
	} {
		for _, source := range []io.Reader{strings.NewReader(first + end), iotest.OneByteReader(strings.NewReader(first + end))} {
			_, raw, err := rawly(source)
			if raw != first+want || !errors.Is(err, io.EOF) {
				t.Errorf("%q: %q, %v", end, raw, err)
			}
		}
	}
}

func TestARawEventIsDispatchedBeforeMoreArrives(t *testing.T) {
	for _, ending := range []string{"\n\n", "\r\n\r\n", "\r\r"} {
		in, out := io.Pipe()
		go func() {
			_, _ = io.WriteString(out, "data: now"+ending)
			// Nothing more, and no end: a reader that wants either hangs.
		}()
		r := NewReader(in)
		r.KeepRaw()
		if e, err := r.Next(); err != nil || string(e.Data) != "now" || string(r.Raw()) != "data: now"+ending {
			t.Errorf("%q: %q, %v", ending, e.Data, err)
		}
		_ = in.Close()
	}
}

func TestLongRawEvents(t *testing.T) {
	line := strings.Repeat("x", MaxLine-100)
	events, raw, err := rawly(strings.NewReader("event: a\ndata: " + line + "\n\n"))
	if !errors.Is(err, io.EOF) || len(events) != 1 || len(raw) != len(line)+len("event: a\ndata: \n\n") {
		t.Errorf("%d events, %v", len(events), err)
	}
	if _, _, err := rawly(strings.NewReader(strings.Repeat(": a comment, and never an event\n", MaxLine/30))); !errors.Is(err, ErrTooLong) {
		t.Errorf("comments without end: %v", err)
	}
}

func FuzzRaw(f *testing.F) {
	f.Add([]byte("data: a\n\nevent: b\r\ndata: c\r\n\r\n:x\rdata:d\r\r"), 3)
	f.Add([]byte("\xef\xbb\xbfdata: [DONE]"), 1)
	f.Fuzz(func(t *testing.T, in []byte, size int) {
		whole, raw, _ := rawly(bytes.NewReader(in))
		want, err := all(bytes.NewReader(in))
		if err != nil || len(want) > len(whole)+1 || !reflect.DeepEqual(want[:len(whole)], whole) && len(whole) > 0 {
			t.Fatalf("%q with bytes, %q without, %v", whole, want, err)
		}
		pieces, again, _ := rawly(&chunks{in, max(size, 1)})
		if !bytes.HasPrefix(in, bytes.TrimRight([]byte(raw), "\r\n")) || !reflect.DeepEqual(whole, pieces) {
			t.Fatalf("%q whole, %q in pieces of %d", whole, pieces, size)
		}
		if again != raw && again+"\n" != raw { // the LF after a CR alone may come with the next event, of which there is none
			t.Fatalf("%q whole, %q in pieces", raw, again)
		}
	})
}
