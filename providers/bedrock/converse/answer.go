package converse

import (
	"cmp"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/llm"
	"modelgateway/providers"
)

// answer is the state machine between the events of ConverseStream and those of the common form.
// A whole answer is replayed through it. Its methods return false when the consumer has left.
type answer struct {
	exchange *exchange
	out      *llm.Emitter

	at       int               // index of the block of the last text or thought
	calls    map[int]*openCall // by the index of their block
	thoughts int               // blocks of reasoning so far
	answered bool              // the tool whose input is the answer's text has been called
	held     []byte            // text that is sent only if that tool is not called
	usable   bool              // a text or a call has come
	thought  llm.Thought       // of the event being sent

	reason string // why the model stopped, once it is known
	usage  *usage
	tier   string
}

// openCall is a call of which fragments may follow.
type openCall struct {
	index  int  // among the calls of the client's tools
	text   bool // its input is the answer's text
	hidden bool // the client does not see it
	filled bool // a fragment has come
}

func newAnswer(x *exchange) *answer {
	return &answer{exchange: x, at: -1, calls: map[int]*openCall{}}
}

func (a *answer) begin(yield func(*llm.Event, error) bool) bool {
	a.out = llm.NewEmitter(yield, llm.Head{Model: a.exchange.call.Model.Upstream, Created: a.exchange.api.now().Unix(), Counter: a})
	a.out.Malformed = a.exchange.api.client.Malformed
	return a.out.Begin(0)
}

// replay yields a whole answer as the events that it would have come in.
func (a *answer) replay(w *wholeAnswer, yield func(*llm.Event, error) bool) {
	if !a.begin(yield) {
		return
	}
	for i := range w.Output.Message.Content {
		b := &w.Output.Message.Content[i]
		e := event{Index: i}
		e.Delta.Text = b.Text
		if b.Cited != nil {
			for _, cited := range b.Cited.Content {
				e.Delta.Text += cited.Text
			}
		}
		if r := b.Reasoning; r != nil {
			if e.Delta.Reasoning.Redacted = r.Redacted; r.Text != nil {
				e.Delta.Reasoning.reasoningText = *r.Text
			}
		}
		if e.Start.ToolUse = b.ToolUse; b.ToolUse != nil {
			e.Delta.ToolUse.Input = arguments(b.ToolUse.Input)
		}
		if !a.apply("contentBlockStart", &e) || !a.apply("contentBlockDelta", &e) || !a.apply("contentBlockStop", &e) {
			return
		}
	}
	a.setEnding(&w.ending)
	a.finish()
}

// arguments are the input of a whole call in the shortest form, its numbers as they are.
func arguments(input jsontext.Value) string {
	if input.Kind() != jsontext.KindBeginObject || input.Compact(api.Lenient) != nil {
		return "{}"
	}
	return string(input)
}

// apply handles one event of a stream. Others add nothing.
func (a *answer) apply(name string, e *event) bool {
	switch name {
	case "contentBlockStart":
		return e.Start.ToolUse == nil || a.startCall(e.Index, e.Start.ToolUse)
	case "contentBlockDelta":
		d := &e.Delta
		return a.sendText(e.Index, d.Text) && a.sendInput(e.Index, d.ToolUse.Input) &&
			a.sendThought(e.Index, d.Reasoning.Text, d.Reasoning.Signature, d.Reasoning.Redacted)
	case "contentBlockStop":
		return a.stopCall(e.Index)
	case "messageStop", "metadata":
		a.setEnding(&e.ending)
	}
	return true
}

func (a *answer) setEnding(e *ending) {
	a.reason, a.tier, a.usage = cmp.Or(e.StopReason, a.reason), cmp.Or(e.Tier.Type, a.tier), cmp.Or(e.Usage, a.usage)
}

// sendText sends a text of the answer. Where the answer is the input of a tool, text beside it is
// none of the answer: it is kept until the end, and sent only if the tool was not called.
func (a *answer) sendText(index int, text string) bool {
	if text == "" || a.answered {
		return true
	}
	a.usable = true
	if a.exchange.answerTool != "" {
		a.held = append(a.held, text...)
		return true
	}
	a.block(index)
	return a.out.Text(0, text)
}

