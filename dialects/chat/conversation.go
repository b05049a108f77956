package chat

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/dialects/body"
	"modelgateway/llm"
)

// conversation is the prompt in the common form, made once.
type conversation struct {
	once    sync.Once
	made    llm.Conversation
	ignored body.Names // members of messages that it cannot hold
	unknown *api.Error // nil = it can be made
}

// Conversation is the prompt in the common form.
func (r *Request) Conversation() (*llm.Conversation, error) {
	c := &r.conversation
	c.once.Do(func() {
		if c.unknown = r.unknownValue(); c.unknown != nil {
			return
		}
		b := builder{blocks: make([]llm.Block, 0, len(r.Messages)+r.blocks())}
		c.made.Messages = make([]llm.Message, 0, len(r.Messages))
		for i := range r.Messages {
			b.begin(i)
			c.made.Messages = append(c.made.Messages, b.message(&r.Messages[i]))
		}
		r.tools(&c.made)
		r.format(&c.made)
		c.ignored = b.ignored
	})
	if c.unknown != nil {
		return nil, c.unknown
	}
	return &c.made, nil
}

// blocks is the number of blocks in addition to one for each message.
func (r *Request) blocks() (n int) {
	for i := range r.Messages {
		m := &r.Messages[i]
		n += len(m.Content.Parts) + len(m.ToolCalls) + len(m.Images) + len(m.ReasoningDetails)
	}
	return n
}

// builder makes the blocks of all messages, in one slice.
type builder struct {
	blocks  []llm.Block
	start   int // of the current message
	at      int // its index
	ignored body.Names
}

func (b *builder) begin(i int) { b.start, b.at = len(b.blocks), i }

func (b *builder) add(block llm.Block) { b.blocks = append(b.blocks, block) }

// made are the blocks of the current message.
func (b *builder) made() []llm.Block { return b.blocks[b.start:len(b.blocks):len(b.blocks)] }

func (b *builder) message(m *Message) llm.Message {
	b.ignore(m)
	out := llm.Message{At: llm.Item(b.at), Cache: llm.Present(m.CacheControl)}
	switch m.Role {
	case "system", "developer":
		out.Role = llm.RoleInstructions
		b.content(m)
	case "assistant":
		out.Role = llm.RoleAssistant
		b.assistant(m)
	case "tool", "function":
		b.result(m)
	default:
		b.content(m)
	}
	out.Blocks = b.made()
	return out
}

// content adds a message's content. A cache mark of the whole message stands on
// its last part.
func (b *builder) content(m *Message) {
	before := len(b.blocks)
	b.parts(&m.Content)
	if n := len(b.blocks); n > before && len(b.blocks[n-1].Cache) == 0 {
		b.blocks[n-1].Cache = llm.Present(m.CacheControl)
	}
}

// parts adds the parts that are not empty: OpenAI accepts empty texts, the other
// providers refuse them.
func (b *builder) parts(c *Content) {
	if c.Parts == nil {
		if text := c.Text(); text != "" {
			b.add(llm.Block{Kind: llm.BlockText, Text: text, At: llm.Item(b.at)})
		}
		return
	}
	for i := range c.Parts {
		p := &c.Parts[i]
		block := llm.Block{Cache: llm.Present(p.CacheControl), At: llm.At{Item: b.at, Part: i}}
		switch p.Type {
		case "text", "refusal":
			block.Text = p.Text
			if p.Type == "refusal" {
				block.Kind, block.Text, block.Cache = llm.BlockRefusal, p.Refusal, nil // only texts and media have cache marks
			}
			if block.Text == "" {
				continue
			}
		default:
			block.Kind, block.Media = llm.BlockMedia, p.media()
		}
		b.add(block)
	}
}

func (p *ContentPart) media() *llm.Media {
	switch p.Type {
	case "image_url":
		return &llm.Media{Kind: llm.Image, URL: p.ImageURL.URL, Detail: p.ImageURL.Detail}
	case "input_audio":
		return &llm.Media{Kind: llm.Audio, Data: p.InputAudio.Data, Format: p.InputAudio.Format}
	default:
		return &llm.Media{Kind: llm.File, URL: p.File.FileData, Name: p.File.Filename, FileID: p.File.FileID}
	}
}

func (b *builder) assistant(m *Message) {
	calls := m.calls()
	carried := make([][]ReasoningDetail, len(calls))
	ids := make([]string, len(calls))
	for i := range calls {
		ids[i], carried[i] = UnpackID(calls[i].ID)
	}
	for _, d := range thoughts(m, carried) {
		b.add(llm.Block{Kind: llm.BlockThought, Thought: d.Common(), At: llm.Item(b.at)})
	}
	before := len(b.blocks)
	b.content(m)
	spoke := len(b.blocks) > before
	if m.Refusal != "" {
		b.add(llm.Block{Kind: llm.BlockRefusal, Text: m.Refusal, At: llm.Item(b.at)})
	}
	for i := range m.Images {
		b.add(llm.Block{
			Kind: llm.BlockMedia, At: llm.At{Item: b.at, Part: i},
			Media: &llm.Media{Kind: llm.Image, URL: m.Images[i].ImageURL.URL, Detail: m.Images[i].ImageURL.Detail, Made: true},
		})
	}
	for i := range calls {
		block := llm.Block{Kind: llm.BlockCall, Call: calls[i].call(ids[i], carried[i]), At: llm.At{Item: b.at, Part: i}}
		if i == len(calls)-1 && !spoke {
			block.Cache = llm.Present(m.CacheControl)
		}
		b.add(block)
	}
}

