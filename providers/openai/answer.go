package openai

import (
	"context"
	"fmt"
	"net/http"

	"modelgateway/models/api"
	"modelgateway/models/api/chat"
	"modelgateway/models/llm"
)

// answer requests a whole answer. One that needs no repair is forwarded in the
// upstream's bytes, where the client speaks this API.
func (x *exchange) answer(ctx context.Context, key string) (llm.Stream, error) {
	text, err := x.provider.client.Post(ctx, key, completionsPath, x.body...)
	if err != nil {
		return nil, err
	}
	if !x.foreign {
		if a, ok := new(fastReader).answer(text); ok {
			return a.stream, nil
		}
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

// wholeAnswer is an answer or, from compatible servers under status 200, an
// error.
type wholeAnswer struct {
	chat.Completion
	Error *problem `json:"error"`
}

// shown is an answer in the bytes that are sent to the client.
type shown struct {
	head     llm.Head
	raw      []byte
	usage    *llm.Usage // nil = not reported
	finishes []llm.Finish
	texts    string // of an answer without usage, for an estimate
}

// stream yields the events for metering, then the bytes.
func (a *shown) stream(yield func(*llm.Event, error) bool) {
	e := llm.Event{Head: &a.head, RawDialect: llm.Chat}
	if a.texts != "" {
		e.Kind, e.Text = llm.EventText, a.texts
		if !yield(&e, nil) {
			return
		}
	}
	for i, reason := range a.finishes {
		e = llm.Event{Kind: llm.EventFinish, Head: &a.head, RawDialect: llm.Chat, Choice: i, Finish: reason}
		if !yield(&e, nil) {
			return
		}
	}
	e = llm.Event{Kind: llm.EventAnswer, Head: &a.head, RawDialect: llm.Chat, Raw: a.raw, Usage: a.usage}
	yield(&e, nil)
}

// encoded is the answer that read has filled in. Clients rely on its usage, so
// one without counts has zeros.
func encoded(c *chat.Completion) (llm.Stream, error) {
	a := &shown{head: llm.Head{ID: c.ID, Model: c.Model, Created: c.Created}, usage: c.Usage.Common()}
	for i := range c.Choices {
		a.finishes = append(a.finishes, llm.Finish(c.Choices[i].FinishReason))
		if !a.usage.Counts() || a.usage.Output == 0 {
			a.texts += c.Choices[i].Message.Texts()
		}
	}
	if c.Usage == nil {
		c.Usage = new(chat.Usage)
	}
	var err error
	if a.raw, err = chat.AppendCompletion(nil, c); err != nil {
		return nil, api.Internal(fmt.Errorf("encode answer: %w", err))
	}
	return a.stream, nil
}

// read reads an answer in full.
func (x *exchange) read(text []byte) (*chat.Completion, error) {
	client := x.provider.client
	var answer wholeAnswer
	if err := decode(text, "message", &answer); err != nil {
		return nil, client.Malformed(err)
	}
	if answer.Error != nil {
		return nil, client.Refused(answer.Error.refusal(http.StatusInternalServerError))
	}
	if len(answer.Choices) == 0 {
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
		m.Role = "assistant"
		nameReasoning(m)
		for j := range m.ToolCalls {
			repairCall(&m.ToolCalls[j])
		}
		if m.Content == nil && len(m.ToolCalls) == 0 && m.FunctionCall == nil && m.Refusal == nil {
			m.Content = new(string) // Azure leaves out a message that its filter has removed
		}
		if choice.FinishReason == "" {
			choice.FinishReason = inferred(len(m.ToolCalls))
		}
	}
	return c
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

// repairUsage makes absurd counts zero.
func repairUsage(u *chat.Usage) *chat.Usage {
	if u == nil {
		return nil
	}
	u.PromptTokens, u.CompletionTokens = max(u.PromptTokens, 0), max(u.CompletionTokens, 0)
	if u.TotalTokens <= 0 {
		u.TotalTokens = u.PromptTokens + u.CompletionTokens
	}
	if d := u.PromptTokensDetails; d != nil {
		d.CachedTokens, d.CacheWriteTokens = max(d.CachedTokens, 0), max(d.CacheWriteTokens, 0)
	}
	if d := u.CompletionTokensDetails; d != nil {
		d.ReasoningTokens = max(d.ReasoningTokens, 0)
	}
	return u
}

// inferred is the finish reason of a complete answer whose upstream sent none.
func inferred(calls int) string {
	if calls > 0 {
		return string(llm.FinishToolCalls)
	}
	return string(llm.FinishStop)
}
