package models

import (
	"math/rand/v2"
	"strings"
	"time"
)

// A request id of the gateway is req_ and 26 letters and digits: ten for the time, in
// milliseconds and in base 32, and the rest random. With the time in it its call is found among
// millions without an index.
const (
	requestIDMark   = "req_"
	requestIDTime   = 10
	requestIDLength = len(requestIDMark) + 26

	// base32 are the digits of RFC 4648 in their order of bytes, so that ids sort by time.
	base32 = "234567ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// NewRequestID makes the id of a request.
func NewRequestID(at time.Time) string {
	var id [requestIDLength]byte
	copy(id[:], requestIDMark)
	n := uint64(max(at.UnixMilli(), 0))
	for i := requestIDTime - 1; i >= 0; i-- {
		id[len(requestIDMark)+i] = base32[n%uint64(len(base32))]
		n /= uint64(len(base32))
	}
	rest := id[len(requestIDMark)+requestIDTime:]
	const bits = 5 // of a digit
	for i, random := 0, uint64(0); i < len(rest); i++ {
		if i%(64/bits) == 0 {
			random = rand.Uint64() // an id is no secret: the system's random numbers took 0.5 µs
		}
		rest[i] = base32[random%uint64(len(base32))]
		random >>= bits
	}
	return string(id[:])
}

// RequestIDTime is the time in an id that NewRequestID has made. Ids of clients, and those of
// former releases, have none.
func RequestIDTime(id string) (at time.Time, ok bool) {
	rest, ok := strings.CutPrefix(id, requestIDMark)
	if !ok || len(id) != requestIDLength || strings.Trim(rest, base32) != "" {
		return at, false
	}
	var n int64
	for i := range requestIDTime {
		n = n*int64(len(base32)) + int64(strings.IndexByte(base32, rest[i]))
	}
	at = time.UnixMilli(n)
	return at, at.Year() >= firstYear && at.Year() < lastYear
}

// The years in which an id is believed to be the gateway's: an id of a former release is
// random.
const firstYear, lastYear = 2026, 2126
