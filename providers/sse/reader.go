// Package sse reads Server-Sent Events as the WHATWG HTML standard defines them.
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

// firstBuffer is 1 KiB more than Go's HTTP transport reads at once, 4 KiB. The
// additional space is for the beginning of an event from the read before: without
// it every other read would be a small one.
const firstBuffer = 5 << 10

// Event is one dispatched event. Data holds its data lines joined by LF and
// is valid until the next call of Next.
type Event struct {
	Name string // of the event: line; may be empty
	Data []byte
}

// Reader splits a byte stream into events. Lines may end in LF, CRLF or CR and
// be cut by the network anywhere. It returns an event as soon
// as its last line ending has arrived, without another read.
type Reader struct {
	src    io.Reader
	first  *[firstBuffer]byte // returned to the pool by Close
	buf    []byte
	r, w   int  // unread part of buf
	seen   int  // bytes after r already searched for a line ending
	skipLF bool // the last line ended in CR: a LF right after it belongs to it
	begun  bool // the byte order mark has been checked
	err    error

	raw   bool // the bytes of an event stay in buf until the next one; see KeepRaw
	start int  // of the event in buf, with what stands before it

	name  string // of the last named event
	data  []byte
	stray []byte
}

// buffers are unused buffers. They hold data of former readers, so a reader uses
// only the bytes that it has read itself.
var buffers = sync.Pool{New: func() any { return new([firstBuffer]byte) }}

// NewReader reads events from src.
func NewReader(src io.Reader) *Reader {
	first := buffers.Get().(*[firstBuffer]byte)
	return &Reader{src: src, first: first, buf: first[:]}
}

// Close releases the buffer. Events that Next has returned are no longer valid.
func (r *Reader) Close() {
	if r.first == nil {
		return
	}
	buffers.Put(r.first)
	r.first, r.buf, r.data = nil, nil, nil
	r.r, r.w, r.seen, r.start, r.err = 0, 0, 0, 0, io.ErrClosedPipe
}

// Next returns the next event that has data. An event at the end
// without its empty line is returned too: the protocol inside says whether the
// stream was complete. The error is io.EOF at the end, ErrTooLong, or the source's.
func (r *Reader) Next() (Event, error) {
	var event Event
	r.data, r.start = r.data[:0], r.r
	has := false
	for {
		line, err := r.line()
		if err != nil {
			if !errors.Is(err, io.EOF) || !has {
				return Event{}, err
			}
			event.Data = r.data
			if r.raw {
				return r.lastRaw(event)
			}
			return event, nil
		}
		if len(line) == 0 {
			if has {
				event.Data = r.data
				if !r.raw || !r.skipLF {
					return event, nil
				}
				err := r.takeLF()
				if errors.Is(err, io.EOF) {
					return r.lastRaw(event)
				}
				return event, err
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
			if r.name != string(value) { // mostly it is that of the event before
				r.name = string(value)
			}
			event.Name = r.name
		case "", "id", "retry":
		default:
			r.keepStray(line)
		}
	}
}

// Stray is the first 64 KiB of the lines that are not of the event stream format:
// some upstreams end a stream with a bare JSON error.
func (r *Reader) Stray() []byte { return r.stray }

// Buffered says whether another line has already arrived, so that a writer can
// delay its flush.
func (r *Reader) Buffered() bool { return bytes.IndexByte(r.buf[r.r:r.w], '\n') >= 0 }

func (r *Reader) keepStray(line []byte) {
	const maxStray = 64 << 10
	if len(r.stray)+len(line) < maxStray {
		r.stray = append(append(r.stray, line...), '\n')
	}
}

// split separates a line's field from its value; the field of a comment is empty.
func split(line []byte) (string, []byte) {
	at := bytes.IndexByte(line, ':')
	if at < 0 {
		return string(line), nil
	}
	value := line[at+1:]
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	// These conversions of known names do not allocate.
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
// call. The bytes before the end of the source count as a line.
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

// mark skips a byte order mark; it is false while too few bytes have arrived.
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

// fill reads more, and grows the buffer if it is full.
func (r *Reader) fill() error {
	from := r.r
	if r.raw {
		from = r.start
	}
	if from > 0 {
		copy(r.buf, r.buf[from:r.w])
		r.start, r.r, r.w = 0, r.r-from, r.w-from
	}
	if r.w == len(r.buf) {
		if len(r.buf) > MaxLine {
			return ErrTooLong
		}
		grown := make([]byte, min(2*len(r.buf), MaxLine+firstBuffer))
		copy(grown, r.buf[:r.w])
		r.buf = grown
	}
	for range 100 { // as bufio does, against sources that return no bytes and no error for ever
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
