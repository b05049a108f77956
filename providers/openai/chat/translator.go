package chat

import (
	"slices"

	"github.com/go-json-experiment/json"

	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/providers/openai/wire"
)

// translator turns chunks into events of the common form, for clients of another
// dialect. It gets them from the reader of streams, which has repaired them, or
// from a whole answer.
type translator struct {
	out      *llm.Emitter
	exchange *exchange
	choices  []translatedChoice
}

// translatedChoice is what of a choice matters for later chunks.
type translatedChoice struct {
	index    int
	calls    []translatedCall // by the index of the chunks
	legacy   int              // where in calls the call of a deprecated function is; -1 = there is none
	thoughts []int            // the upstream's indices of thoughts, in the order they began
}

// translatedCall is a tool call. Some compatible servers send its name late: until
// then start collects what comes.
type translatedCall struct {
	start llm.CallStart
	begun bool
	at    int // the emitter's index
}

func (x *exchange) translator(yield func(*llm.Event, error) bool, head llm.Head) *translator {
	t := &translator{out: llm.NewEmitter(yield, head), exchange: x}
	t.out.Malformed = x.api.client.Malformed
	return t
}

// chunk takes the next chunk of a stream, or the error that ends it.
func (t *translator) chunk(c *chat.Chunk, err error) bool {
	if c == nil {
		t.out.Fail(err)
		return false
	}
	head := t.out.Head()
	head.ServiceTier, head.Fingerprint = c.ServiceTier, c.SystemFingerprint
	for i := range c.Choices {
		if !t.choice(&c.Choices[i]) {
			return false
		}
	}
	return len(c.Choices) > 0 || t.out.Usage(c.Usage.Common())
}

func (t *translator) choice(c *chat.ChunkChoice) bool {
	if !t.out.Begin(c.Index) {
		return false
	}
	if llm.Given(c.Logprobs) {
		t.out.Logprobs(c.Logprobs)
	}
	return t.says(c) && t.calls(c) && t.finish(c)
}

// says takes reasoning, text, refusal and images.
func (t *translator) says(c *chat.ChunkChoice) bool {
	d := &c.Delta
	shown := d.ReasoningContent
	for i := range d.ReasoningDetails {
		thought := t.own(d.ReasoningDetails[i].Common())
		thought.Index = t.state(c.Index).thought(thought.Index)
		if !t.out.Thought(c.Index, shown, thought) {
			return false
		}
		shown = ""
	}
	if shown != "" && !t.out.Thought(c.Index, shown, t.returned(c.Index, shown)) {
		return false
	}
	if d.Content != nil && !t.out.Text(c.Index, *d.Content) || d.Refusal != nil && !t.out.Refusal(c.Index, *d.Refusal) {
		return false
	}
	for i := range d.Images {
		image := llm.Media{Kind: llm.Image, URL: d.Images[i].ImageURL.URL, Detail: d.Images[i].ImageURL.Detail, Made: true}
		if !t.out.Media(c.Index, &image) {
			return false
		}
	}
	return true
}

// own says who has made a thought, also one of a model that the server offers for
// another provider: only the server can take it back.
func (t *translator) own(thought *llm.Thought) *llm.Thought {
	m := t.exchange.call.Model
	thought.Format, thought.Model = wire.ThoughtFormat(m), m.Upstream
	return thought
}

// plainThought is the upstream's index of reasoning that has none.
const plainThought = -1

// returned is reasoning without a block of its own, where the server takes it back; else
// it is nil.
func (t *translator) returned(choice int, text string) *llm.Thought {
	if t.exchange.api.server.Reasoning == "" {
		return nil
	}
	return t.own(&llm.Thought{Kind: llm.ThoughtText, Text: text, Index: t.state(choice).thought(plainThought)})
}

// thought is the dense index of a thought.
func (c *translatedChoice) thought(upstream int) int {
	at := slices.Index(c.thoughts, upstream)
	if at < 0 {
		at, c.thoughts = len(c.thoughts), append(c.thoughts, upstream)
	}
	return at
}

func (t *translator) calls(c *chat.ChunkChoice) bool {
	for i := range c.Delta.ToolCalls {
		if !t.call(c.Index, &c.Delta.ToolCalls[i]) {
			return false
		}
	}
	f := c.Delta.FunctionCall
	if f == nil {
		return true
	}
	state, d := t.state(c.Index), chat.ToolCallDelta{Function: f}
	if state.legacy < 0 { // it has no id
		state.legacy, d.ID = len(state.calls), llm.NewID("call_")
	}
	d.Index = state.legacy
	return t.call(c.Index, &d)
}

// call takes a fragment of a tool call.
func (t *translator) call(choice int, d *chat.ToolCallDelta) bool {
	state := t.state(choice)
	if d.Index == len(state.calls) {
		state.calls = append(state.calls, newCall(d))
	}
	c := &state.calls[d.Index]
	name, input := addedBy(d)
	if c.begun {
		return t.out.Input(choice, c.at, input)
	}
	c.start.Name, c.start.Arguments = c.start.Name+name, c.start.Arguments+input
	return c.start.Name == "" || t.begin(choice, c)
}

func newCall(d *chat.ToolCallDelta) translatedCall {
	c := translatedCall{start: llm.CallStart{ID: d.ID}}
	if len(d.Custom) > 0 {
		c.start.Kind = llm.ToolCustom
	}
	if d.ExtraContent != nil && d.ExtraContent.Google != nil {
		c.start.Signature = d.ExtraContent.Google.ThoughtSignature
	}
	return c
}

// addedBy is what a fragment adds to a call: its name, and a piece of its input.
func addedBy(d *chat.ToolCallDelta) (name, input string) {
	if d.Function != nil {
		return d.Function.Name, d.Function.Arguments
	}
	var custom chat.CustomCall
	_ = json.Unmarshal(d.Custom, &custom, wire.Lenient) // what is of another form says nothing that can be told
	return custom.Name, custom.Input
}

func (t *translator) begin(choice int, c *translatedCall) (ok bool) {
	c.begun = true
	c.start.Namespace, c.start.Name = t.exchange.names.Original(c.start.Name)
	c.at, ok = t.out.Call(choice, &c.start)
	return ok
}

func (t *translator) finish(c *chat.ChunkChoice) bool {
	if c.FinishReason == nil {
		return true
	}
	state := t.state(c.Index)
	for i := range state.calls { // a call that never got a name
		if call := &state.calls[i]; !call.begun && !t.begin(c.Index, call) {
			return false
		}
	}
	reason := llm.Finish(*c.FinishReason)
	switch {
	case reason == "function_call": // the deprecated form of tool calls
		reason = llm.FinishToolCalls
	case reason == llm.FinishStop && len(state.calls) > 0: // OpenAI says so of a call that was forced
		reason = llm.FinishToolCalls
	}
	return t.out.Finish(c.Index, llm.Ending{Finish: reason, NativeReason: *c.FinishReason})
}

func (t *translator) state(choice int) *translatedChoice {
	for i := range t.choices {
		if t.choices[i].index == choice {
			return &t.choices[i]
		}
	}
	t.choices = append(t.choices, translatedChoice{index: choice, legacy: -1})
	return &t.choices[len(t.choices)-1]
}
