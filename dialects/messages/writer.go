package messages

import (
	"fmt"
	"slices"

	"modelgateway/api"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
)

// Writer writes one stream as server-sent events in Anthropic's order: message_start,
// content blocks with dense indices of which one is open at a time, one message_delta with
// the reason and all of the usage, message_stop. Each event has its event line: Anthropic's
// SDKs read none without it.
type Writer struct {
	blocks
	events events
	count  func() int64 // of the prompt's tokens; nil = nothing counts them

	began, told bool
	closed      bool // nothing may follow
	raw         bool // the events are the upstream's own
	counter     llm.UsageCounter
	tier        string
	prompt      int64 // its tokens, as message_start has them
	ending      llm.Ending
}

// newWriter makes a writer for the stream that answers a request.
func newWriter(req *llm.Request, countPrompt func() int64) api.StreamWriter {
	w := &Writer{count: countPrompt}
	w.blocks = newBlocks(&w.events, req)
	return w
}

// Append adds an event to dst; one that the client does not see adds nothing. An event of
// a provider that speaks the dialect is added as it came, with all its lines.
func (w *Writer) Append(dst []byte, e *llm.Event) ([]byte, error) {
	if e.RawDialect == llm.Messages {
		w.raw = true
		return append(dst, e.Raw...), nil
	}
	if e.RawDialect != "" {
		return dst, foreign(e.RawDialect)
	}
	w.out = dst
	if e.Head != nil {
		w.counter, w.tier = e.Head.Counter, e.Head.ServiceTier
		if !w.began {
			w.began = true
			w.start(e.Head)
		}
	}
	switch {
	case e.Kind == llm.EventUsage:
		w.writeEnding(e.Usage)
	case e.Choice != 0: // a message is one answer
	case e.Kind == llm.EventFinish:
		w.end()
		w.ending = e.Ending
		w.ending.StopDetails = slices.Clone(e.StopDetails)
	default:
		w.event(e)
	}
	dst, w.out = w.out, nil
	return dst, nil
}

// foreign is the error for the bytes of another dialect: written as they are, or
// without what they say, they would be a wrong answer.
func foreign(d llm.Dialect) error {
	return fmt.Errorf("the provider answers a request of the dialect %s with bytes of the dialect %s", llm.Messages, d)
}

// Open adds message_start before the answer has begun.
func (w *Writer) Open(dst []byte, head *llm.Head) []byte {
	w.out, w.began = dst, true
	w.start(head)
	dst, w.out = w.out, nil
	return dst
}

// Whole is nil: the gateway keeps no answer of the dialect.
func (w *Writer) Whole() []byte { return nil }

// start writes message_start. Agents take the size of the prompt from there only.
func (w *Writer) start(head *llm.Head) {
	usage := counted(head.Counter)
	if !usage.Counts() && w.count != nil {
		usage = &llm.Usage{Input: w.count()}
	}
	early := llm.Usage{Output: 1} // as Anthropic has it before there is any
	if usage != nil {
		w.prompt = usage.Input
		early.Input, early.Cached = usage.Input, usage.Cached
		early.CacheWrite, early.CacheWriteHour = usage.CacheWrite, usage.CacheWriteHour
	}
	message := openMessage(openEvent(w.out, "message_start").ObjectAt("message"), head).EndList().
		Null("stop_reason").Null("stop_sequence").Null("stop_details").Null("container")
	w.out = append(withUsage(message, &early, head.ServiceTier), "}}\n\n"...)
}

func counted(c llm.UsageCounter) *llm.Usage {
	if c == nil {
		return nil
	}
	return c.Counted()
}

// openEvent begins an event.
func openEvent(dst []byte, name string) jsonbytes.Writer {
	return append(append(append(jsonbytes.Writer(dst), "event: "...), name...), "\ndata: "...).Object().Text("type", name)
}

// openMessage adds the members of a message up to its content, whose list it begins.
func openMessage(w jsonbytes.Writer, head *llm.Head) jsonbytes.Writer {
	return w.Text("id", messageID(head.ID)).Text("type", "message").Text("role", "assistant").Text("model", head.Model).ListAt("content")
}

// writeEnding writes message_delta, once: with the usage, which comes last.
func (w *Writer) writeEnding(usage *llm.Usage) {
	if w.told {
		return
	}
	w.told = true
	delta := w.blocks.ending(openEvent(w.out, "message_delta").ObjectAt("delta"), &w.ending).EndObject()
	w.out = append(withUsage(delta, usage, w.tier), "}\n\n"...)
}

// Done adds what ends a stream that is whole.
func (w *Writer) Done(dst []byte) []byte {
	w.closed = true
	if w.raw || !w.began {
		return dst
	}
	w.out = dst
	if !w.told {
		usage := counted(w.counter)
		if !usage.Counts() {
			usage = &llm.Usage{Input: w.prompt}
		}
		w.writeEnding(usage)
	}
	dst, w.out = w.out, nil
	return append(dst, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"...)
}

// Fail adds the error that ends a stream.
func (w *Writer) Fail(dst []byte, err *api.Error) []byte {
	w.closed = true
	return append(appendLine(append(dst, "event: error\ndata: "...), err), "\n\n"...)
}

// Ping adds an event that clients pass over, which keeps the connection in use.
func (w *Writer) Ping(dst []byte) []byte {
	if w.closed {
		return dst
	}
	return append(dst, ping...)
}
