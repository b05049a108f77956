package responses

import (
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
	strict  bool       // a tool shall be strict, in the client's own words
	tools   []toolAt   // the places of the tools, by their llm.At
	err     *api.Error
}

// Conversation is the prompt in the common form, for a provider that speaks another
// dialect. What only OpenAI's models know is left out, or an error where the request would
// mean something else without it.
func (r *Request) Conversation() (*llm.Conversation, error) {
	c := &r.conversation
	c.once.Do(func() {
		b := builder{request: r, made: &c.made, side: -1}
		c.err = b.build()
		c.ignored, c.strict, c.tools = b.ignored, b.strict, b.toolPlaces
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
	read    jsonbytes.Fields // of the object that was read last

	side  int // the message that items of its role join; -1 = none
	calls calls
	ids   roundtrip.IDs

	names      names
	toolIndex  map[string]int // in the conversation, by name
	toolPlaces []toolAt
	strict     bool

	hosted      map[string]bool // the types of tools that run at OpenAI
	hostedFirst string
	hostedAt    string

	omittedAt   place // of what was left out of the last item
	lastOmitted bool

	resultErr *api.Error // for the client's answer to a tool of OpenAI's, until the model has gone on from it
}

func (b *builder) build() *api.Error {
	r := b.request
	if err := r.checkOptions(); err != nil {
		return err
	}
	b.made.Messages = make([]llm.Message, 0, r.prompt.items+1)
	if err := b.addTools(-1, r.members[memberTools]); err != nil {
		return err
	}
	if err := b.instructions(); err != nil {
		return err
	}
	if err := b.input(); err != nil {
		return err
	}
	if err := b.unanswered(); err != nil {
		return err
	}
	if r.summary {
		b.summarize()
		return nil
	}
	format, err := r.format()
	if err != nil {
		return err
	}
	b.made.Format = format
	return b.choose()
}

// instructions adds the instructions in front of the conversation.
func (b *builder) instructions() *api.Error {
	value := b.request.members[memberInstructions]
	if !llm.Given(value) {
		return nil
	}
	if value.Kind() != jsontext.KindString {
		return invalid("instructions", "instructions must be a string")
	}
	if text := jsonbytes.Text(value); text != "" {
		at := llm.At{Item: instructionsItem, Part: -1}
		b.add(llm.RoleInstructions, llm.Block{Kind: llm.BlockText, Text: text, At: at})
	}
	return nil
}

// input adds the items of the request. It refuses a last item of which nothing is kept, and an
// answer to a tool of OpenAI's from which the model has not gone on.
func (b *builder) input() *api.Error {
	value := b.request.members[memberInput]
	switch value.Kind() {
	case jsontext.KindString:
		b.addText(llm.RoleUser, jsonbytes.Text(value), llm.At{Item: inputItem, Part: -1})
	case jsontext.KindBeginArray:
		i := 0
		for element := range jsonbytes.Elements(value) {
			if err := b.item(i, element); err != nil {
				return err
			}
			i++
		}
		if i > 0 && b.lastOmitted && b.omittedAt.item == i-1 {
			return unsupported(b.omittedAt.path()+".type", "nothing of the last item would be left without this: it needs a model of OpenAI")
		}
		if b.resultErr != nil {
			return b.resultErr
		}
	default:
		if llm.Given(value) {
			return invalid("input", "input must be a string or an array")
		}
	}
	if len(b.made.Messages) == 0 && b.request.endpoint != Count && !llm.Given(value) {
		return api.Missing("input")
	}
	return nil
}

// add adds a block to the message of its role that the conversation ends with. Instructions
// between two items of one role keep them apart, unless calls wait for their results: those
// must come right behind.
func (b *builder) add(role llm.Role, block llm.Block) {
	if role == llm.RoleInstructions {
		b.made.Messages = append(b.made.Messages, llm.Message{
			Role: role, InPlace: true, At: llm.Item(block.At.Item), Blocks: []llm.Block{block},
		})
		if b.calls.open == 0 {
			b.side = -1
		}
		return
	}
	if role == llm.RoleAssistant {
		b.resultErr = nil
	}
	if b.side < 0 || b.made.Messages[b.side].Role != role {
		b.side = len(b.made.Messages)
		b.made.Messages = append(b.made.Messages, llm.Message{Role: role, At: llm.Item(block.At.Item)})
	}
	m := &b.made.Messages[b.side]
	m.Blocks = append(m.Blocks, block)
}

// addText adds a text that is not empty: other providers refuse empty ones.
func (b *builder) addText(role llm.Role, text string, at llm.At) {
	if text != "" {
		b.add(role, llm.Block{Kind: llm.BlockText, Text: text, At: at})
	}
}
