package llm

import (
	"crypto/rand"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

// The most that an answer may have. No request can ask for more, and what looks for one of
// them may look at all.
const (
	MaxChoices = 128
	MaxCalls   = 1_024 // of a choice; also its thoughts
)

// Errors of answers without bounds.
var (
	ErrManyChoices = errors.New("the answer has too many choices")
	ErrManyCalls   = errors.New("the answer has too many tool calls")
	errManyBlocks  = errors.New("the answer has too many thoughts")
)

// Emitter yields the events of one stream and keeps what Stream promises: each
// choice begins before anything else of it, calls are numbered densely, nothing
// follows a finish. It reuses the one event it yields.
//
// Its methods return false when the consumer has left: then the caller returns.
type Emitter struct {
	yield   func(*Event, error) bool
	head    Head
	event   Event
	choices []emitted
	gone    bool
	shown   bool
	unsent  bool // events have come since the last pause

	// Malformed makes the error of an answer that has more than it may; nil: it is as it is.
	Malformed func(error) error

	logprobs jsontext.Value // of the next text
}

// emitted is how far a choice has come.
type emitted struct {
	index    int
	calls    int
	blocks   int
	last     EventKind
	apart    bool // the next event begins a block
	finished bool
}

// NewEmitter makes an emitter for a stream's yield.
func NewEmitter(yield func(*Event, error) bool, head Head) *Emitter {
	return &Emitter{yield: yield, head: head}
}

// Head is what the events share, for what an upstream tells later.
func (e *Emitter) Head() *Head { return &e.head }

// Shown says whether anything but the beginning of choices has been sent.
func (e *Emitter) Shown() bool { return e.shown }

// Begin begins a choice unless it has begun.
func (e *Emitter) Begin(choice int) bool {
	for i := range e.choices {
		if e.choices[i].index == choice {
			return !e.gone
		}
	}
	if len(e.choices) == MaxChoices {
		return e.exceed(ErrManyChoices)
	}
	e.choices = append(e.choices, emitted{index: choice, last: EventBegin})
	e.event = Event{Kind: EventBegin, Choice: choice}
	return e.send()
}

// Text sends a fragment of a choice's text.
func (e *Emitter) Text(choice int, text string) bool {
	if text == "" && len(e.logprobs) == 0 {
		return e.Begin(choice)
	}
	if !e.next(choice, EventText) {
		return !e.gone
	}
	e.event.Text = text
	e.addLogprobs()
	return e.send()
}

func (e *Emitter) addLogprobs() { e.event.Logprobs, e.logprobs = e.logprobs, nil }

// Logprobs goes along with the next text, refusal or thought.
func (e *Emitter) Logprobs(value jsontext.Value) { e.logprobs = value }

// Refusal sends a fragment of what is said in place of an answer.
func (e *Emitter) Refusal(choice int, text string) bool {
	if text == "" || !e.next(choice, EventRefusal) {
		return !e.gone
	}
	e.event.Text = text
	e.addLogprobs()
	return e.send()
}

// Thought sends a fragment of reasoning: text to be shown, and what the
// provider wants back, which is valid until Thought returns.
func (e *Emitter) Thought(choice int, text string, thought *Thought) bool {
	if thought != nil && thought.Index >= MaxCalls {
		return e.exceed(errManyBlocks)
	}
	if !e.next(choice, EventThought) {
		return !e.gone
	}
	e.event.Text, e.event.Thought = text, thought
	e.addLogprobs()
	return e.send()
}

// Media sends an image, a sound or a file that the model made.
func (e *Emitter) Media(choice int, m *Media) bool {
	if !e.next(choice, EventMedia) {
		return !e.gone
	}
	e.event.Media = m
	return e.send()
}

// Call begins a tool call and returns its index within the choice, for Input.
func (e *Emitter) Call(choice int, call *CallStart) (index int, ok bool) {
	if !e.next(choice, EventCall) {
		return 0, !e.gone
	}
	c := e.choice(choice)
	if c.calls == MaxCalls {
		return 0, e.exceed(ErrManyCalls)
	}
	index = c.calls
	c.calls++
	e.event.Call, e.event.CallIndex = call, index
	return index, e.send()
}

// Input sends a fragment of the arguments of a call.
func (e *Emitter) Input(choice, call int, fragment string) bool {
	if fragment == "" || !e.next(choice, EventInput) {
		return !e.gone
	}
	e.event.CallIndex, e.event.Text = call, fragment
	return e.send()
}

// Calls is how many tool calls a choice has made.
func (e *Emitter) Calls(choice int) int { return e.choice(choice).calls }

// Citations sends sources of a choice's text.
func (e *Emitter) Citations(choice int, all []Citation) bool {
	if len(all) == 0 || !e.next(choice, EventCitations) {
		return !e.gone
	}
	e.event.Citations = all
	return e.send()
}

// Finish ends a choice, once.
func (e *Emitter) Finish(choice int, ending Ending) bool {
	if !e.next(choice, EventFinish) {
		return !e.gone
	}
	e.choice(choice).finished = true
	e.event.Ending = ending
	return e.send()
}

// Usage sends the usage, where there is one.
func (e *Emitter) Usage(u *Usage) bool {
	if u == nil || e.gone {
		return !e.gone
	}
	e.event = Event{Kind: EventUsage, Usage: u}
	return e.send()
}

// Pause yields a pause, once, before the upstream is waited for.
func (e *Emitter) Pause() bool {
	if e.unsent && !e.gone {
		e.unsent = false
		e.gone = !e.yield(nil, nil)
	}
	return !e.gone
}

// Fail ends the stream with an error.
func (e *Emitter) Fail(err error) {
	if !e.gone {
		e.gone = true
		e.yield(nil, err)
	}
}

// exceed ends a stream that has more than it may.
func (e *Emitter) exceed(err error) bool {
	if e.Malformed != nil {
		err = e.Malformed(err)
	}
	e.Fail(err)
	return false
}

// next prepares an event of a choice, beginning the choice where that has not
// been done. It is false when the event must not be sent.
func (e *Emitter) next(choice int, kind EventKind) bool {
	if !e.Begin(choice) {
		return false
	}
	c := e.choice(choice)
	if c.finished {
		return false
	}
	if kind != EventInput && kind != EventCitations && kind != EventFinish {
		if c.last != EventBegin && (c.apart || kind != c.last || kind == EventCall || kind == EventMedia) {
			c.blocks++
		}
		c.last, c.apart = kind, false
	}
	e.event = Event{Kind: kind, Choice: choice, Block: c.blocks}
	return true
}

// Block begins a block of a choice with its next event, also where that is of
// the same kind as the one before.
func (e *Emitter) Block(choice int) { e.choice(choice).apart = true }

func (e *Emitter) send() bool {
	if e.gone {
		return false
	}
	e.unsent = true
	e.shown = e.shown || e.event.Kind != EventBegin
	e.event.Head = &e.head
	if !e.yield(&e.event, nil) {
		e.gone = true
	}
	return !e.gone
}

func (e *Emitter) choice(index int) *emitted {
	for i := range e.choices {
		if e.choices[i].index == index {
			return &e.choices[i]
		}
	}
	return &emitted{} // has not begun
}

// NewID makes an id of a prefix and 130 random bits, where an upstream gives
// none.
func NewID(prefix string) string { return prefix + rand.Text() }
