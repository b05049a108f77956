package providertest

import (
	"strings"
	"testing"

	"modelgateway/llm"
)

// Passed is what a client gets of a native stream.
type Passed struct {
	Bytes  string
	Events []llm.Event // copies without Raw
	Pauses int
	Err    error // nil for a whole answer
}

// Pass reads a native stream of an API, which may have failed to open.
func Pass(t testing.TB, dialect llm.Dialect, stream llm.Stream, err error) (got Passed) {
	t.Helper()
	if err != nil {
		got.Err = err
		return got
	}
	var text strings.Builder
	for e, err := range stream {
		switch {
		case err != nil:
			got.Err = err
		case e == nil:
			got.Pauses++
		default:
			if !EndsFrame(e.Raw) && (len(e.Raw) > 0 || dialect == llm.Messages) || e.RawDialect != dialect {
				t.Errorf("an event ends with %q", e.Raw[max(0, len(e.Raw)-9):])
			}
			text.Write(e.Raw)
			one := *e
			one.Raw = nil
			got.Events = append(got.Events, one)
		}
	}
	got.Bytes = text.String()
	return got
}

// Usage is the last that the stream tells.
func (p *Passed) Usage() (u *llm.Usage) {
	for i := range p.Events {
		if p.Events[i].Usage != nil {
			u = p.Events[i].Usage
		}
	}
	return u
}
