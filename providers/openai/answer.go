package openai

import (
	"context"
	"fmt"
	"net/http"

	"modelgateway/api"
	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/providers/native"
)

// answer requests a whole answer. One that needs no repair is forwarded in the
// upstream's bytes, where the client speaks this API.
func (x *exchange) answer(ctx context.Context, key string) (llm.Stream, error) {
	text, err := x.provider.client.Post(ctx, key, completionsPath, x.body...)
	if err != nil {
		return nil, err
	}
	if stream := x.fast(text); stream != nil {
		return stream, nil
	}
	c, err := x.read(text)
	if err != nil {
		return nil, err
	}
	if x.foreign {
		return x.replay(c), nil
	}
	return encoded(c)
}

// fast is nil where an answer has to be decoded in full.
func (x *exchange) fast(text []byte) llm.Stream {
	r := new(fastReader)
	if !x.foreign {
		if a, ok := r.answer(text); ok {
			return a.Stream
		}
	} else if a, ok := r.text(text); ok {
		return a.events
	}
	return nil
}

// wholeAnswer is an answer or, from compatible servers under status 200, an
// error.
type wholeAnswer struct {
	chat.Completion
	Error *problem `json:"error"`
}

// oneText is an answer of one text, for a client of another dialect.
type oneText struct {
	native.Whole

	content string
	event   llm.Event
}

// events yields the same events as replay does for the whole answer, at half of its cost:
// BenchmarkForeignAnswer.
func (a *oneText) events(yield func(*llm.Event, error) bool) {
	e := &a.event
	*e = llm.Event{Head: &a.Head}
	if !yield(e, nil) {
		return
	}
	if a.content != "" {
		e.Kind, e.Text = llm.EventText, a.content
		if !yield(e, nil) {
			return
		}
	}
	e.Kind, e.Text = llm.EventFinish, ""
	e.Ending = a.Endings[0]
	e.NativeReason = string(e.Finish)
	if !yield(e, nil) {
		return
	}
	if a.Usage != nil {
		*e = llm.Event{Kind: llm.EventUsage, Head: &a.Head, Usage: a.Usage}
		yield(e, nil)
	}
}

// encoded is the answer that read has filled in. Clients rely on its usage, so
// one without counts has zeros.
func encoded(c *chat.Completion) (llm.Stream, error) {
	a := &native.Whole{
		Head:    llm.Head{ID: c.ID, Model: c.Model, Created: c.Created, ServiceTier: c.ServiceTier},
		Dialect: llm.Chat, Usage: c.Usage.Common(),
	}
	for i := range c.Choices {
		a.Endings = append(a.Endings, llm.Ending{Finish: llm.Finish(c.Choices[i].FinishReason)})
		if !a.Usage.Counts() || a.Usage.Output == 0 {
			a.Texts += c.Choices[i].Message.Texts()
		}
	}
	if c.Usage == nil {
		c.Usage = new(chat.Usage)
	}
	var err error
	if a.Raw, err = chat.AppendCompletion(nil, c); err != nil {
		return nil, api.Internal(fmt.Errorf("encode answer: %w", err))
	}
	return a.Stream, nil
}

// read reads an answer in full.
func (x *exchange) read(text []byte) (*chat.Completion, error) {
	client := x.provider.client
	var answer wholeAnswer
	if err := decode(text, "message", &answer); err != nil {
		return nil, client.Malformed(err)
	}
	p := answer.Error
	if p == nil && len(answer.Choices) == 0 {
		p = problemOf(text)
	}
	switch {
	case p != nil:
		return nil, client.Refused(p.refusal(http.StatusInternalServerError))
	case len(answer.Choices) == 0:
		return nil, client.Malformed(errNoChoices)
	}
	return x.repair(&answer.Completion), nil
}

// repair fills what compatible servers leave out.
func (x *exchange) repair(c *chat.Completion) *chat.Completion {
	head := x.head(c.ID, c.Model, c.Created)
	c.ID, c.Model, c.Created, c.Object = head.ID, head.Model, head.Created, chat.ObjectCompletion
	if c.ID == "" {
		c.ID = llm.NewID("chatcmpl-")
	}
	c.Usage = repairUsage(c.Usage)
	for i := range c.Choices {
		choice := &c.Choices[i]
		m := &choice.Message
		if m.Content == nil && !replacesText(m) {
			m.Content = new(string)
		}
		m.Role = "assistant"
		nameReasoning(&m.ReasoningContent, &m.Extra)
		for j := range m.ToolCalls {
			repairCall(&m.ToolCalls[j])
		}
		choice.FinishReason, choice.Extra = finishWord(choice.FinishReason, choice.Extra)
		if choice.FinishReason == "" {
			choice.FinishReason = inferred(len(m.ToolCalls))
		}
	}
	return c
}

// replacesText says whether a message has what OpenAI sends in place of a text: then its content may
// be null.
func replacesText(m *chat.Answer) bool {
	return len(m.ToolCalls) > 0 || m.FunctionCall != nil || m.Refusal != nil || llm.Given(memberAt(m.Extra, "audio"))
}

func (x *exchange) head(id, model string, created int64) chat.Head {
	head := chat.Head{ID: id, Model: model, Created: created}
	if head.Model == "" {
		head.Model = x.call.Model.Upstream
	}
	if head.Created <= 0 {
		head.Created = x.provider.now().Unix()
	}
	return head
}

func repairCall(c *chat.ToolCall) {
	if c.ID == "" { // Google's OpenAI endpoint, older builds
		c.ID = llm.NewID("call_")
	}
	if c.Type == "" {
		c.Type = "function"
	}
	if c.Function != nil && c.Function.Arguments == "" {
		c.Function.Arguments = "{}"
	}
}

// repairUsage makes absurd counts zero, and counts reasoning among the tokens of the
// answer, also where only the total has it: Gemini's compatible endpoint counts so.
func repairUsage(u *chat.Usage) *chat.Usage {
	if u == nil {
		return nil
	}
	u.PromptTokens, u.CompletionTokens = max(u.PromptTokens, 0), max(u.CompletionTokens, 0)
	if u.TotalTokens <= 0 {
		u.TotalTokens = u.PromptTokens + u.CompletionTokens
	}
	if hidesTokens(u) {
		u.CompletionTokens = u.TotalTokens - u.PromptTokens
	}
	if d := u.PromptTokensDetails; d != nil {
		d.CachedTokens, d.CacheWriteTokens = max(d.CachedTokens, 0), max(d.CacheWriteTokens, 0)
	}
	if d := u.CompletionTokensDetails; d != nil {
		d.ReasoningTokens = max(d.ReasoningTokens, 0)
		if leavesOutReasoning(u) {
			u.CompletionTokens += d.ReasoningTokens
		}
	}
	return u
}

// leavesOutReasoning says whether the reasoning of a usage is in its total, but not
// among the tokens of the answer: xAI counts it so.
func leavesOutReasoning(u *chat.Usage) bool {
	d := u.CompletionTokensDetails
	return d != nil && d.ReasoningTokens > 0 && u.PromptTokens+u.CompletionTokens+d.ReasoningTokens == u.TotalTokens
}

// hidesTokens says whether the total of a usage without details has more than the counts of prompt
// and answer.
func hidesTokens(u *chat.Usage) bool {
	return u.PromptTokensDetails == nil && u.CompletionTokensDetails == nil && u.TotalTokens > u.PromptTokens+u.CompletionTokens
}

// inferred is the finish reason of a complete answer whose upstream sent none.
func inferred(calls int) string {
	if calls > 0 {
		return string(llm.FinishToolCalls)
	}
	return string(llm.FinishStop)
}
