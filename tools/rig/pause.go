package rig

import (
	"syscall"
	"time"
)

// pause is a time.Sleep that is late by some ten microseconds: Go's own timers
// wait in whole milliseconds when nothing else runs, which is more than what
// is to be measured.
func pause(d time.Duration) {
	if d <= 0 {
		return
	}
	wait := syscall.NsecToTimespec(int64(d))
	for syscall.Nanosleep(&wait, &wait) == syscall.EINTR { // the rest is in wait
		continue
	}
}
