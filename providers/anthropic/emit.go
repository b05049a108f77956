package anthropic

import (
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/llm"
)

// sendText sends a text of the answer. Where the answer is the input of a tool,
// text beside it is none of the answer: it is kept until the end, and sent only
// if the tool was not called.
func (a *answer) sendText(text string) bool {
	a.chars += utf8.RuneCountInString(text)
	switch {
	case text == "" || a.answered:
		return true
	case a.exchange.answerTool != "":
		a.held = append(a.held, text...)
		return true
	}
	return a.out.Text(0, text)
}

func (a *answer) sendThinking(o *openBlock, text string) bool {
	if text == "" {
		return true
	}
	return a.sendThought(text, llm.Thought{Kind: llm.ThoughtText, Text: text, Index: o.thought})
}

// sendSignature ends a block of thinking. The text of a block may be empty
// where the upstream does not show it; the signature is sent all the same. A
// block without a signature has none to send: Anthropic does not take it back.
func (a *answer) sendSignature(o *openBlock) bool {
	if o.signature == "" {
		return true
	}
	return a.sendThought("", llm.Thought{Kind: llm.ThoughtText, Signature: o.signature, Index: o.thought, WithCalls: true})
}

func (a *answer) sendRedacted(data string) bool {
	if data == "" {
		return true
	}
	a.thoughts++
	return a.sendThought("", llm.Thought{Kind: llm.ThoughtEncrypted, Data: data, Index: a.thoughts - 1, WithCalls: true})
}

func (a *answer) sendThought(text string, t llm.Thought) bool {
	a.thought = t
	a.thought.Format, a.thought.Model = llm.FormatAnthropic, a.exchange.model
	return a.out.Thought(0, text, &a.thought)
}

func (a *answer) startTool(o *openBlock, b *answerBlock) bool {
	o.input = b.Input
	if b.Name == a.exchange.answerTool && b.Name != "" {
		o.content, o.hidden = true, a.answered // the first answer counts
		a.answered, a.held, a.cited = true, nil, nil
		return true
	}
	a.calls++
	id := b.ID
	if id == "" {
		id = llm.NewID("toolu_")
	}
	var alive bool
	o.call, alive = a.out.Call(0, &llm.CallStart{ID: id, Name: b.Name})
	return alive
}

// sendInput sends a fragment of a tool's input to where the client expects it.
func (a *answer) sendInput(o *openBlock, fragment string) bool {
	switch {
	case o.hidden:
		return true
	case o.content:
		return a.out.Text(0, fragment)
	}
	return a.out.Input(0, o.call, fragment)
}

// finish ends the answer, after it has closed what the upstream left open.
func (a *answer) finish() {
	for i := range a.open {
		if !a.closeBlock(&a.open[i]) {
			return
		}
	}
	a.open = nil
	if len(a.held) > 0 && (!a.out.Text(0, string(a.held)) || !a.out.Citations(0, a.cited)) {
		return
	}
	a.out.Head().ServiceTier = a.usage.tier()
	reason := a.finishReason()
	if reason == llm.FinishContentFilter && !a.out.Refusal(0, a.ending.explanation()) {
		return
	}
	if a.out.Finish(0, llm.Ending{
		Finish: reason, NativeReason: a.ending.StopReason, StopSequence: string(a.ending.StopSequence),
		StopDetails: jsontext.Value(a.ending.StopDetails),
	}) {
		a.out.Usage(a.usage.common())
	}
}

// explanation is why a model refused; empty where it does not say.
func (e *ending) explanation() string {
	var details struct {
		Explanation word `json:"explanation"`
	}
	if json.Unmarshal(e.StopDetails, &details, api.Lenient) != nil {
		return ""
	}
	return string(details.Explanation)
}

func (a *answer) finishReason() llm.Finish {
	reason := a.ending.finish()
	if reason == llm.FinishToolCalls && a.calls == 0 { // it was the tool whose input is the content
		return llm.FinishStop
	}
	return reason
}

// common is the ending of an answer in the upstream's bytes.
func (e *ending) common() llm.Ending {
	return llm.Ending{Finish: e.finish(), NativeReason: e.StopReason, StopSequence: string(e.StopSequence)}
}

// finish is the reason in OpenAI's words.
func (e *ending) finish() llm.Finish {
	switch e.StopReason {
	case "max_tokens", "model_context_window_exceeded":
		return llm.FinishLength
	case "refusal":
		return llm.FinishContentFilter
	case "tool_use":
		return llm.FinishToolCalls
	}
	return llm.FinishStop
}

// Counted is the usage of message_start, until message_delta has the whole
// usage.
func (a *answer) Counted() *llm.Usage { return a.usage.counted(a.ending.StopReason != "") }

// counted is the usage so far. The output that message_start counts is only a first
// guess.
func (u *usage) counted(ended bool) *llm.Usage {
	c := u.common()
	if c != nil && !ended {
		c.Output, c.Total, c.HasReasoning, c.Reasoning = 0, c.Input, false, 0
	}
	return c
}

// tier is the service tier in OpenAI's word, where it has one.
func (u *usage) tier() string {
	if u.ServiceTier == "standard" {
		return "default"
	}
	return string(u.ServiceTier)
}

// common counts cached tokens as a part of the input. It is nil when the
// upstream gave no counts.
func (u *usage) common() *llm.Usage {
	if !u.Input.given && !u.Output.given {
		return nil
	}
	input := u.Input.n + u.CacheWrite.n + u.CacheRead.n
	out := &llm.Usage{
		Input: input, Output: u.Output.n, Total: input + u.Output.n,
		Tier: u.tier(), Speed: string(u.Speed), Geo: string(u.Geo), Searches: u.ServerTools.Searches.n, Tools: u.ServerTools.Code.n,
	}
	if u.CacheWrite.given || u.CacheRead.given {
		out.HasCache, out.Cached, out.CacheWrite, out.CacheWriteHour = true, u.CacheRead.n, u.CacheWrite.n, u.Creation.Hour.n
	}
	if u.Details.Thinking.given {
		out.HasReasoning, out.Reasoning = true, u.Details.Thinking.n
	}
	return out
}
