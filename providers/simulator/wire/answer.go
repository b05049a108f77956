package wire

import (
	"bytes"
	"fmt"
	"net/http"

	"modelgateway/api"
	"modelgateway/llm"
	"modelgateway/providers/simulator/reply"
)

// Answer is an answer that a dialect of the gateway writes.
type Answer struct {
	Dialect *api.Dialect
	Request *llm.Request // what its writer needs of the request
	Stream  llm.Stream

	Fault reply.Fault
	// Error is the event of reply.FaultMidstream.
	Error []byte
}

// Write sends the answer, whole or in events.
func (a Answer) Write(w http.ResponseWriter, r *http.Request, o Options) {
	if !a.Request.Stream {
		whole, err := llm.Collect(a.Stream)
		body, err := a.Dialect.AppendAnswer(nil, a.Request, must(whole, err))
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(must(body, err)) // it fails only when the client has disconnected
		return
	}
	writer := a.Dialect.NewWriter(a.Request, nil)
	var text []byte
	for event, err := range a.Stream {
		text, err = writer.Append(text, must(event, err))
		text = must(text, err)
	}
	events := bytes.SplitAfter(writer.Done(text), []byte("\n\n"))
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	Stream{Events: events[:len(events)-1]}.Inject(a.Fault, a.Error).Send(w, r, o.ChunkDelay)
}

// must is a value that is always made: answers of the simulator can be written.
func must[T any](value T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("simulator: write an answer: %v", err))
	}
	return value
}
