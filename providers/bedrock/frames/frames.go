// Package frames reads the streams of Amazon Bedrock, which are of the media type
// application/vnd.amazon.eventstream, as server-sent events.
//
// The decoder of aws-sdk-go-v2 is not used: it takes a stream that was cut inside a frame for one
// that has ended, has no limit, and a frame takes it 39 allocations and ten times as long as all
// else that is done for a chunk.
package frames

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"

	"modelgateway/providers/upstream"
)

// Framing is that of Bedrock's streams.
func Framing() *upstream.Framing {
	return &upstream.Framing{
		ContentType: "application/vnd.amazon.eventstream",
		ToSSE:       func(frames io.Reader) io.Reader { return &reader{from: bufio.NewReader(frames)} },
	}
}

// A frame begins with its length, that of its headers and a checksum of both, and ends with a
// checksum of all. https://smithy.io/2.0/aws/amazon-eventstream.html
const (
	preludeSize = 12
	crcSize     = 4
	maxFrame    = 16 << 20
)

var (
	errChecksum = errors.New("a frame of the stream has a wrong checksum")
	errLength   = errors.New("a frame of the stream has an impossible length")
	errTooLong  = errors.New("a frame of the stream is longer than 16 MiB")
	errHeaders  = errors.New("a frame of the stream has headers that cannot be read")
	errChunk    = errors.New("a chunk of the stream has no event")
)

// reader gives the events of frames. What has come before a fault is given before its error.
type reader struct {
	from  *bufio.Reader
	frame []byte
	m     message // of the frame
	out   []byte  // events, of which those up to at have been read
	at    int
	err   error
}

func (r *reader) Read(p []byte) (int, error) {
	for r.at == len(r.out) {
		if r.err != nil {
			return 0, r.err
		}
		r.out, r.at = r.out[:0], 0
		for r.err = r.next(); r.err == nil && len(r.out) < len(p) && r.hasWhole(); {
			r.err = r.next()
		}
	}
	n := copy(p, r.out[r.at:])
	r.at += n
	return n, nil
}

// hasWhole says whether the next frame has come already.
func (r *reader) hasWhole() bool {
	n := r.from.Buffered()
	if n < preludeSize {
		return false
	}
	prelude, err := r.from.Peek(preludeSize)
	return err == nil && int64(binary.BigEndian.Uint32(prelude)) <= int64(n)
}

// next reads one frame and adds its event.
func (r *reader) next() error {
	r.grow(preludeSize)
	if _, err := io.ReadFull(r.from, r.frame); err != nil {
		return err // io.EOF between two frames
	}
	if !hasChecksum(r.frame) {
		return errChecksum
	}
	size, headers := binary.BigEndian.Uint32(r.frame), binary.BigEndian.Uint32(r.frame[4:])
	switch {
	case size > maxFrame:
		return errTooLong
	case size < preludeSize+crcSize || headers > size-preludeSize-crcSize:
		return errLength
	}
	r.grow(int(size))
	if _, err := io.ReadFull(r.from, r.frame[preludeSize:]); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	if !hasChecksum(r.frame) {
		return errChecksum
	}
	r.m = message{payload: r.frame[preludeSize+headers : size-crcSize], event: r.m.event}
	err := r.m.readHeaders(r.frame[preludeSize : preludeSize+headers])
	if err == nil {
		r.out, err = r.m.appendEvent(r.out)
	}
	return err
}

// grow makes the frame so long, and keeps what it has.
func (r *reader) grow(size int) {
	if cap(r.frame) < size {
		r.frame = append(make([]byte, 0, size+size/2), r.frame...)
	}
	r.frame = r.frame[:size]
}

// hasChecksum says whether a text ends with its checksum.
func hasChecksum(text []byte) bool {
	end := len(text) - crcSize
	return crc32.ChecksumIEEE(text[:end]) == binary.BigEndian.Uint32(text[end:])
}
