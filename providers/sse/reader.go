// Package sse reads Server-Sent Events as the WHATWG standard has them, for
// every upstream alike.
package sse

import (
	"bytes"
	"errors"
	"io"
	"sync"
)

// MaxLine bounds one line, in bytes: pictures arrive as one event.
const MaxLine = 16 << 20

// ErrTooLong reports a line longer than MaxLine, or an event of several lines
// longer than that together.
var ErrTooLong = errors.New("sse: event longer than 16 MiB")

// firstBuffer holds what Go's HTTP transport reads at once, 4 KiB, behind the
// beginning of an event that the read before has left: with less room every
// other read would be a small one.
const firstBuffer = 5 << 10

// Event is one dispatched event. Data holds its data lines joined by LF and
// is valid until the next call of Next.
type Event struct {
	Name string // of the event: line, empty where there is none
	Data []byte
}

// Reader splits a byte stream into events. Lines may end in LF, CRLF or CR and
// be cut by the network anywhere. It never reads ahead of what it has
// dispatched when the event's last line ending has arrived.
type Reader struct {
	src    io.Reader
	first  *[firstBuffer]byte // goes back with Close
	buf    []byte
	r, w   int  // unread part of buf
	seen   int  // bytes after r already searched for a line ending
	skipLF bool // the last line ended in CR: a LF right behind belongs to it
	begun  bool // past the place of a byte order mark
	err    error

	data  []byte
	stray []byte
}

// buffers are those that no reader uses. They hold what upstreams said to
// others: a reader looks at nothing that it has not itself read into one.
var buffers = sync.Pool{New: func() any { return new([firstBuffer]byte) }}

// NewReader reads events from src.
func NewReader(src io.Reader) *Reader {
	first := buffers.Get().(*[firstBuffer]byte)
	return &Reader{src: src, first: first, buf: first[:]}
}

// Close ends the reading. What Next has returned is no longer valid.
func (r *Reader) Close() {
	if r.first == nil {
		return
	}
	buffers.Put(r.first)
	r.first, r.buf, r.data = nil, nil, nil
	r.r, r.w, r.seen, r.err = 0, 0, 0, io.ErrClosedPipe
}

// Next returns the next event that has data. A last event without its closing
// empty line is dispatched too: whether the stream was whole is for its
// protocol to say. The error is io.EOF at the end, ErrTooLong, or the source's.
func (r *Reader) Next() (Event, error) {
	var event Event
	r.data = r.data[:0]
	has := false
	for {
		line, err := r.line()
		if err != nil {
			if errors.Is(err, io.EOF) && has {
				event.Data = r.data
				return event, nil
			}
			return Event{}, err
		}
		if len(line) == 0 {
			if has {
				event.Data = r.data
				return event, nil
			}
			event.Name = ""
			continue
		}
		switch field, value := split(line); field {
		case "data":
			if has {
				r.data = append(r.data, '\n')
			}
			if len(r.data)+len(value) > MaxLine {
				return Event{}, ErrTooLong
			}
			r.data = append(r.data, value...)
			has = true
		case "event":
			event.Name = string(value)
		case "", "id", "retry":
		default:
			r.keepStray(line)
		}
	}
}

// Stray holds the start of the lines that are not of the event stream format:
// some upstreams end a stream with a bare JSON error.
func (r *Reader) Stray() []byte { return r.stray }

// Buffered says whether another line has already arrived, so that a writer
// can put off its flush.
func (r *Reader) Buffered() bool { return bytes.IndexByte(r.buf[r.r:r.w], '\n') >= 0 }

func (r *Reader) keepStray(line []byte) {
	const most = 64 << 10
	if len(r.stray)+len(line) < most {
		r.stray = append(append(r.stray, line...), '\n')
	}
}

// split parts a line into its field and value; a comment has no field.
func split(line []byte) (string, []byte) {
	at := bytes.IndexByte(line, ':')
	if at < 0 {
		return string(line), nil
	}
	value := line[at+1:]
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	// The compiler keeps these conversions off the heap for known names.
	switch string(line[:at]) {
	case "data":
		return "data", value
	case "event":
		return "event", value
	case "":
		return "", value
	default:
		return string(line[:at]), value
	}
}

// line returns the next line without its ending; it is valid until the next
// call. The rest before the end of the source counts as a line.
func (r *Reader) line() ([]byte, error) {
	for {
		if r.skipLF && r.r < r.w {
			if r.buf[r.r] == '\n' {
				r.r++
			}
			r.skipLF = false
		}
		if line, ok := r.scan(); ok {
			return line, nil
		}
		if r.err != nil {
			return r.last()
		}
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
}

// scan looks for a whole line in the buffer.
func (r *Reader) scan() ([]byte, bool) {
	if !r.begun && !r.mark() {
		return nil, false
	}
	rest := r.buf[r.r+r.seen : r.w]
	at := bytes.IndexByte(rest, '\n')
	if cr := bytes.IndexByte(rest[:max(at, 0)], '\r'); at >= 0 && cr >= 0 {
		at = cr
	} else if at < 0 {
		at = bytes.IndexByte(rest, '\r')
	}
	if at < 0 {
		r.seen = len(r.buf[r.r:r.w])
		return nil, false
	}
	line := r.buf[r.r : r.r+r.seen+at]
	r.skipLF = rest[at] == '\r'
	r.r += r.seen + at + 1
	r.seen = 0
	return line, true
}

// mark drops a byte order mark; it is false while too little has arrived to
// tell.
func (r *Reader) mark() bool {
	const bom = "\xef\xbb\xbf"
	have := string(r.buf[r.r:min(r.w, r.r+len(bom))])
	if len(have) < len(bom) && have == bom[:len(have)] && r.err == nil {
		return false
	}
	r.begun = true
	if have == bom {
		r.r += len(bom)
	}
	return true
}

func (r *Reader) last() ([]byte, error) {
	if r.r == r.w || !errors.Is(r.err, io.EOF) {
		return nil, r.err
	}
	line := r.buf[r.r:r.w]
	r.r, r.seen = r.w, 0
	return line, nil
}

// fill reads more, making room first.
func (r *Reader) fill() error {
	if r.r > 0 {
		copy(r.buf, r.buf[r.r:r.w])
		r.r, r.w = 0, r.w-r.r
	}
	if r.w == len(r.buf) {
		if len(r.buf) > MaxLine {
			return ErrTooLong
		}
		grown := make([]byte, min(2*len(r.buf), MaxLine+firstBuffer))
		copy(grown, r.buf[:r.w])
		r.buf = grown
	}
	for range 100 { // as bufio does, against sources that return nothing for ever
		n, err := r.src.Read(r.buf[r.w:])
		r.w += n
		r.err = err
		if n > 0 || err != nil {
			return nil
		}
	}
	r.err = io.ErrNoProgress
	return nil
}
