package chat

import (
	"fmt"
	"slices"
	"strings"

	"modelgateway/api"
	"modelgateway/llm"
)

// Writer writes one stream as server-sent events, in the order that the API
// has: a role chunk first for each choice, dense tool call indices, one id,
// created and model, a finish chunk with an empty delta, then the usage, where
// the client asked for it.
type Writer struct {
	usage   bool // the client asked for it
	legacy  bool // the client uses the deprecated functions
	encoder ChunkEncoder
	out     *Emitter // nil until the first event
	buf     []byte
	err     error // of the encoding

	choices []writtenChoice
	text    string             // the current chunk points to it and to detail: else
	detail  [1]ReasoningDetail // each text and each thought would cost an allocation
}

// writtenChoice is what of a choice matters for later chunks.
type writtenChoice struct {
	index    int
	thoughts []*strings.Builder // the texts of the thoughts so far, by their index; nil where there is none
	signed   []ReasoningDetail  // what the provider wants back with the next tool call
	calls    int
	customs  []int // the calls of custom tools

	citations int    // so far
	images    int    // so far
	files     int    // so far
	sound     string // the format of the sound that has begun
}

// NewWriter makes a writer for the stream that answers a request.
func NewWriter(req *llm.Request) *Writer { return &Writer{usage: req.Usage, legacy: req.SingleCall} }

// Append adds an event to dst; one that the client does not see adds nothing.
func (w *Writer) Append(dst []byte, e *llm.Event) ([]byte, error) {
	if e.RawDialect == llm.Chat {
		if len(e.Raw) == 0 {
			return dst, nil
		}
		dst = append(append(dst, "data: "...), e.Raw...)
		return append(dst, "\n\n"...), nil
	}
	if e.RawDialect != "" {
		return dst, foreign(e.RawDialect)
	}
	if w.out == nil {
		w.out = NewEmitter(w.chunk, Head{ID: e.Head.ID, Model: e.Head.Model, Created: e.Head.Created})
	}
	w.buf, w.err = dst, nil
	if e.Head != nil {
		w.out.Chunk().ServiceTier, w.out.Chunk().SystemFingerprint = e.Head.ServiceTier, e.Head.Fingerprint
	}
	w.event(e)
	dst, w.buf = w.buf, nil
	return dst, w.err
}

// Open adds nothing: the first chunk is of the answer.
func (w *Writer) Open(dst []byte, _ *llm.Head) []byte { return dst }

// Whole is nil: the gateway keeps no answer of the dialect.
func (w *Writer) Whole() []byte { return nil }

// Done adds what ends a stream that is whole.
func (w *Writer) Done(dst []byte) []byte { return append(dst, "data: [DONE]\n\n"...) }

// Fail adds the error that ends a stream.
func (w *Writer) Fail(dst []byte, err *api.Error) []byte {
	return append(AppendError(append(dst, "data: "...), err), "\n\n"...)
}

// Ping adds a comment that keeps the connection in use.
func (w *Writer) Ping(dst []byte) []byte { return append(dst, ": ping\n\n"...) }

// chunk adds one chunk to the buffer. Where the client asked for usage, the
// chunks without it say so.
func (w *Writer) chunk(c *Chunk, _ error) bool {
	if c.Usage != nil && len(c.Choices) == 0 && !w.usage {
		return true
	}
	text, err := w.encoder.Append(append(w.buf, "data: "...), c)
	if err != nil {
		w.err = fmt.Errorf("encode chunk: %w", err)
		return false
	}
	if w.usage && c.Usage == nil {
		text = append(text[:len(text)-1], `,"usage":null}`...)
	}
	w.buf = append(text, "\n\n"...)
	return true
}

