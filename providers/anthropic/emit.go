package anthropic

import (
	"modelgateway/models/api"
	"modelgateway/providers/carry"
	"modelgateway/providers/chunk"
)

func (a *answer) sendText(text string) bool {
	if text == "" {
		return true
	}
	a.text = text
	return a.out.Delta(0, api.Delta{Content: &a.text})
}

// think sends a fragment of thinking, for clients that show it and for those
// that bring it back.
func (a *answer) think(o *openBlock, text string) bool {
	if text == "" {
		return true
	}
	o.thinking.WriteString(text)
	a.detail[0] = api.ReasoningDetail{Type: api.ReasoningText, Text: text, Format: o.format(), Index: o.thought}
	return a.out.Delta(0, api.Delta{ReasoningContent: text, ReasoningDetails: a.detail[:]})
}

// format is sent with the first fragment of a block only: clients that know
// nothing of these fragments join all strings in them (openai-python joins all
// but type and index).
func (o *openBlock) format() string {
	if o.formatted {
		return ""
	}
	o.formatted = true
	return api.FormatAnthropic
}

// sign ends a block of thinking with its signature. The text of a block may be
// empty where the upstream keeps it to itself; the signature must travel.
func (a *answer) sign(o *openBlock) bool {
	if o.signature == "" {
		return true // the upstream would not take it back
	}
	d := api.ReasoningDetail{Type: api.ReasoningText, Signature: o.signature, Format: o.format(), Index: o.thought}
	whole := d
	whole.Text, whole.Format = o.thinking.String(), api.FormatAnthropic
	a.signed = append(a.signed, whole)
	a.detail[0] = d
	return a.out.Delta(0, api.Delta{ReasoningDetails: a.detail[:]})
}

func (a *answer) redacted(data string) bool {
	if data == "" {
		return true
	}
	d := api.ReasoningDetail{
		Type: api.ReasoningEncrypted, Data: data, Format: api.FormatAnthropic, Index: a.thoughts,
	}
	a.thoughts++
	a.signed = append(a.signed, d)
	a.detail[0] = d
	return a.out.Delta(0, api.Delta{ReasoningDetails: a.detail[:]})
}

func (a *answer) startTool(o *openBlock, b *answerBlock) bool {
	o.input = b.Input
	if b.Name == a.exchange.answerTool && b.Name != "" {
		o.content, o.unseen = true, a.answered // one answer is enough
		a.answered = true
		return true
	}
	a.calls++
	if a.exchange.legacy {
		o.unseen = a.calls > 1 // there is room for one
		if o.unseen {
			return true
		}
		return a.out.Delta(0, api.Delta{FunctionCall: &api.FunctionDelta{Name: b.Name}})
	}
	id := b.ID
	if id == "" {
		id = chunk.NewID("toolu_")
	}
	var alive bool
	o.call, alive = a.out.Call(0, api.ToolCall{
		ID: carry.Pack(id, a.signed), Function: &api.FunctionCall{Name: b.Name},
	})
	a.signed = nil
	return alive
}

// sendInput sends a fragment of a tool's input to where the client expects it.
func (a *answer) sendInput(o *openBlock, fragment string) bool {
	switch {
	case o.unseen:
		return true
	case o.content:
		return a.sendText(fragment)
	case a.exchange.legacy:
		return a.out.Delta(0, api.Delta{FunctionCall: &api.FunctionDelta{Arguments: fragment}})
	}
	return a.out.Arguments(0, o.call, fragment)
}

// finish ends the completion. What the upstream never closed is closed first.
func (a *answer) finish() {
	for i := range a.open {
		if !a.closeBlock(&a.open[i]) {
			return
		}
	}
	a.open = nil
	reason := a.finishReason()
	if reason == api.FinishContentFilter && a.explanation != "" {
		if !a.out.Delta(0, api.Delta{Refusal: &a.explanation}) {
			return
		}
	}
	if a.out.Finish(0, reason) {
		a.out.Usage(a.usage.openAI())
	}
}

func (a *answer) finishReason() string {
	switch a.reason {
	case "max_tokens", "model_context_window_exceeded":
		return api.FinishLength
	case "refusal":
		return api.FinishContentFilter
	case "tool_use":
		switch {
		case a.calls == 0: // only the tool whose input is the content
			return api.FinishStop
		case a.exchange.legacy:
			return api.FinishFunctionCall
		}
		return api.FinishToolCalls
	}
	return api.FinishStop
}

// Counted is what message_start has told, which of the output is only a first
// guess, until message_delta has told all.
func (a *answer) Counted() *api.Usage {
	u := a.usage.openAI()
	if u != nil && a.reason == "" {
		u.CompletionTokens, u.TotalTokens, u.CompletionTokensDetails = 0, u.PromptTokens, nil
	}
	return u
}

// openAI counts as OpenAI does: cached tokens are part of the prompt. It is
// nil when the upstream gave no counts.
func (u *usage) openAI() *api.Usage {
	if !u.Input.given && !u.Output.given {
		return nil
	}
	prompt := u.Input.n + u.CacheWrite.n + u.CacheRead.n
	out := &api.Usage{PromptTokens: prompt, CompletionTokens: u.Output.n, TotalTokens: prompt + u.Output.n}
	if u.CacheWrite.given || u.CacheRead.given {
		out.PromptTokensDetails = &api.PromptDetails{CachedTokens: u.CacheRead.n, CacheWriteTokens: u.CacheWrite.n, CacheWriteHour: u.Creation.Hour.n}
	}
	if u.Details.Thinking.given {
		out.CompletionTokensDetails = &api.CompletionDetails{ReasoningTokens: u.Details.Thinking.n}
	}
	return out
}
