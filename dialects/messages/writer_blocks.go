package messages

import (
	"modelgateway/dialects/ordering"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
	"modelgateway/llm/roundtrip"
)

// blocks turns the events of an answer into content blocks. One block is open at a time:
// what belongs to another one while the arguments of a call are incomplete is held, and
// written when that call has ended.
type blocks struct {
	form    form
	hidden  bool // the client sees no thoughts
	omitted bool // the client sees thoughts without their text
	single  bool // the answer has one call at most

	out  jsonbytes.Writer // what has been written
	next int              // the index of the next block
	kind blockKind
	made block // the one that was opened last
	held ordering.Queue

	text    int             // Event.Block of the open text
	thought llm.Thought     // of the open block of thinking
	known   bool            // an event has told the thought, not only its text
	call    int             // the index of the open call among all calls
	input   ordering.Object // of the open call
	started bool            // the open call has arguments

	calls    int // made
	complete int // of them with complete arguments
	ids      roundtrip.IDs
	refusal  []byte // what the model said in place of an answer

	signed   []*llm.Thought // that the next call's id brings back, where thoughts are hidden
	thinking []byte         // the text of the hidden thought
	thinks   int            // its index
}

func newBlocks(f form, req *llm.Request) blocks {
	return blocks{
		form: f, hidden: req.NoThoughts, omitted: req.Thinking != nil && req.Thinking.Display == displayOmitted,
		single: req.ParallelCalls != nil && !*req.ParallelCalls,
	}
}

// displayOmitted asks for thoughts of which only the signature is shown.
const displayOmitted = "omitted"

// event takes the next event.
func (b *blocks) event(e *llm.Event) {
	b.add(e)
	for !b.held.Empty() && !b.waits() {
		b.add(b.held.Next())
	}
}

// end takes what is held, and closes the last block.
func (b *blocks) end() {
	for !b.held.Empty() {
		if b.waits() {
			b.close()
		}
		b.add(b.held.Next())
	}
	b.close()
}

// waits says whether the open call lacks a part of its arguments.
func (b *blocks) waits() bool { return b.kind == callBlock && !b.input.Done }

func (b *blocks) add(e *llm.Event) {
	if b.waits() && (e.Kind != llm.EventInput || e.CallIndex != b.call) {
		b.held.Add(e)
		return
	}
	switch e.Kind {
	case llm.EventText, llm.EventRefusal:
		b.writeText(e)
	case llm.EventThought:
		b.writeThought(e)
	case llm.EventMedia:
		b.close() // answers of Anthropic hold no media
		b.writeText(&llm.Event{Kind: llm.EventText, Block: ownBlock, Text: e.Media.AsText()})
		b.close()
	case llm.EventCitations:
		b.writeCitations(e.Citations)
	case llm.EventCall:
		b.beginCall(e)
	case llm.EventInput:
		b.writeArguments(e)
	}
}

// ownBlock is a block that no event has.
const ownBlock = -1

// writeText writes a piece of text. What is said in place of an answer is text as well.
func (b *blocks) writeText(e *llm.Event) {
	if e.Text == "" {
		return
	}
	if b.kind != textBlock || b.text != e.Block {
		b.close()
		b.open(block{kind: textBlock})
		b.text = e.Block
	}
	b.delta(textDelta, e.Text)
	if e.Kind == llm.EventRefusal {
		b.refusal = append(b.refusal, e.Text...)
	}
}

// writeCitations writes the sources of the open text. Those of a text that has ended have no place.
func (b *blocks) writeCitations(all []llm.Citation) {
	if b.kind != textBlock {
		return
	}
	for i := range all {
		if text := citation(&all[i]); text != "" {
			b.delta(citationDelta, text)
		}
	}
}

// citation is a source in the form of a text block's citations: Anthropic's own, or a web
// page. Another source has no form there.
func citation(c *llm.Citation) string {
	switch {
	case len(c.Native) > 0:
		if !c.Native.IsValid() { // it would make the answer unreadable for strict clients
			return ""
		}
		return string(oneLine(c.Native))
	case c.URL == "":
		return ""
	}
	return string(jsonbytes.Writer(nil).Object().Text("type", "web_search_result_location").Text("url", c.URL).TextOrNull("title", c.Title).
		Text("cited_text", c.Quote).Text("encrypted_index", "").EndObject())
}

func (b *blocks) open(made block) {
	b.made = made
	b.out = b.form.start(b.out, b.next, &b.made)
	b.kind = made.kind
	b.next++
}

func (b *blocks) delta(kind deltaKind, value string) { b.out = b.form.delta(b.out, kind, value) }

// writeBlock writes a block without deltas.
func (b *blocks) writeBlock(made block) {
	b.open(made)
	b.close()
}

// close ends the open block.
func (b *blocks) close() {
	switch b.kind {
	case noBlock:
		return
	case thinkingBlock:
		b.delta(signatureDelta, signatureOf(&b.thought))
		b.thought, b.known = llm.Thought{}, false
	case callBlock:
		if !b.started {
			b.delta(inputDelta, "{}")
		}
		if b.input.Done || !b.started {
			b.complete++
		}
	}
	b.out = b.form.stop(b.out)
	b.kind = noBlock
}