func (w *Writer) event(e *llm.Event) {
	if len(e.Logprobs) > 0 {
		w.out.Begin(e.Choice) // the probabilities are not of the role
		w.out.With(e.Logprobs, nil)
		defer w.out.With(nil, nil)
	}
	switch e.Kind {
	case llm.EventBegin:
		w.out.Begin(e.Choice)
	case llm.EventText:
		w.text = e.Text
		w.out.Delta(e.Choice, Delta{Content: &w.text})
	case llm.EventRefusal:
		w.text = e.Text
		w.out.Delta(e.Choice, Delta{Refusal: &w.text})
	case llm.EventThought:
		w.thought(e)
	case llm.EventMedia:
		w.media(e)
	case llm.EventCitations:
		c := w.choice(e.Choice)
		w.extra(e.Choice, "annotations", annotations(e.Citations, &c.citations))
		c.citations += len(e.Citations)
	case llm.EventCall:
		w.call(e)
	case llm.EventInput:
		w.input(e)
	case llm.EventFinish:
		w.out.Begin(e.Choice) // the ending is not of the role
		w.out.With(nil, endingMembers(&e.Ending))
		w.out.Finish(e.Choice, finishReason(e.Finish, w.legacy))
		w.out.With(nil, nil)
	case llm.EventUsage:
		w.out.Usage(usage(e.Usage))
	}
}

// thought sends reasoning for clients that show it, and for those that bring it
// back. The format and the id are sent with the first fragment of a block only: clients
// that do not know these fragments join all strings in them (openai-python
// joins all but type and index).
func (w *Writer) thought(e *llm.Event) {
	d := Delta{ReasoningContent: e.Text}
	if e.Thought != nil {
		w.detail[0] = detail(e.Thought)
		if known := w.choice(e.Choice).remember(e.Thought); known {
			w.detail[0].Format, w.detail[0].ID = "", ""
		}
		d.ReasoningDetails = w.detail[:]
	}
	w.out.Delta(e.Choice, d)
}

// remember keeps a thought until a tool call can carry it, and says whether it
// goes on with one.
func (w *writtenChoice) remember(t *llm.Thought) (known bool) {
	for len(w.thoughts) <= t.Index {
		w.thoughts = append(w.thoughts, nil)
	}
	known = w.thoughts[t.Index] != nil
	if !known {
		w.thoughts[t.Index] = new(strings.Builder)
	}
	text := w.thoughts[t.Index]
	text.WriteString(t.Text)
	if t.WithCalls {
		whole := detail(t)
		whole.Text = text.String()
		w.signed = append(w.signed, whole)
	}
	return known
}

func (w *Writer) call(e *llm.Event) {
	c, choice := e.Call, w.choice(e.Choice)
	choice.calls++
	if w.legacy && choice.calls > 1 {
		return // the deprecated form holds one call; the model repeats the others in its next turn
	}
	if c.Thought != nil {
		d := detail(c.Thought)
		d.ID = c.ID
		if w.legacy {
			d.ID = legacyID(c.Name) // the call has no other id when it comes back
		}
		w.detail[0] = d
		w.out.Delta(e.Choice, Delta{ReasoningDetails: w.detail[:]})
	}
	if w.legacy {
		w.out.Delta(e.Choice, Delta{FunctionCall: &FunctionDelta{Name: c.Name, Arguments: c.Arguments}})
		return
	}
	if c.Kind == llm.ToolCustom {
		choice.customs = append(choice.customs, e.CallIndex)
	}
	call := llm.Call{ID: c.ID, Name: c.Name, Kind: c.Kind, Input: c.Arguments, Signature: c.Signature}
	w.out.Call(e.Choice, toolCall(&call, choice.packed(c.Thought)))
}

// packed is what travels inside the id of the next tool call.
func (w *writtenChoice) packed(own *llm.Thought) []ReasoningDetail {
	if own != nil {
		return ownDetail(own)
	}
	all := w.signed
	w.signed = nil
	return all
}

func (w *Writer) choice(index int) *writtenChoice {
	for i := range w.choices {
		if w.choices[i].index == index {
			return &w.choices[i]
		}
	}
	w.choices = append(w.choices, writtenChoice{index: index})
	return &w.choices[len(w.choices)-1]
}

func (w *Writer) input(e *llm.Event) {
	switch {
	case slices.Contains(w.choice(e.Choice).customs, e.CallIndex):
		w.out.Fragment(e.Choice, ToolCallDelta{Index: e.CallIndex, Custom: custom("", e.Text)})
	case !w.legacy:
		w.out.Arguments(e.Choice, e.CallIndex, e.Text)
	case e.CallIndex == 0:
		w.out.Delta(e.Choice, Delta{FunctionCall: &FunctionDelta{Arguments: e.Text}})
	}
}
