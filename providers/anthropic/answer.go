package anthropic

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/llm"
)

// kind is what a content block of an answer is translated to.
type kind int

const (
	kindOther kind = iota // nothing: server tools, their results, compaction, unknown types
	kindText
	kindThinking
	kindRedacted
	kindTool
)

func kindOf(blockType string) kind {
	switch blockType {
	case "text":
		return kindText
	case "thinking":
		return kindThinking
	case "redacted_thinking":
		return kindRedacted
	case "tool_use":
		return kindTool
	}
	return kindOther
}

func knownDelta(deltaType string) bool {
	switch deltaType {
	case "text_delta", "thinking_delta", "signature_delta", "input_json_delta":
		return true
	}
	return false
}

// answer is the state machine between the events of a message and those of the
// common form. A whole answer is replayed through it, so that both ways give
// the same. Its methods return false when the consumer has left.
type answer struct {
	exchange *exchange
	out      *llm.Emitter
	id       string // of the message

	open     []openBlock
	thoughts int            // blocks of thinking so far
	calls    int            // calls of the client's tools so far
	answered bool           // the tool whose input is the content has been called
	held     []byte         // text that is sent only if that tool is not called
	cited    []llm.Citation // of held
	chars    int            // of all text so far, also of held

	usage   usage
	ending  ending // what of it is known
	early   bool   // blocks have followed its reason, such as one of message_start
	stopped bool   // message_stop has come

	thought llm.Thought // of the event being sent
}

// openBlock is a content block between its start and its stop.
type openBlock struct {
	index int // upstream's, which counts blocks of every kind
	kind  kind

	call    int            // kindTool: index among the client's tool calls
	content bool           // kindTool: the input is the answer's content
	hidden  bool           // kindTool: the client does not see it
	input   jsontext.Value // kindTool: of the start
	filled  bool           // kindTool: a fragment of the input has come

	thought   int    // kindThinking: its index among them
	signature string // kindThinking

	from      int            // kindText: the characters before it
	citations []llm.Citation // kindText
}

func newAnswer(x *exchange) *answer { return &answer{exchange: x} }

// apply handles one event after the first.
func (a *answer) apply(e *event) bool {
	switch e.Type {
	case typeMessageStart:
		return a.startAgain(&e.Message)
	case typeBlockStart:
		a.early = a.early || a.ending.StopReason != ""
		return a.startBlock(e.Index, &e.Block)
	case typeBlockDelta:
		return a.delta(e.Index, &e.Delta)
	case typeBlockStop:
		return a.stopBlock(e.Index)
	case typeMessageDelta:
		a.setEnding(&e.Delta.ending)
	case typeMessageStop:
		a.stopped = true
		a.finish()
	}
	return true
}

// startBlock begins a block of the answer. It is false when the client has left.
func (a *answer) startBlock(index int, b *answerBlock) bool {
	if !a.stopBlock(index) { // one that never stopped, of an answer begun anew
		return false
	}
	if len(a.open) == llm.MaxCalls { // each event of a block looks for it
		a.out.Fail(a.exchange.provider.client.Malformed(errManyBlocks))
		return false
	}
	o := openBlock{index: index, kind: kindOf(b.Type)}
	alive := true
	switch o.kind {
	case kindText:
		a.out.Block(0)
		o.from, o.citations = a.chars, citations(b.Citations)
		alive = a.sendText(b.Text)
	case kindThinking:
		o.thought, o.signature = a.thoughts, b.Signature
		a.thoughts++
		a.out.Block(0)
		alive = a.sendThinking(&o, b.Thinking)
	case kindRedacted:
		a.out.Block(0)
		alive = a.sendRedacted(b.Data)
	case kindTool:
		alive = a.startTool(&o, b)
	}
	a.open = append(a.open, o)
	return alive
}

