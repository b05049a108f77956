package openaitest

import (
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/llm"
)

// Conversation is a source of what no chat request can say.
type Conversation struct {
	llm.Source
	Said llm.Conversation
}

// Dialect is none that OpenAI has.
func (c *Conversation) Dialect() llm.Dialect { return "foreign" }

// Conversation is what is said.
func (c *Conversation) Conversation() (*llm.Conversation, error) { return &c.Said, nil }

// Text is a block of text.
func Text(s string) llm.Block { return llm.Block{Kind: llm.BlockText, Text: s} }

// Called is a call of a tool.
func Called(id, name string) llm.Block {
	return llm.Block{Kind: llm.BlockCall, Call: &llm.Call{ID: id, ClientID: id, Name: name, Arguments: jsontext.Value(`{}`)}}
}

// Media is a block with a medium.
func Media(m llm.Media) llm.Block { return llm.Block{Kind: llm.BlockMedia, Media: &m} }

// Result is the result of a call.
func Result(id string, failed bool, content ...llm.Block) llm.Block {
	return llm.Block{Kind: llm.BlockResult, Result: &llm.Result{ID: id, ClientID: id, IsError: failed, Content: content}}
}

// Asking is a conversation of one message of the user.
func Asking(blocks ...llm.Block) llm.Conversation {
	return llm.Conversation{Messages: []llm.Message{{Blocks: blocks}}}
}
