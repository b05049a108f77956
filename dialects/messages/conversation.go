package messages

import (
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/dialects/body"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
	"modelgateway/llm/roundtrip"
)

// conversation is the prompt in the common form, made once.
type conversation struct {
	once    sync.Once
	made    llm.Conversation
	ignored body.Names // members that it cannot hold
	err     *api.Error
}

// Conversation is the prompt in the common form, for a provider that speaks another
// dialect. What only Anthropic's models know is left out, or an error where the request
// would mean something else without it.
func (r *Request) Conversation() (*llm.Conversation, error) {
	c := &r.conversation
	c.once.Do(func() {
		b := builder{request: r, made: &c.made}
		c.err = b.build()
		c.ignored = b.ignored
	})
	if c.err != nil {
		return nil, c.err
	}
	return &c.made, nil
}

// builder makes the conversation of a request.
type builder struct {
	request *Request
	made    *llm.Conversation
	ignored body.Names

	blocks []llm.Block // of all messages, in one slice
	ids    roundtrip.IDs
	turn   turn

	hosted, hostedAt string // the type and the place of the first tool that runs at Anthropic
	hostedNames      []string

	object jsontext.Value // that was read last, and its members
	read   jsonbytes.Fields

	unknownAt place // the first block that was left out of the current message
	left      bool  // there is one
}

func (b *builder) build() *api.Error {
	if err := b.request.checkOptions(); err != nil {
		return err
	}
	format, err := b.request.format()
	if err != nil {
		return err
	}
	b.made.Format = format
	if err := b.tools(); err != nil {
		return err
	}
	b.blocks = make([]llm.Block, 0, b.request.blocks)
	b.made.Messages = make([]llm.Message, 0, b.request.size.Messages+1)
	if err := b.system(); err != nil {
		return err
	}
	return b.messages()
}

// billingLine begins the first block of Claude Code's instructions. It changes with every
// request, so that no prompt cache would ever find the prompt.
const billingLine = "x-anthropic-billing-header:"

// system adds the instructions in front of the conversation.
func (b *builder) system() *api.Error {
	value := b.request.members[memberSystem]
	if !llm.Given(value) {
		return nil
	}
	start := len(b.blocks)
	switch value.Kind() {
	case jsontext.KindString:
		text := jsonbytes.Text(value)
		if strings.HasPrefix(text, billingLine) {
			_, text, _ = strings.Cut(text, "\n")
		}
		b.text(text, llm.At{Item: systemItem, Part: -1})
	case jsontext.KindBeginArray:
		i := 0
		for element := range jsonbytes.Elements(value) {
			at := place{item: systemItem, part: i, inner: -1}
			if err := b.instruction(at, element, i == 0); err != nil {
				return err
			}
			i++
		}
	default:
		return invalid("system", "Input should be a valid string or list")
	}
	b.message(llm.Message{Role: llm.RoleInstructions, At: llm.Item(systemItem)}, start)
	return nil
}

func (b *builder) instruction(at place, value jsontext.Value, first bool) *api.Error {
	if value.Kind() != jsontext.KindBeginObject {
		return invalid(at.path(), "Input should be a valid dictionary")
	}
	block := b.fields(value)
	if block.Text("type") != "text" {
		return invalid(at.path()+".type", "Input should be 'text'")
	}
	if first && strings.HasPrefix(block.Text("text"), billingLine) {
		return nil
	}
	return b.textBlock(at, block)
}

// message adds a message of the blocks from start on, if there are any. Messages of one
// role in a row are one message, as they are for Anthropic.
func (b *builder) message(m llm.Message, start int) {
	if len(b.blocks) == start {
		return
	}
	m.Blocks = b.blocks[start:len(b.blocks):len(b.blocks)]
	if n := len(b.made.Messages); n > 0 && m.Role != llm.RoleInstructions && b.made.Messages[n-1].Role == m.Role {
		last := &b.made.Messages[n-1]
		last.Blocks = append(last.Blocks, m.Blocks...)
		return
	}
	b.made.Messages = append(b.made.Messages, m)
}

