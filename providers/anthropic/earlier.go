package anthropic

import (
	"bytes"
	"strings"

	"modelgateway/api"
	"modelgateway/config"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
	"modelgateway/providers"
)

// earlier are the earlier answers that a request names, in the upstream's ids as JSON.
type earlier struct {
	thread   []byte // whose thread the request goes on in; nil = as the client names it
	compared []byte // whose prompt the request is compared with; nil likewise
}

// unknownMessage replaces a name in diagnostics that this client was not given. No message has
// this id: Anthropic answers the request, and says in it that the earlier one was not found.
const unknownMessage = `"msg_011111111111111111111111"`

// earlier finds the ids of the answers that a request names. A client may name only those
// that it was given, unless all objects are allowed: all clients of an upstream key share its
// account.
func (p *Provider) earlier(call providers.Call) (e earlier, err error) {
	named := call.Request.Earlier
	if p.objects == config.ObjectsNone {
		switch {
		case named.Threads:
			return e, api.ThreadUnsupported("this gateway lets no provider keep a conversation (PROVIDER_OBJECTS)")
		case named.Compared != "":
			return e, notAllowed("diagnostics.previous_message_id")
		}
	}
	bound := p.objects != config.ObjectsAllow
	e.thread, e.compared = idAt(call, call.Request.Kept), idAt(call, call.Request.Compared)
	if bound && e.thread == nil && named.Previous != "" {
		return e, api.ThreadNotFound()
	}
	if bound && e.compared == nil && named.Compared != "" {
		e.compared = []byte(unknownMessage)
	}
	return e, nil
}

// idAt is the id of an answer that the call's provider keeps, as JSON; else nil.
func idAt(call providers.Call, kept *llm.Kept) []byte {
	if kept == nil || kept.Provider != call.Model.Provider {
		return nil
	}
	return quote(kept.ID)
}

// previousMessage replaces the name of an earlier answer in a member by an id.
func (e *editor) previousMessage(member jsonbytes.Span, id []byte) {
	for name, value := range jsonbytes.MembersAt(e.Text, member.From) {
		if name.Is("previous_message_id") {
			e.Replace(value, id)
		}
	}
}

// named is the answer with the name by which its client may name it, and that name.
func (n *nativeExchange) named(id, key string) (name string) {
	if !n.names || !isID(id) {
		return id
	}
	return n.request.Handle(n.name, key, id)
}

// isID says whether a text is the id of an answer, which can be replaced wherever it stands.
func isID(text string) bool {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
	return strings.HasPrefix(text, "msg_") && strings.Trim(text, letters) == ""
}

// renamed is a text with a name in the place of an id.
func renamed(text []byte, id, name string) []byte {
	if id == name {
		return text
	}
	return bytes.ReplaceAll(text, quote(id), quote(name))
}
