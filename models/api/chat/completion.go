package chat

import (
	"fmt"
	"strings"

	"modelgateway/models/llm"
)

// AppendAnswer adds the JSON of a whole answer to dst.
func AppendAnswer(dst []byte, req *llm.Request, a *llm.Answer) ([]byte, error) {
	if a.RawDialect == llm.Chat {
		return append(dst, a.Raw...), nil
	}
	dst, err := AppendCompletion(dst, completion(a, req.SingleCall))
	if err != nil {
		return dst, fmt.Errorf("encode answer: %w", err)
	}
	return dst, nil
}

// completion is an answer in the form of the API. Clients rely on its usage,
// so one without counts has zeros.
func completion(a *llm.Answer, legacy bool) *Completion {
	c := &Completion{
		ID: a.ID, Object: ObjectCompletion, Created: a.Created, Model: a.Model,
		Choices: make([]Choice, len(a.Choices)), Usage: new(Usage), ServiceTier: a.ServiceTier, SystemFingerprint: a.Fingerprint,
	}
	if c.ID == "" {
		c.ID = llm.NewID("chatcmpl-")
	}
	if a.Usage != nil {
		c.Usage = usage(a.Usage)
	}
	for i := range a.Choices {
		c.Choices[i] = choice(&a.Choices[i], legacy)
	}
	return c
}

func choice(c *llm.AnswerChoice, legacy bool) Choice {
	m := message{legacy: legacy, Answer: Answer{Role: "assistant"}}
	for i := range c.Blocks {
		m.add(&c.Blocks[i])
	}
	return Choice{Index: c.Index, Message: m.finish(), Logprobs: c.Logprobs, FinishReason: finishReason(c.Finish, legacy)}
}

// message is the message of a choice while it is collected.
type message struct {
	Answer
	legacy                   bool
	text, refusal, reasoning strings.Builder
	signed                   []ReasoningDetail // to be returned to the provider with the next tool call
}

func (m *message) add(b *llm.Block) {
	switch b.Kind {
	case llm.BlockText:
		m.text.WriteString(b.Text)
	case llm.BlockRefusal:
		m.refusal.WriteString(b.Text)
	case llm.BlockMedia:
		m.Images = append(m.Images, image(b.Media))
	case llm.BlockThought:
		m.reasoning.WriteString(b.Text)
		if b.Thought == nil {
			return
		}
		d := detail(b.Thought)
		m.ReasoningDetails = append(m.ReasoningDetails, d)
		if b.Thought.WithCalls {
			m.signed = append(m.signed, d)
		}
	case llm.BlockCall:
		m.call(b)
	}
}

func (m *message) call(b *llm.Block) {
	c := b.Call
	if m.legacy && m.FunctionCall != nil {
		return // the deprecated form holds one call
	}
	packed := m.signed
	if b.Thought != nil {
		packed = ownDetail(b.Thought)
		d := detail(b.Thought)
		d.ID = c.ID
		if m.legacy {
			d.ID = legacyID(c.Name)
		}
		m.ReasoningDetails = append(m.ReasoningDetails, d)
	} else {
		m.signed = nil
	}
	if m.legacy {
		m.FunctionCall = &FunctionCall{Name: c.Name, Arguments: c.Input}
		return
	}
	call := toolCall(c.ID, c.Name, c.Input, c.Signature, packed)
	call.Type = "function"
	m.ToolCalls = append(m.ToolCalls, call)
}

func (m *message) finish() Answer {
	if m.text.Len() > 0 || len(m.ToolCalls) == 0 && m.FunctionCall == nil && m.refusal.Len() == 0 {
		text := m.text.String()
		m.Content = &text
	}
	if m.refusal.Len() > 0 {
		refusal := m.refusal.String()
		m.Refusal = &refusal
	}
	m.ReasoningContent = m.reasoning.String()
	return m.Answer
}

func toolCall(id, name, arguments, signature string, packed []ReasoningDetail) ToolCall {
	call := ToolCall{ID: PackID(id, packed), Function: &FunctionCall{Name: name, Arguments: arguments}}
	if signature != "" {
		call.ExtraContent = &ExtraContent{Google: &GoogleExtra{ThoughtSignature: signature}}
	}
	return call
}

// ownDetail is a call's own thought inside its id, where it needs no place.
func ownDetail(t *llm.Thought) []ReasoningDetail {
	d := detail(t)
	d.ID, d.Index = "", 0
	return []ReasoningDetail{d}
}

func image(m *llm.Media) Image { return Image{Type: "image_url", ImageURL: ImageURL{URL: m.URL}} }

func finishReason(f llm.Finish, legacy bool) string {
	if legacy && f == llm.FinishToolCalls {
		return finishFunctionCall
	}
	return string(f)
}

// usage counts as the API does.
func usage(u *llm.Usage) *Usage {
	if u == nil {
		return nil
	}
	out := &Usage{PromptTokens: u.Input, CompletionTokens: u.Output, TotalTokens: u.Total}
	if u.HasCache {
		out.PromptTokensDetails = &PromptDetails{CachedTokens: u.Cached, CacheWriteTokens: u.CacheWrite}
	}
	if u.HasReasoning {
		out.CompletionTokensDetails = &CompletionDetails{ReasoningTokens: u.Reasoning}
	}
	return out
}

// Common is the usage in the common form.
func (u *Usage) Common() *llm.Usage {
	if u == nil {
		return nil
	}
	out := &llm.Usage{Input: u.PromptTokens, Output: u.CompletionTokens, Total: u.TotalTokens}
	if d := u.PromptTokensDetails; d != nil {
		out.HasCache, out.Cached, out.CacheWrite = true, d.CachedTokens, d.CacheWriteTokens
	}
	if d := u.CompletionTokensDetails; d != nil {
		out.HasReasoning, out.Reasoning = true, d.ReasoningTokens
	}
	return out
}