func (b *builder) messages() *api.Error {
	value := b.request.members[memberMessages]
	switch {
	case value.Kind() == jsontext.KindBeginArray:
	case llm.Given(value):
		return invalid("messages", "Input should be a valid list")
	default:
		return missing("messages")
	}
	i := 0
	for element := range jsonbytes.Elements(value) {
		if err := b.addMessage(i, element); err != nil {
			return err
		}
		i++
	}
	if i == 0 {
		return invalid("messages", "at least one message is required")
	}
	if n := len(b.blocks); b.left && (n == 0 || b.blocks[n-1].At.Item != b.unknownAt.item) {
		return unsupported(b.unknownAt.path()+".type", "nothing of the last message would be left without this block: "+
			"it needs an Anthropic model")
	}
	return b.turn.end()
}

var roles = []string{"user", "assistant", "system"}

// addMessage adds one message of the client's list.
func (b *builder) addMessage(i int, value jsontext.Value) *api.Error {
	at := place{item: i, part: -1, inner: -1}
	if value.Kind() != jsontext.KindBeginObject {
		return invalid(at.message(), "Input should be a valid dictionary")
	}
	var role string
	var content jsontext.Value
	for name, value := range jsonbytes.Members(value) {
		switch string(name.Text()) {
		case "role":
			role = jsonbytes.Text(value)
		case "content":
			content = value
		case "output_config": // its effort has been read
		default:
			b.ignored.Add("messages[].", name.Text(), value)
		}
	}
	left, unknownAt := b.left, b.unknownAt
	b.left = false
	m := llm.Message{At: llm.Item(i)}
	switch role {
	case "user":
	case "assistant":
		m.Role = llm.RoleAssistant
	case "system":
		m.Role, m.InPlace = llm.RoleInstructions, true
	default:
		return notOneOf(at.message()+".role", roles)
	}
	if m.Role != llm.RoleInstructions {
		if err := b.turn.begin(m.Role, i); err != nil {
			return err
		}
		return b.content(m, content)
	}
	err := b.content(m, content)
	b.left, b.unknownAt = left, unknownAt // the model answers the turn before, not a message that may only add a tool
	return err
}

// content adds a message with its content.
func (b *builder) content(m llm.Message, value jsontext.Value) *api.Error {
	at := place{item: m.At.Item, part: -1, inner: -1}
	start := len(b.blocks)
	switch value.Kind() {
	case jsontext.KindString:
		b.text(jsonbytes.Text(value), m.At)
		b.turn.spoke(m.Role)
	case jsontext.KindBeginArray:
		j := -1
		for element := range jsonbytes.Elements(value) {
			j++
			at.part = j
			if element.Kind() != jsontext.KindBeginObject {
				return invalid(at.path(), "Input should be a valid dictionary")
			}
			block := b.fields(element)
			kind := block.Text("type")
			if m.Role == llm.RoleAssistant && strings.HasPrefix(kind, "compaction") { // its text stands for all before it
				b.message(m, start)
				start = len(b.blocks)
				b.text(block.Text("content"), at.at())
				b.message(llm.Message{At: m.At}, start)
				start = len(b.blocks)
				continue
			}
			if err := b.block(m.Role, at, kind, block); err != nil {
				return err
			}
		}
	default:
		if llm.Given(value) {
			return invalid(at.path(), "Input should be a valid string or list")
		}
		return missing(at.path())
	}
	b.message(m, start)
	return nil
}

// text adds a text that is not empty: other providers refuse empty ones.
func (b *builder) text(text string, at llm.At) {
	if text != "" {
		b.blocks = append(b.blocks, llm.Block{Kind: llm.BlockText, Text: text, At: at})
	}
}

// loseIf notes a member that the conversation cannot hold.
func (b *builder) loseIf(lost bool, name string) {
	if lost {
		b.ignored.Put(name)
	}
}
