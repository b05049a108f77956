package ratelimit

import (
	"sync"
	"time"
)

// breaker leaves Redis alone for a while after it has failed, and then lets
// one request at a time try whether it is back.
type breaker struct {
	pause time.Duration
	now   func() time.Time

	mu     sync.Mutex
	until  time.Time // zero while Redis works
	trying bool
}

// ask says whether Redis may be asked now. Who was told so reports to heard how
// it went.
func (b *breaker) ask() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.until.IsZero() {
		return true
	}
	if b.trying || b.now().Before(b.until) {
		return false
	}
	b.trying = true
	return true
}

// heard takes in how a question went, and says whether that changed anything.
func (b *breaker) heard(err error) (changed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	worked := b.until.IsZero()
	b.trying, b.until = false, time.Time{}
	if err != nil {
		b.until = b.now().Add(b.pause)
	}
	return worked == (err != nil)
}

// works says whether the last question that was heard of went well.
func (b *breaker) works() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.until.IsZero()
}