func (a *answer) delta(index int, d *delta) bool {
	o := a.block(index)
	if o == nil {
		return true
	}
	switch {
	case d.Type == "text_delta" && o.kind == kindText:
		return a.sendText(d.Text)
	case d.Type == "citations_delta" && o.kind == kindText:
		if c, ok := citation(d.Citation); ok {
			o.citations = append(o.citations, c)
		}
	case d.Type == "thinking_delta" && o.kind == kindThinking:
		return a.sendThinking(o, d.Thinking)
	case d.Type == "signature_delta" && o.kind == kindThinking:
		o.signature = d.Signature
	case d.Type == "input_json_delta" && o.kind == kindTool && d.PartialJSON != "":
		o.filled = true
		return a.sendInput(o, d.PartialJSON)
	}
	return true
}

func (a *answer) block(index int) *openBlock {
	for i := range a.open {
		if a.open[i].index == index {
			return &a.open[i]
		}
	}
	return nil
}

// stopBlock closes the block of this index, if it is open.
func (a *answer) stopBlock(index int) bool {
	at := slices.IndexFunc(a.open, func(o openBlock) bool { return o.index == index })
	if at < 0 {
		return true
	}
	o := a.open[at]
	a.open = slices.Delete(a.open, at, at+1)
	return a.closeBlock(&o)
}

func (a *answer) closeBlock(o *openBlock) bool {
	switch {
	case o.kind == kindTool && !o.filled:
		return a.sendInput(o, o.wholeInput())
	case o.kind == kindThinking:
		return a.sendSignature(o)
	case len(o.citations) > 0:
		return a.sendCitations(o)
	}
	return true
}

// wholeInput is the input of a call that came without fragments: the start's,
// where some proxies put it, else that of a tool without arguments.
func (o *openBlock) wholeInput() string {
	if o.input.Kind() != jsontext.KindBeginObject {
		return "{}"
	}
	input := o.input.Clone()
	if input.Compact(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) != nil {
		input = o.input
	}
	if !utf8.Valid(input) { // JSON text cannot hold it; each byte is replaced, as where JSON is read
		return string([]rune(string(input)))
	}
	return string(input)
}

// readMessage reads an answer that is not a stream, or an error that came
// under status 200.
func readMessage(text []byte) (*wholeMessage, error) {
	var r fastReader
	if m, ok := r.message(text); ok {
		return m, nil
	}
	return decodeMessage(text)
}

// decodeMessage reads an answer in full.
func decodeMessage(text []byte) (*wholeMessage, error) {
	m := new(wholeMessage)
	if err := json.Unmarshal(text, m, api.Lenient); err != nil {
		return nil, fmt.Errorf("decode message: %w", err)
	}
	switch {
	case m.Type == typeError:
		return m, nil
	case m.Type != typeMessage || m.Content == nil:
		return nil, errNoMessage
	}
	return m, m.readBlocks()
}

func (m *answerMessage) readBlocks() (err error) {
	m.blocks = make([]answerBlock, len(m.Content))
	for i := range m.Content {
		if m.blocks[i], err = readBlock(m.Content[i]); err != nil {
			return err
		}
	}
	return nil
}

// replay yields the message as the stream that it would have been.
func (x *exchange) replay(m *wholeMessage) llm.Stream {
	return func(yield func(*llm.Event, error) bool) {
		a := newAnswer(x)
		if a.start(&m.answerMessage, yield) {
			a.finish()
		}
	}
}

// readBlock reads a content block. Of one that has no place in the common form
// it reads only the type: its other members may have any form.
func readBlock(raw []byte) (answerBlock, error) {
	var b answerBlock
	err := json.Unmarshal(raw, &b, api.Lenient)
	if err == nil {
		return b, nil
	}
	var typed struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(raw, &typed, api.Lenient) == nil && kindOf(typed.Type) == kindOther {
		return answerBlock{Type: typed.Type}, nil
	}
	return b, fmt.Errorf("decode content block: %w", err)
}
