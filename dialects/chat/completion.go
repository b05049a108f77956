package chat

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/llm"
)

// AppendAnswer adds the JSON of a whole answer to dst.
func AppendAnswer(dst []byte, req *llm.Request, a *llm.Answer) ([]byte, error) {
	if a.RawDialect == llm.Chat {
		return append(dst, a.Raw...), nil
	}
	if a.RawDialect != "" {
		return dst, foreign(a.RawDialect)
	}
	c, err := completion(a, req.SingleCall)
	if err == nil {
		dst, err = AppendCompletion(dst, c)
	}
	if err != nil {
		return dst, fmt.Errorf("encode answer: %w", err)
	}
	return dst, nil
}

// foreign is the error for the bytes of another dialect: written as they are, or
// without what they say, they would be a wrong answer.
func foreign(d llm.Dialect) error {
	return fmt.Errorf("the provider answers a request of the dialect %s with bytes of the dialect %s", llm.Chat, d)
}

// completion is an answer in the form of the API. Clients rely on its usage,
// so one without counts has zeros.
func completion(a *llm.Answer, legacy bool) (*Completion, error) {
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
		m := message{legacy: legacy, created: a.Created, Answer: Answer{Role: "assistant"}}
		if err := m.fill(&a.Choices[i]); err != nil {
			return nil, err
		}
		from := &a.Choices[i]
		c.Choices[i] = Choice{
			Index: from.Index, Message: m.Answer, Logprobs: from.Logprobs,
			FinishReason: finishReason(from.Finish, legacy), Extra: endingMembers(&from.Ending),
		}
	}
	return c, nil
}

// message is the message of a choice while it is collected.
type message struct {
	Answer
	legacy                   bool
	created                  int64
	text, refusal, reasoning strings.Builder
	signed                   []ReasoningDetail // to be returned to the provider with the next tool call
	sound                    soundCollector
	files                    []madeFile
}

// fill makes the message of a choice.
func (m *message) fill(c *llm.AnswerChoice) error {
	for i := range c.Blocks {
		m.add(&c.Blocks[i])
	}
	return m.finish(c.Citations)
}

func (m *message) add(b *llm.Block) {
	switch b.Kind {
	case llm.BlockText:
		m.text.WriteString(b.Text)
	case llm.BlockRefusal:
		m.refusal.WriteString(b.Text)
	case llm.BlockMedia:
		m.media(b.Media)
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

func (m *message) media(made *llm.Media) {
	switch {
	case made.Kind == llm.Image:
		m.Images = append(m.Images, image(made))
	case made.Kind == llm.Audio && (m.sound.sound == nil || m.sound.sound.Format == made.Format):
		m.sound.add(made, m.created)
	default:
		m.files = append(m.files, newMadeFile(made))
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
	m.ToolCalls = append(m.ToolCalls, toolCall(c, packed))
}

func (m *message) finish(citations []llm.Citation) error {
	if m.text.Len() > 0 || len(m.ToolCalls) == 0 && m.FunctionCall == nil && m.refusal.Len() == 0 {
		text := m.text.String()
		m.Content = &text
	}
	if m.refusal.Len() > 0 {
		refusal := m.refusal.String()
		m.Refusal = &refusal
	}
	m.ReasoningContent = m.reasoning.String()
	return m.addExtra(citations)
}

// addExtra adds what has no member of its own in an Answer.
func (m *message) addExtra(citations []llm.Citation) (err error) {
	var extra []byte
	if len(citations) > 0 {
		extra, err = appendJSON(extra, "annotations", annotations(citations, nil))
	}
	if sound := m.sound.whole(); sound != nil && err == nil {
		extra, err = appendJSON(extra, "audio", sound)
	}
	if len(m.files) > 0 && err == nil {
		extra, err = appendJSON(extra, "files", m.files)
	}
	if len(extra) > 0 {
		m.Extra = append(extra, '}')
	}
	return err
}

// toolCall is a call of an answer; packed travels inside its id.
func toolCall(c *llm.Call, packed []ReasoningDetail) ToolCall {
	call := ToolCall{ID: PackID(c.ID, packed), Type: "function"}
	if c.Kind == llm.ToolCustom {
		call.Type, call.Custom = "custom", custom(c.Name, c.Input)
	} else {
		call.Function = &FunctionCall{Name: c.Name, Arguments: c.Input}
	}
	if c.Signature != "" {
		call.ExtraContent = &ExtraContent{Google: &GoogleExtra{ThoughtSignature: c.Signature}}
	}
	return call
}

// CustomCall is a call of a custom tool, or a fragment of one.
type CustomCall struct {
	Name  string `json:"name,omitempty"`
	Input string `json:"input"`
}

func custom(name, input string) jsontext.Value {
	text, err := json.Marshal(CustomCall{name, input}, api.Lenient)
	if err != nil {
		return nil // two strings are always written
	}
	return text
}

// ownDetail is a call's own thought inside its id, where it needs no place.
func ownDetail(t *llm.Thought) []ReasoningDetail {
	d := detail(t)
	d.ID, d.Index = "", 0
	return []ReasoningDetail{d}
}

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
