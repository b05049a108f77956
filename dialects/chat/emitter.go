package chat

import (
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/llm"
)

// Head is what all chunks of a completion share.
type Head struct {
	ID      string // of the upstream; one is made when it is empty
	Model   string
	Created int64 // Unix seconds
}

// Emitter yields the chunks of one completion. It sends the role before
// anything else of a choice, numbers tool calls densely, keeps every fragment
// out of the finish chunk and reuses the one chunk it yields.
//
// Its methods return false when the consumer has left: then the caller returns.
type Emitter struct {
	yield   func(*Chunk, error) bool
	chunk   Chunk
	one     [1]ChunkChoice // storage of the chunk's choices: a chunk costs one allocation (TestATextChunkAllocatesOnce)
	choices []emitted
	gone    bool

	logprobs, extra jsontext.Value // of the fragments to come
}

// emitted is the state of a choice.
type emitted struct {
	index    int
	begun    bool
	calls    int
	finished bool
}

// NewEmitter makes an emitter for a stream's yield.
func NewEmitter(yield func(*Chunk, error) bool, head Head) *Emitter {
	if head.ID == "" {
		head.ID = llm.NewID("chatcmpl-")
	}
	return &Emitter{yield: yield, chunk: Chunk{
		ID: head.ID, Object: ObjectChunk, Created: head.Created, Model: head.Model,
	}}
}

// Chunk is the chunk that is reused for each event, for members that an upstream
// adds to all of them.
func (e *Emitter) Chunk() *Chunk { return &e.chunk }

// Begin sends the role chunk of a choice unless it has been sent.
func (e *Emitter) Begin(index int) bool {
	c := e.choice(index)
	if c.begun {
		return !e.gone
	}
	c.begun = true
	empty := ""
	return e.send(index, &Delta{Role: "assistant", Content: &empty}, nil)
}

// BeginNull is Begin for a choice whose content is null so far.
func (e *Emitter) BeginNull(index int) bool {
	c := e.choice(index)
	if c.begun {
		return !e.gone
	}
	c.begun = true
	return e.send(index, &Delta{Role: "assistant", Extra: jsontext.Value(`{"content":null}`)}, nil)
}

// Bare sends a chunk that adds nothing but what With has set.
func (e *Emitter) Bare(index int) bool {
	if !e.Begin(index) {
		return false
	}
	return e.choice(index).finished || e.send(index, &Delta{}, nil)
}

// Delta sends a fragment of a choice, after its role. A delta that adds
// nothing is not sent; nor is anything after the choice has finished.
func (e *Emitter) Delta(index int, d Delta) bool {
	d.Role = ""
	if d.Content != nil && *d.Content == "" {
		d.Content = nil
	}
	if d.Refusal != nil && *d.Refusal == "" {
		d.Refusal = nil
	}
	if !e.Begin(index) {
		return false
	}
	if isEmpty(&d) && len(e.logprobs) == 0 || e.choice(index).finished {
		return true
	}
	return e.send(index, &d, nil)
}

// With sets what the next fragments of a choice carry: the log probabilities of
// their tokens, and members that only this upstream has.
func (e *Emitter) With(logprobs, extra jsontext.Value) { e.logprobs, e.extra = logprobs, extra }

// Text sends a fragment of a choice's content.
func (e *Emitter) Text(index int, text string) bool {
	return e.Delta(index, Delta{Content: &text})
}

// Call sends the start of a tool call, or a whole one, and returns its index
// within the choice, for Arguments.
func (e *Emitter) Call(index int, call ToolCall) (int, bool) {
	if !e.Begin(index) {
		return 0, false
	}
	c := e.choice(index)
	at := c.calls
	c.calls++
	d := ToolCallDelta{
		Index: at, ID: call.ID, Type: call.Type, Custom: call.Custom, ExtraContent: call.ExtraContent, Extra: call.Extra,
	}
	if d.Type == "" {
		d.Type = "function"
	}
	if call.Function != nil {
		f := FunctionDelta(*call.Function)
		d.Function = &f
	}
	return at, e.Delta(index, Delta{ToolCalls: []ToolCallDelta{d}})
}

// Arguments sends a fragment of the arguments of the call numbered call.
func (e *Emitter) Arguments(index, call int, fragment string) bool {
	if fragment == "" {
		return !e.gone
	}
	return e.Delta(index, Delta{ToolCalls: []ToolCallDelta{
		{Index: call, Function: &FunctionDelta{Arguments: fragment}},
	}})
}

// Fragment sends any fragment of a tool call that has begun; one that adds
// nothing is not sent.
func (e *Emitter) Fragment(index int, d ToolCallDelta) bool {
	if f := d.Function; len(d.Custom) == 0 && len(d.Extra) == 0 && (f == nil || f.Name == "" && f.Arguments == "" && len(f.Extra) == 0) {
		return !e.gone
	}
	return e.Delta(index, Delta{ToolCalls: []ToolCallDelta{d}})
}

// Calls is the number of tool calls a choice has made.
func (e *Emitter) Calls(index int) int { return e.choice(index).calls }

// Finish sends the last chunk of a choice, once.
func (e *Emitter) Finish(index int, reason string) bool {
	if !e.Begin(index) {
		return false
	}
	c := e.choice(index)
	if c.finished {
		return true
	}
	c.finished = true
	return e.send(index, &Delta{}, &reason)
}

// Finished says whether a choice has had its last chunk.
func (e *Emitter) Finished(index int) bool { return e.choice(index).finished }

// Started says whether anything has been sent.
func (e *Emitter) Started() bool { return len(e.choices) > 0 }

// Choices is how many choices there are.
func (e *Emitter) Choices() int { return len(e.choices) }

// Begun says whether the role chunk of a choice has been sent.
func (e *Emitter) Begun(index int) bool {
	for i := range e.choices {
		if e.choices[i].index == index {
			return e.choices[i].begun
		}
	}
	return false
}

// Open yields the index of every choice that has begun and not finished.
func (e *Emitter) Open() []int {
	var open []int
	for _, c := range e.choices {
		if c.begun && !c.finished {
			open = append(open, c.index)
		}
	}
	return open
}

// Usage sends the chunk without choices that ends a stream.
func (e *Emitter) Usage(u *Usage) bool {
	if u == nil || e.gone {
		return !e.gone
	}
	e.chunk.Choices, e.chunk.Usage = []ChunkChoice{}, u
	return e.out()
}

// Fail ends the stream with an error.
func (e *Emitter) Fail(err error) {
	if !e.gone {
		e.gone = true
		e.yield(nil, err)
	}
}

func (e *Emitter) send(index int, d *Delta, reason *string) bool {
	if e.gone {
		return false
	}
	c := &e.one[0]
	c.Index, c.Delta, c.Logprobs, c.FinishReason, c.Extra = index, *d, e.logprobs, reason, e.extra
	e.chunk.Choices, e.chunk.Usage = e.one[:], nil
	return e.out()
}

func (e *Emitter) out() bool {
	if !e.yield(&e.chunk, nil) {
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
	e.choices = append(e.choices, emitted{index: index})
	return &e.choices[len(e.choices)-1]
}

func isEmpty(d *Delta) bool {
	return d.Content == nil && d.Refusal == nil && d.ReasoningContent == "" && len(d.ReasoningDetails) == 0 &&
		len(d.ToolCalls) == 0 && d.FunctionCall == nil && len(d.Images) == 0 && len(d.Extra) == 0
}
