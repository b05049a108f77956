package api

import "time"

// Seconds returns a time of the database, in Unix microseconds, in Unix seconds.
func Seconds(micro int64) int64 { return micro / int64(time.Second/time.Microsecond) }

// Moment is Seconds, and nil for 0, which is no time.
func Moment(micro int64) *int64 {
	if micro == 0 {
		return nil
	}
	at := Seconds(micro)
	return &at
}
