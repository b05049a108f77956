// Package reuse keeps values that are needed again and again for a short time, so that each
// request does not allocate them.
package reuse

import "sync"

// Pool holds values of T that are not in use. Its zero value is ready.
type Pool[T any] struct{ free sync.Pool }

// Get returns a zero T.
func (p *Pool[T]) Get() *T {
	if v, ok := p.free.Get().(*T); ok {
		return v
	}
	return new(T)
}

// Put takes back what Get returned. Nothing may use it afterwards. It is cleared, so that
// the pool does not keep what it refers to.
func (p *Pool[T]) Put(v *T) {
	var zero T
	*v = zero
	p.free.Put(v)
}