// calls are the tool calls of a message, the deprecated one included. That has
// no id, so the name of its function is used instead.
func (m *Message) calls() []ToolCall {
	if m.FunctionCall == nil {
		return m.ToolCalls
	}
	return append(slices.Clone(m.ToolCalls), ToolCall{ID: legacyID(m.FunctionCall.Name), Function: m.FunctionCall})
}

// legacyID is the id of a call of a deprecated function.
func legacyID(function string) string { return "call_" + function }

func (c *ToolCall) call(id string, carried []ReasoningDetail) *llm.Call {
	out := &llm.Call{ID: id, ClientID: c.ID}
	if c.Function == nil {
		var custom CustomCall
		_ = json.Unmarshal(c.Custom, &custom, api.Lenient) // of another form it stays empty, as OpenAI would refuse it
		out.Kind, out.Name, out.Input = llm.ToolCustom, custom.Name, custom.Input
		return out
	}
	out.Name, out.Arguments = c.Function.Name, api.Arguments(c.Function.Arguments)
	if c.ExtraContent != nil && c.ExtraContent.Google != nil && c.ExtraContent.Google.ThoughtSignature != "" {
		out.Signature = c.ExtraContent.Google.ThoughtSignature
		return out
	}
	for _, d := range carried {
		if d.Format.SignsCalls() {
			out.Signature = d.Data
			break
		}
	}
	return out
}

func (b *builder) result(m *Message) {
	result := &llm.Result{ClientID: m.ToolCallID}
	if m.Role == "function" {
		result.ClientID, result.Name = "", m.Name
	}
	result.ID, _ = UnpackID(result.ClientID)
	b.parts(&m.Content)
	result.Content = slices.Clone(b.made())
	b.blocks = b.blocks[:b.start]
	b.add(llm.Block{Kind: llm.BlockResult, Result: result, Cache: llm.Present(m.CacheControl), At: llm.Item(b.at)})
}

// thoughts are the reasoning that a message brings back: in its own field where
// a provider can use it, or else inside the ids of its tool calls. Clients that
// put a stream together do not all do it well, while ids come back untouched.
func thoughts(m *Message, carried [][]ReasoningDetail) []ReasoningDetail {
	if whole := together(m.ReasoningDetails); slices.ContainsFunc(whole, usable) {
		return whole
	}
	var all []ReasoningDetail
	for _, details := range carried {
		for _, d := range details {
			if !d.Format.SignsCalls() { // that one belongs to the call itself
				all = append(all, d)
			}
		}
	}
	return all
}

// together joins fragments of blocks that a client collected from a stream.
// Complete blocks have different indices.
func together(details []ReasoningDetail) []ReasoningDetail {
	type block struct {
		kind  string
		index int
	}
	var whole []ReasoningDetail
	var texts [][]string // of each block: joined once, since every addition would copy all before it
	known := map[block]int{}
	for _, d := range details {
		at, ok := known[block{d.Type, d.Index}]
		// A second signature, or data, is a block of its own, despite an equal index.
		if !ok || whole[at].Signature != "" || whole[at].Data != "" {
			known[block{d.Type, d.Index}] = len(whole)
			whole, texts = append(whole, d), append(texts, []string{d.Text + d.Summary})
			continue
		}
		have := &whole[at]
		texts[at] = append(texts[at], d.Text+d.Summary)
		have.Signature = cmp.Or(have.Signature, d.Signature)
		have.Data = cmp.Or(have.Data, d.Data)
		have.Format = cmp.Or(have.Format, d.Format)
		have.ID = cmp.Or(have.ID, d.ID)
	}
	for i, fragments := range texts {
		switch d := &whole[i]; {
		case len(fragments) == 1:
		case d.Type == reasoningSummary:
			d.Text, d.Summary = "", strings.Join(fragments, "")
		default:
			d.Text = strings.Join(fragments, "")
		}
	}
	return whole
}

// usable says whether a provider accepts a block in the history.
func usable(d ReasoningDetail) bool {
	return d.Format.Public() != "" && (d.Signature != "" || d.Data != "")
}

// ignore records the members of a message that the common form cannot hold.
func (b *builder) ignore(m *Message) {
	if m.Name != "" && m.Role != "function" && m.Role != "tool" { // a result's function is known from its call
		b.ignored.Put("messages[].name")
	}
	if !saysNothing(m.Audio) {
		b.ignored.Put("messages[].audio")
	}
}

// saysNothing says whether a member is null or empty: SDKs send such in the history.
func saysNothing(v jsontext.Value) bool {
	switch string(v) {
	case "", "null", "[]", "{}", `""`:
		return true
	}
	return false
}
