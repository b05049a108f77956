package prompts

import "modelgateway/models"

// Record is the content of one call while it runs. Only one goroutine at a time may use it.
type Record struct {
	log    *Log
	answer []byte
	cut    bool // the answer is longer than answer
	held   int64
}

// Begin begins a record. End ends it.
func (l *Log) Begin() *Record { return &Record{log: l} }

// Sent records bytes that the client was sent.
func (r *Record) Sent(text []byte) {
	part := text[:min(len(text), MaxText-len(r.answer))]
	if !r.hold(len(part)) {
		part = nil
	}
	r.answer = append(r.answer, part...)
	r.cut = r.cut || len(part) < len(text)
}

// hold takes bytes of those that all records may hold together.
func (r *Record) hold(n int) bool {
	if r.log.held.Add(int64(n)) > maxHeld {
		r.log.held.Add(-int64(n))
		return false
	}
	r.held += int64(n)
	return true
}

// End hands the content of a call over to be written, if it is to be kept. It never waits:
// where too much is held already, or waits to be written, it is counted as lost. call is nil
// for a request that is not in the ledger; the body is copied.
func (r *Record) End(call *models.Call, body []byte) {
	l := r.log
	if call == nil || l.opts.FailedOnly && !call.Failed() {
		l.held.Add(-r.held)
		return
	}
	part := body[:min(len(body), MaxText)]
	if call.ID == "" || !r.hold(len(part)) {
		l.held.Add(-r.held)
		l.lost.Add(1)
		return
	}
	e := entry{id: call.ID, bytes: r.held, plain: Content{
		Request: append([]byte(nil), part...), RequestTruncated: len(part) < len(body), Answer: r.answer, AnswerTruncated: r.cut,
	}}
	select {
	case l.queue <- e:
	default:
		l.held.Add(-r.held)
		l.lost.Add(1)
	}
}
