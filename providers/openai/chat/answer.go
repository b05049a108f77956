package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"modelgateway/api"
	"modelgateway/dialects/chat"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
	"modelgateway/providers/native"
	"modelgateway/providers/openai/wire"
	"modelgateway/providers/upstream"
)

// answer requests a whole answer.
func (x *exchange) answer(ctx context.Context, key string) (llm.Stream, error) {
	text, err := x.api.client.Post(ctx, key, completionsPath, x.body...)
	if err != nil {
		return nil, err
	}
	return x.read(ctx, text)
}

// read reads a whole answer. Some compatible servers send one in place of a stream: it is then
// read as one event and the end mark, as for a client of another dialect.
func (x *exchange) read(ctx context.Context, text []byte) (llm.Stream, error) {
	r, client := &reader{whole: true}, x.api.client
	err := r.decode(text)
	if err != nil {
		return nil, client.Malformed(err)
	}
	e := &r.event
	err = x.failure(e, text)
	switch {
	case err == nil && len(e.Choices) == 0 && wire.ProblemOf(text) != nil:
		err = x.failed(text)
	case err == nil && len(e.Choices) == 0:
		err = client.Malformed(errNoChoices)
	}
	if err != nil {
		return nil, err
	}
	if x.foreign || x.call.Request.Stream {
		return x.streamed(ctx, e), nil
	}
	return x.forwarded(e, text)
}

// streamed is a whole answer as a stream.
func (x *exchange) streamed(ctx context.Context, e *event) llm.Stream {
	for i := range e.Choices {
		calls := e.Choices[i].Delta.ToolCalls
		for at := range calls {
			if calls[at].Index == nil {
				index := int64(at)
				calls[at].Index = &index
			}
		}
	}
	s := x.newStream(ctx, upstream.NewEvents(io.NopCloser(strings.NewReader("data: "+done+"\n\n"))))
	s.event = e
	return s.all
}

// forwarded is a whole answer for a client of this API: in the upstream's bytes, unless they
// need repair.
func (x *exchange) forwarded(e *event, text []byte) (llm.Stream, error) {
	a := &native.Whole{Dialect: llm.Chat, Raw: text}
	a.Head = llm.Head{ID: e.ID, Model: e.Model, Created: e.Created, ServiceTier: e.ServiceTier}
	complete := e.complete()
	if !complete {
		c := x.completion(e)
		a.Head.ID, a.Head.Model, a.Head.Created = c.ID, c.Model, c.Created
		for i := range c.Choices {
			e.Choices[i].FinishReason = c.Choices[i].FinishReason
			if !c.Usage.Common().Counts() || c.Usage.CompletionTokens == 0 {
				a.Texts += c.Choices[i].Message.Texts()
			}
		}
		if c.Usage == nil { // clients rely on it
			c.Usage = new(chat.Usage)
		}
		var err error
		if a.Raw, err = chat.AppendCompletion(nil, c); err != nil {
			return nil, api.Internal(fmt.Errorf("encode answer: %w", err))
		}
	}
	a.Usage = e.Usage.Common()
	for i := range e.Choices {
		a.Endings = append(a.Endings, llm.Ending{Finish: llm.Finish(e.Choices[i].FinishReason)})
		a.Head.Images += int64(len(e.Choices[i].Delta.Images))
	}
	return a.Stream, nil
}

// complete says whether a whole answer has all members that clients rely on, of their types, and
// none that may need repair.
func (e *event) complete() bool {
	if e.altered || !e.has.all(hasEnvelope) || e.has.any(hasError) || e.Object != chat.ObjectCompletion || e.ID == "" || e.Model == "" ||
		e.Created <= 0 || len(e.Choices) == 0 || !isComplete(e.Usage) {
		return false
	}
	for i := range e.Choices {
		c := &e.Choices[i]
		d := &c.Delta
		if !c.has.all(hasIndex|hasDelta|hasReason) || c.FinishReason == "" || finishWords[c.FinishReason] != "" ||
			!d.has.all(hasRole|hasContent|hasRefusal) || d.has.any(hasReasoning|hasForeignReasoning|hasRepaired) ||
			d.Role != "assistant" || d.Content == nil || d.Refusal != nil || d.FunctionCall != nil {
			return false
		}
	}
	return true
}

// completion is a whole answer in the form of the API: what compatible servers leave out is
// filled in.
func (x *exchange) completion(e *event) *chat.Completion {
	head := x.head(e.ID, e.Model, e.Created)
	c := &chat.Completion{
		ID: head.ID, Object: chat.ObjectCompletion, Created: head.Created, Model: head.Model, Choices: make([]chat.Choice, len(e.Choices)),
		Usage: repairUsage(e.Usage), ServiceTier: e.ServiceTier, SystemFingerprint: e.SystemFingerprint, Extra: e.Extra,
	}
	if c.ID == "" {
		c.ID = llm.NewID("chatcmpl-")
	}
	for i := range e.Choices {
		from, to := &e.Choices[i], &c.Choices[i]
		d := &from.Delta
		*to = chat.Choice{Index: from.Index, Logprobs: from.Logprobs, Message: chat.Answer{
			Role: "assistant", Content: d.Content, Refusal: d.Refusal, ReasoningContent: d.ReasoningContent,
			ReasoningDetails: d.ReasoningDetails, FunctionCall: (*chat.FunctionCall)(d.FunctionCall), Images: d.Images, Extra: d.Extra,
		}}
		m := &to.Message
		for j := range d.ToolCalls {
			m.ToolCalls = append(m.ToolCalls, wholeCall(&d.ToolCalls[j]))
		}
		if m.Content == nil && !replacesText(m) {
			m.Content = new(string)
		}
		to.FinishReason, to.Extra = finishWord(from.FinishReason, from.Extra)
		if to.FinishReason == "" {
			to.FinishReason = inferred(len(m.ToolCalls))
		}
	}
	return c
}

// wholeCall is a tool call of a whole answer.
func wholeCall(from *eventCall) chat.ToolCall {
	c := chat.ToolCall{
		ID: from.ID, Type: cmp.Or(from.Type, "function"), Function: (*chat.FunctionCall)(from.Function), Custom: from.Custom,
		ExtraContent: from.ExtraContent, Extra: from.Extra,
	}
	if c.ID == "" { // Google's OpenAI endpoint, older builds
		c.ID = llm.NewID("call_")
	}
	if c.Function != nil && c.Function.Arguments == "" {
		c.Function.Arguments = "{}"
	}
	if from.Index != nil {
		c.Extra = addMember(c.Extra, []byte(`"index"`), wire.Number(*from.Index))
	}
	return c
}

// replacesText says whether a message has what OpenAI sends in place of a text: then its content may
// be null.
func replacesText(m *chat.Answer) bool {
	return len(m.ToolCalls) > 0 || m.FunctionCall != nil || m.Refusal != nil || llm.Given(jsonbytes.Member(m.Extra, "audio"))
}

func (x *exchange) head(id, model string, created int64) chat.Head {
	head := chat.Head{ID: id, Model: model, Created: created}
	if head.Model == "" {
		head.Model = x.call.Model.Upstream
	}
	if head.Created <= 0 {
		head.Created = x.api.now().Unix()
	}
	return head
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

// isComplete says whether clients get a usage as it came.
func isComplete(u *chat.Usage) bool {
	return u != nil && min(u.PromptTokens, u.CompletionTokens, u.TotalTokens) > 0 && !leavesOutReasoning(u) && !hidesTokens(u)
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

var errNoChoices = errors.New("the answer has no choices")
