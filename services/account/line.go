package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"modelgateway/models/api"
)

// line lets a few do costly work at once and some more wait for it, first come,
// first served. Everybody else is refused at once.
type line struct {
	places chan struct{} // held by those who wait or work
	slots  chan struct{} // held by those who work
}

var errLineFull = errors.New("too many wait for their password to be hashed")

// lineWait is about how long a full line takes to get through.
const lineWait = 2 * time.Second

func newLine(places, slots int) *line {
	return &line{places: make(chan struct{}, places), slots: make(chan struct{}, slots)}
}

// enter takes a place in the line, to be given back with leave.
func (l *line) enter() (leave func(), err error) {
	select {
	case l.places <- struct{}{}:
		return func() { <-l.places }, nil
	default:
	}
	e := api.Unavailable(errLineFull)
	e.RetryAfter = lineWait
	e.Message = "too many log in or register at once; try again in " + wholeSeconds(e)
	return nil, e
}

// turn waits until its holder of a place may work, and ends with done.
func (l *line) turn(ctx context.Context) (done func(), err error) {
	select {
	case l.slots <- struct{}{}:
		return func() { <-l.slots }, nil
	case <-ctx.Done():
		return nil, api.Unavailable(ctx.Err())
	}
}

// wholeSeconds says in words what the error's Retry-After says.
func wholeSeconds(e *api.Error) string {
	if n := e.RetryAfterSeconds(); n != 1 {
		return fmt.Sprintf("%d seconds", n)
	}
	return "1 second"
}
