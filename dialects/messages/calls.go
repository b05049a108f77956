package messages

import (
	"crypto/rand"
	"strings"

	"modelgateway/dialects/ordering"
	"modelgateway/llm"
	"modelgateway/llm/roundtrip"
)

// beginCall begins a call. What its provider wants back with it is the signature of the
// thought right before it or, where the client sees no thoughts, inside its id.
func (b *blocks) beginCall(e *llm.Event) {
	if b.single && e.CallIndex > 0 {
		return // the model repeats the others in its next turn
	}
	c := e.Call
	id := c.ID
	if id == "" {
		id = newID("toolu_")
	}
	id = b.ids.Unique(id)
	if c.Thought != nil {
		own := *c.Thought
		own.CallID = id // as it comes back
		if b.hidden {
			id = roundtrip.Pack(id, &own)
		} else {
			b.seal(&own)
		}
	} else if len(b.signed) > 0 {
		id, b.signed = roundtrip.Pack(id, b.signed...), nil
	}
	b.close()
	b.open(block{kind: callBlock, id: id, name: c.Name})
	b.calls++
	b.call, b.input, b.started = e.CallIndex, ordering.Object{}, false
	b.write(c.Arguments)
}

// writeArguments writes a piece of the arguments of the open call. A call that has ended takes none:
// its arguments were complete.
func (b *blocks) writeArguments(e *llm.Event) {
	if b.kind == callBlock && e.CallIndex == b.call {
		b.write(e.Text)
	}
}

// write writes a piece of the arguments up to the end of their object. What is no object
// is left out, such as the null that some servers send for none.
func (b *blocks) write(fragment string) {
	if !b.started {
		fragment = strings.TrimLeft(fragment, " \t\r\n")
		if fragment != "" && fragment[0] != '{' {
			b.input.Done = true
		}
	}
	if fragment = fragment[:b.input.Add(fragment)]; fragment != "" {
		b.started = true
		b.delta(inputDelta, fragment)
	}
}

// newID is an id in Anthropic's form: the prefix, and 24 letters and digits.
func newID(prefix string) string {
	const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	var random [24]byte
	_, _ = rand.Read(random[:]) // never fails
	id := append(make([]byte, 0, len(prefix)+len(random)), prefix...)
	for _, r := range random {
		id = append(id, letters[int(r)%len(letters)])
	}
	return string(id)
}
