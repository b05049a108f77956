package providertest

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/dialects/chat"
)

// Collect puts the chunks of a stream together into an answer, as a client
// does.
func Collect(stream iter.Seq2[*chat.Chunk, error]) (*chat.Completion, error) {
	answer := &chat.Completion{Object: chat.ObjectCompletion, Choices: []chat.Choice{}}
	var choices []*assembly
	for c, err := range stream {
		if err != nil {
			return nil, err
		}
		if c == nil {
			continue // a pause
		}
		answer.ID, answer.Created, answer.Model = c.ID, c.Created, c.Model
		answer.ServiceTier, answer.SystemFingerprint = c.ServiceTier, c.SystemFingerprint
		if len(c.Extra) > 0 {
			answer.Extra = slices.Clone(c.Extra)
		}
		if c.Usage != nil {
			usage := *c.Usage
			answer.Usage = &usage
		}
		for i := range c.Choices {
			choices = addChunk(choices, &c.Choices[i])
		}
	}
	slices.SortFunc(choices, func(a, b *assembly) int { return cmp.Compare(a.choice.Index, b.choice.Index) })
	for _, d := range choices {
		answer.Choices = append(answer.Choices, d.finish())
	}
	return answer, nil
}

// assembly is the state of a choice.
type assembly struct {
	choice                   chat.Choice
	text, refusal, reasoning strings.Builder
	arguments                []*strings.Builder
}

func addChunk(choices []*assembly, c *chat.ChunkChoice) []*assembly {
	at := slices.IndexFunc(choices, func(d *assembly) bool { return d.choice.Index == c.Index })
	if at < 0 {
		d := &assembly{choice: chat.Choice{Index: c.Index, Message: chat.Answer{Role: "assistant"}}}
		at, choices = len(choices), append(choices, d)
	}
	choices[at].add(c)
	return choices
}

func (d *assembly) add(c *chat.ChunkChoice) {
	m := &d.choice.Message
	if c.Delta.Content != nil {
		d.text.WriteString(*c.Delta.Content)
	}
	if c.Delta.Refusal != nil {
		d.refusal.WriteString(*c.Delta.Refusal)
	}
	d.reasoning.WriteString(c.Delta.ReasoningContent)
	for _, r := range c.Delta.ReasoningDetails {
		d.addReasoning(r)
	}
	for _, image := range c.Delta.Images {
		if string(image.Extra) == fmt.Sprintf(`{"index":%d}`, len(m.Images)) {
			image.Extra = nil
		}
		m.Images = append(m.Images, image)
	}
	for _, call := range c.Delta.ToolCalls {
		d.addCall(call)
	}
	if f := c.Delta.FunctionCall; f != nil {
		if m.FunctionCall == nil {
			m.FunctionCall = new(chat.FunctionCall)
		}
		m.FunctionCall.Name = cmp.Or(m.FunctionCall.Name, f.Name)
		m.FunctionCall.Arguments += f.Arguments
	}
	if len(c.Delta.Extra) > 0 {
		m.Extra = joinExtra(m.Extra, c.Delta.Extra)
	}
	if len(c.Logprobs) > 0 {
		d.choice.Logprobs = joined(d.choice.Logprobs, c.Logprobs)
	}
	if c.FinishReason != nil {
		d.choice.FinishReason, d.choice.Extra = *c.FinishReason, slices.Clone(c.Extra)
	}
}

func (d *assembly) addReasoning(r chat.ReasoningDetail) {
	details := d.choice.Message.ReasoningDetails
	at := slices.IndexFunc(details, func(have chat.ReasoningDetail) bool {
		return have.Index == r.Index && have.Type == r.Type
	})
	if at < 0 {
		d.choice.Message.ReasoningDetails = append(details, r)
		return
	}
	have := &details[at]
	have.Text += r.Text
	have.Signature = cmp.Or(r.Signature, have.Signature)
	have.Data = cmp.Or(r.Data, have.Data)
}

func (d *assembly) addCall(call chat.ToolCallDelta) {
	m := &d.choice.Message
	for len(m.ToolCalls) <= call.Index {
		m.ToolCalls = append(m.ToolCalls, chat.ToolCall{})
		d.arguments = append(d.arguments, new(strings.Builder))
	}
	have := &m.ToolCalls[call.Index]
	have.ID, have.Type = cmp.Or(have.ID, call.ID), cmp.Or(have.Type, call.Type)
	if len(call.Custom) > 0 {
		have.Custom = slices.Clone(call.Custom)
	}
	if call.ExtraContent != nil {
		have.ExtraContent = call.ExtraContent
	}
	if call.Function == nil {
		return
	}
	if have.Function == nil {
		have.Function = new(chat.FunctionCall)
	}
	have.Function.Name = cmp.Or(have.Function.Name, call.Function.Name)
	d.arguments[call.Index].WriteString(call.Function.Arguments)
}

func (d *assembly) finish() chat.Choice {
	m := &d.choice.Message
	if d.text.Len() > 0 || len(m.ToolCalls) == 0 && m.FunctionCall == nil && d.refusal.Len() == 0 {
		text := d.text.String()
		m.Content = &text
	}
	if d.refusal.Len() > 0 {
		refusal := d.refusal.String()
		m.Refusal = &refusal
	}
	m.ReasoningContent = d.reasoning.String()
	for i := range m.ToolCalls {
		if m.ToolCalls[i].Function != nil {
			m.ToolCalls[i].Function.Arguments = d.arguments[i].String()
		}
	}
	return d.choice
}

// joined appends the probabilities of a second fragment to those of the first.
func joined(a, b jsontext.Value) jsontext.Value {
	type logprobs struct {
		Content []jsontext.Value `json:"content"`
		Refusal []jsontext.Value `json:"refusal"`
	}
	var x, y logprobs
	if len(a) == 0 || json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return slices.Clone(b)
	}
	out, err := json.Marshal(logprobs{append(x.Content, y.Content...), append(x.Refusal, y.Refusal...)},
		json.FormatNilSliceAsNull(true))
	if err != nil {
		return slices.Clone(b)
	}
	return out
}
