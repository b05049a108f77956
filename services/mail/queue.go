// Package mail sends mails through an SMTP server, off the requests that cause them.
package mail

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Message is a mail in plain text. Its text may hold secrets: it is never logged.
type Message struct {
	Kind    string // what it is, for the log
	UserID  string // whom it is for, for the log; empty: no user yet
	To      string // an address
	Subject string
	Text    string
}

// Job makes a message when it is its turn; nil: there is nothing to send.
type Job func(context.Context) (*Message, error)

const (
	mostWaiting = 500
	workers     = 4
	mostTries   = 3
	sendTimeout = 20 * time.Second // of one try
	drainTime   = 5 * time.Second  // for what waits when the gateway stops
)

// Queue sends messages one after the other, and tries again when the server fails. It
// is in memory: what waits when the process ends without a shutdown is lost.
type Queue struct {
	send  func(context.Context, *Message) error
	log   *slog.Logger
	pause time.Duration // before the second try; four times as long before the third
	jobs  chan Job
}

// Add adds a job, which is done while Run runs. It returns false when too many wait.
func (q *Queue) Add(job Job) bool {
	select {
	case q.jobs <- job:
		return true
	default:
		q.log.Warn("a mail is not sent: too many wait already", "waiting", mostWaiting)
		return false
	}
}

// Send sends a message at once, and does not try again.
func (q *Queue) Send(ctx context.Context, m *Message) error { return q.once(ctx, m) }

// Run does the jobs until ctx ends, and what waits then within some seconds.
func (q *Queue) Run(ctx context.Context) {
	last, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(drainTime, cancel) })
	defer stop()
	var all sync.WaitGroup
	for range workers {
		all.Go(func() { q.work(ctx, last) })
	}
	all.Wait()
	if n := len(q.jobs); n > 0 {
		q.log.Error("mails were not sent before the gateway stopped", "mails", n)
	}
}

// work does jobs until ctx has ended and none waits, or until last ends.
func (q *Queue) work(ctx, last context.Context) {
	for last.Err() == nil {
		select {
		case job := <-q.jobs:
			q.do(last, job)
			continue
		default:
		}
		select {
		case job := <-q.jobs:
			q.do(last, job)
		case <-ctx.Done():
			return
		}
	}
}

func (q *Queue) do(ctx context.Context, job Job) {
	m, err := job(ctx)
	if err != nil {
		q.log.Error("a mail could not be prepared: it is not sent", "error", err)
		return
	}
	if m == nil {
		return
	}
	attrs := []any{"kind", m.Kind, "user", m.UserID}
	for try, wait := 1, q.pause; ; try, wait = try+1, 4*wait {
		if err = q.once(ctx, m); err == nil {
			q.log.Info("mail sent", attrs...)
			return
		}
		if final(err) || try == mostTries || ctx.Err() != nil {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
	q.log.Error("a mail could not be sent", append(attrs, "error", err)...)
}

func (q *Queue) once(ctx context.Context, m *Message) error {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	if err := q.send(ctx, m); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	return nil
}
