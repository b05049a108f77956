package responses

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"modelgateway/api"
	"modelgateway/llm"
)

// Writer writes one stream as server-sent events in OpenAI's order: response.created,
// response.in_progress, the items of the answer one after the other, and one event with the
// whole response. Every event has its event line and the next sequence_number.
type Writer struct {
	items
	response response

	began  bool
	closed bool // nothing may follow
	raw    bool // the events are the upstream's own
	ending llm.Ending
	usage  llm.Usage
	used   bool // the usage has come
	early  llm.UsageCounter
	whole  []byte // the response of the last event, where it is to be kept

	now    func() time.Time
	silent time.Time // of the first ping since the last event; zero = there was none
}

// newWriter makes a writer for the stream that answers a request.
func newWriter(req *llm.Request, _ func() int64) api.StreamWriter {
	w := &Writer{response: newResponse(req), now: time.Now}
	w.items = newItems(req, w.response.stem)
	return w
}

// Open adds the events that begin a stream, before the answer has begun.
func (w *Writer) Open(dst []byte, head *llm.Head) []byte {
	w.out = dst
	w.writeBeginning(head)
	return w.written()
}

// writeBeginning writes the events before the first item.
func (w *Writer) writeBeginning(head *llm.Head) {
	w.began = true
	w.response.head(head, w.now)
	w.writeState("response.created")
	w.writeState("response.in_progress")
}

// writeState writes an event with the response as it is before any of its items.
func (w *Writer) writeState(name string) {
	w.open(name)
	w.out = w.response.append(w.out.Name("response"), &state{status: inProgress})
	w.shut()
}

// written takes what has been written.
func (w *Writer) written() []byte {
	dst := w.out
	w.out = nil
	return dst
}

// Append adds an event to dst; one that the client does not see adds nothing. An event of
// a provider that speaks the dialect is added as it came, with all its lines.
func (w *Writer) Append(dst []byte, e *llm.Event) ([]byte, error) {
	w.silent = time.Time{}
	if e.RawDialect == llm.Responses {
		w.forward(e)
		return append(dst, e.Raw...), nil
	}
	if e.RawDialect != "" {
		return dst, foreign(e.RawDialect)
	}
	w.out = dst
	if e.Head != nil {
		if !w.began {
			w.writeBeginning(e.Head)
		}
		w.early = e.Head.Counter
		w.response.answers(e.Head)
	}
	switch {
	case e.Kind == llm.EventUsage:
		w.usage, w.used = *e.Usage, true
	case e.Choice != 0: // a response is one answer
	case e.Kind == llm.EventFinish:
		w.ending = e.Ending
		w.end(statusOf(&e.Ending))
	default:
		w.event(e)
	}
	return w.written(), nil
}

// foreign is the error for the bytes of another dialect: written as they are, or without
// what they say, they would be a wrong answer.
func foreign(d llm.Dialect) error {
	return fmt.Errorf("the provider answers a request of the dialect %s with bytes of the dialect %s", llm.Responses, d)
}

// forward counts the upstream's own events, so that an error can follow them.
func (w *Writer) forward(e *llm.Event) {
	if len(e.Raw) > 0 {
		w.sequence++
	}
	if e.Head != nil && !w.raw {
		w.response.head(e.Head, w.now)
		if stem, ok := strings.CutPrefix(e.Head.ID, "resp_"); ok {
			w.response.stem = stem
		}
	}
	w.raw, w.began = true, true
}

// Done adds what ends a stream that is whole.
func (w *Writer) Done(dst []byte) []byte {
	w.closed = true
	if w.raw || !w.began {
		return dst
	}
	if w.unfinished() {
		return w.Fail(dst, errNoSummary)
	}
	s := state{status: statusOf(&w.ending), output: w.output, usage: w.counted()}
	s.reason, s.completed = reasonOf(&w.ending), w.now().Unix()
	w.out = dst
	if s.status == incomplete {
		w.open("response.incomplete")
	} else {
		w.open("response.completed")
	}
	w.out = w.out.Name("response")
	begin := len(w.out)
	w.out = w.response.append(w.out, &s)
	if w.response.common.Keep {
		w.whole = bytes.Clone(w.out[begin:])
	}
	w.shut()
	return w.written()
}

// Whole is the JSON of the whole answer that Done has added, where it is to be kept.
func (w *Writer) Whole() []byte { return w.whole }

// counted is the usage, or what the upstream has reported of it so far.
func (w *Writer) counted() *llm.Usage {
	switch {
	case w.used:
		return &w.usage
	case w.early != nil:
		return w.early.Counted()
	}
	return nil
}

// Fail adds the error that ends a stream, and the response that failed. What is open stays
// so: agents run a call as soon as it is done.
func (w *Writer) Fail(dst []byte, err *api.Error) []byte {
	w.closed = true
	if native, ok := w.failNatively(dst, err); ok {
		return native
	}
	w.out = dst
	if !w.began {
		w.writeBeginning(nil)
	}
	told := inStream(err)
	w.open("error")
	w.out = w.out.Text("code", told.Code).Text("message", told.Message).TextOrNull("param", told.Param)
	w.out = appendErrorMember(w.out.Comma(), told)
	w.shut()
	w.open("response.failed")
	w.out = w.response.append(w.out.Name("response"), &state{
		status: failed, err: err, output: w.output, usage: w.counted(),
	})
	w.shut()
	return w.written()
}

// repeatAfter is the silence after which response.in_progress is written again: Codex ends
// a stream after 300 seconds without an event, and comments are none (2026-11).
const repeatAfter = 100 * time.Second

// Ping adds a comment, which keeps the connection in use, and after a longer silence an
// event.
func (w *Writer) Ping(dst []byte) []byte {
	if w.closed {
		return dst
	}
	now := w.now()
	switch {
	case w.silent.IsZero():
		w.silent = now
	case w.began && !w.raw && now.Sub(w.silent) >= repeatAfter:
		w.silent = now
		w.out = dst
		w.writeState("response.in_progress")
		return w.written()
	}
	return append(dst, ": ping\n\n"...)
}
