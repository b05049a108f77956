package chat

import (
	"modelgateway/providers"
	"modelgateway/providers/openai/compose"
)

// composition is a request for chat completions that is written from the common form.
type composition struct {
	compose.Draft
	out request
}

// compose writes a request of another dialect.
func (a *API) compose(call providers.Call) (providers.Exchange, error) {
	conversation, err := call.Request.Source.Conversation()
	if err != nil {
		return nil, err
	}
	c := &composition{Draft: compose.Draft{Request: call.Request, Conversation: conversation, Model: call.Model, Server: &a.server}}
	for _, step := range []func() error{c.Check, c.composeTools, c.composeMessages} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	c.composeFormat()
	c.composeParams()
	body, err := c.out.encode()
	if err != nil {
		return nil, c.Unwritten(err)
	}
	body = c.adapted(body)
	return &exchange{
		api: a, call: call, body: [][]byte{body}, ignored: call.Request.Source.Ignored(c.Ignored),
		foreign: true, names: c.Names,
	}, nil
}
