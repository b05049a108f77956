package auth

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// counter is a database that counts changes, with a clock that tests move.
type counter struct {
	clock
	n      int64
	err    error
	during func() // a poll, after the database has answered
}

func (c *counter) stored(context.Context) (int64, error) {
	n := c.n
	if c.during != nil {
		c.during()
	}
	return n, c.err
}

func (c *counter) revisions() *Revisions { return &Revisions{now: c.now, stored: c.stored} }

func (c *counter) later(d time.Duration) { c.at = c.at.Add(d) }

func TestAnAnswerIsValidatedByTheLastPollOfItsRevision(t *testing.T) {
	c := &counter{clock: clock{november}, n: 40}
	r := c.revisions()
	if n, _ := r.Current(); n != 0 || !r.validatedAt(november, 0).Equal(november) {
		t.Errorf("revision %d is known before any poll", n)
	}
	c.err = errors.New("down")
	r.poll(t.Context())
	if n, asOf := r.Current(); n != 0 || !asOf.IsZero() {
		t.Errorf("revision %d is known after a poll that failed", n)
	}
	c.err = nil
	r.poll(t.Context())
	n, _ := r.Current()
	c.later(10 * time.Millisecond)
	asked := c.at
	is := func(what string, asked time.Time, revision int64, want time.Time) {
		t.Helper()
		if got := r.validatedAt(asked, revision); !got.Equal(want) {
			t.Errorf("%s: good %v after it was asked, not %v", what, got.Sub(asked), want.Sub(asked))
		}
	}
	is("a poll from before it", asked, n, asked)
	c.later(revisionInterval)
	r.poll(t.Context())
	polled := c.at
	is("a poll from after it", asked, n, polled)
	is("an answer without a revision", asked, 0, asked)
	is("another revision", asked, n+1, asked)
	c.later(revisionInterval)
	c.err = errors.New("down")
	r.poll(t.Context())
	is("a poll that failed", asked, n, polled)
	c.err, c.n = nil, 41
	r.poll(t.Context())
	is("a change", asked, n, asked)
	if next, asOf := r.Current(); next == n || !asOf.Equal(c.at) {
		t.Errorf("revision %d as of %v", next, asOf)
	}
}

func TestASlowPollValidatesUntilItWasSent(t *testing.T) {
	c := &counter{clock: clock{november}}
	r := c.revisions()
	c.during = func() { c.later(700 * time.Millisecond) }
	r.poll(t.Context())
	if _, asOf := r.Current(); !asOf.Equal(november) {
		t.Errorf("as of %v after it was sent", asOf.Sub(november))
	}
}

func TestARevisionEndsWithAnotherNumberOrAGap(t *testing.T) {
	for name, between := range map[string]func(c *counter, r *Revisions){
		"another": func(c *counter, r *Revisions) {
			c.n = 6
			r.poll(t.Context())
			c.n = 7
		},
		"back": func(c *counter, _ *Revisions) { c.n = 6 },
		"gap":  func(c *counter, r *Revisions) { c.later(keyTTL + time.Millisecond) },
	} {
		c := &counter{clock: clock{november}, n: 7}
		r := c.revisions()
		r.poll(t.Context())
		first, _ := r.Current()
		c.later(keyTTL)
		r.poll(t.Context())
		if n, _ := r.Current(); n != first {
			t.Errorf("%s: revision %d without it, not %d", name, n, first)
		}
		between(c, r)
		r.poll(t.Context())
		if n, _ := r.Current(); n == first {
			t.Errorf("%s: the same revision after it", name)
		}
	}
}

func TestAPollThatHangsTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &Revisions{now: time.Now, stored: func(ctx context.Context) (int64, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		}}
		began := time.Now()
		r.poll(t.Context())
		if took := time.Since(began); took <= 0 || took > keyTTL {
			t.Errorf("it took %v", took)
		}
	})
}