// block notes that the next text or thought is of this block, and says whether it is its first.
func (a *answer) block(index int) bool {
	if index == a.at {
		return false
	}
	a.out.Block(0)
	a.at = index
	return true
}

// sendThought sends a piece of reasoning: a text, or what the provider wants back.
func (a *answer) sendThought(index int, text, signature, redacted string) bool {
	if text == "" && signature == "" && redacted == "" {
		return true
	}
	if a.block(index) {
		a.thoughts++
	}
	a.thought = llm.Thought{
		Text: text, Signature: signature, Data: redacted, Format: llm.FormatConverse, Model: a.exchange.call.Model.Upstream,
		Index: a.thoughts - 1,
	}
	if redacted != "" {
		a.thought.Kind = llm.ThoughtEncrypted
	}
	return a.out.Thought(0, text, &a.thought)
}

// startCall begins a call. Converse cannot be told to make one call only: where the answer holds
// one, the first counts.
func (a *answer) startCall(index int, u *toolUse) bool {
	c, alive := new(openCall), true
	a.calls[index], a.usable = c, true
	switch {
	case u.Name == a.exchange.answerTool && u.Name != "":
		c.text, c.hidden = true, a.answered // the first answer counts
		a.answered, a.held = true, nil
	case a.exchange.call.Request.SingleCall && a.out.Calls(0) > 0:
		c.hidden = true
	default:
		call := &llm.CallStart{ID: u.ID, Name: cmp.Or(a.exchange.names[u.Name], u.Name)}
		if call.ID == "" {
			call.ID = llm.NewID("tooluse_")
		}
		c.index, alive = a.out.Call(0, call)
	}
	return alive
}

// sendInput sends a fragment of a call's input to where the client expects it.
func (a *answer) sendInput(index int, fragment string) bool {
	c := a.calls[index]
	if c == nil || fragment == "" {
		return true
	}
	c.filled = true
	switch {
	case c.hidden:
		return true
	case c.text:
		return a.out.Text(0, fragment)
	}
	return a.out.Input(0, c.index, fragment)
}

// stopCall ends a call. One without arguments has no fragments.
func (a *answer) stopCall(index int) bool {
	c := a.calls[index]
	alive := c == nil || c.filled || a.sendInput(index, "{}")
	delete(a.calls, index)
	return alive
}

// finish ends the answer, after it has closed what the upstream left open.
func (a *answer) finish() {
	if !a.usable && (a.reason == "malformed_model_output" || a.reason == "malformed_tool_use") {
		client := a.exchange.api.client
		a.out.Fail(client.Refused(providers.Refusal{
			Status:  http.StatusOK, // of the upstream's answer
			Message: client.Provider() + " ended its answer without usable content: " + a.reason,
		}))
		return
	}
	for index := range a.calls {
		if !a.stopCall(index) {
			return
		}
	}
	if len(a.held) > 0 && !a.out.Text(0, string(a.held)) {
		return
	}
	a.out.Head().ServiceTier = a.tier
	if a.out.Finish(0, llm.Ending{Finish: a.finishReason(), NativeReason: a.reason}) {
		a.out.Usage(a.Counted())
	}
}

// finishReason is the reason in OpenAI's words. tool_use is also that of an answer by a tool, and
// not the only one with calls.
func (a *answer) finishReason() llm.Finish {
	switch a.reason {
	case "max_tokens", "model_context_window_exceeded":
		return llm.FinishLength
	case "guardrail_intervened", "content_filtered":
		return llm.FinishContentFilter
	}
	if a.out.Calls(0) > 0 {
		return llm.FinishToolCalls
	}
	return llm.FinishStop
}

// Finishing says whether only the usage is missing.
func (a *answer) Finishing() bool { return a.reason != "" }

// Counted is the usage, which comes at the end. Converse does not count cached tokens as input.
func (a *answer) Counted() *llm.Usage {
	u := a.usage
	if u == nil || u.Input == 0 && u.Output == 0 {
		return nil
	}
	out := &llm.Usage{Input: u.Input, Output: u.Output, Tier: a.tier, HasCache: u.CacheRead != nil || u.CacheWrite != nil}
	out.Cached, out.CacheWrite = *cmp.Or(u.CacheRead, new(int64)), *cmp.Or(u.CacheWrite, new(int64))
	out.Input += out.Cached + out.CacheWrite
	out.Total = out.Input + out.Output
	return out
}
