package chat

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/dialects/chat"
	"modelgateway/internal/jsonbytes"
	"modelgateway/providers"
	"modelgateway/providers/openai/compose"
	"modelgateway/providers/openai/wire"
)

// gatewayMembers are the gateway's extensions, which only other providers
// support.
var gatewayMembers = []string{reasoningContent, "reasoning_details", "cache_control", "extra_content", "images"}

const reasoningContent = "reasoning_content"

// history is how the messages and the tools of a request are written for a server.
type history struct {
	drop       []string // members
	callIDs    int      // their length; 0: any
	reasoning  string   // the server's name of reasoning_content; empty: it is dropped
	systemRole bool     // in place of developer
}

// historyOf is the form of a server. It drops the extensions that the server does not
// take.
func historyOf(server *providers.Server) history {
	h := history{
		drop: gatewayMembers, callIDs: server.CallIDs, reasoning: server.Reasoning, systemRole: server.SystemRole,
	}
	if len(server.Takes) > 0 {
		h.drop = slices.DeleteFunc(slices.Clone(h.drop), func(name string) bool { return slices.Contains(server.Takes, name) })
	}
	if slices.Contains(server.Lacks, providers.LacksName) {
		h.drop = append(slices.Clone(h.drop), "name")
	}
	return h
}

// array removes members from messages, from their parts and calls, and from tools,
// and restores the calls' own ids. The rest keeps its bytes.
func (h history) array(array jsontext.Value) jsontext.Value {
	return h.appendArray(make([]byte, 0, len(array)), array)
}

func (h history) appendArray(dst []byte, array jsontext.Value) []byte {
	dst = append(dst, '[')
	first := true
	for element := range jsonbytes.Elements(array) {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		if element.Kind() == jsontext.KindBeginObject {
			dst = h.appendObject(dst, element)
		} else {
			dst = append(dst, element...)
		}
	}
	return append(dst, ']')
}

func (h history) appendObject(dst []byte, object jsontext.Value) []byte {
	dst = append(dst, '{')
	first := true
	for literal, value := range jsonbytes.Members(object) {
		name := string(literal.Text())
		if name == reasoningContent && h.reasoning != "" {
			literal = jsonbytes.Name(`"` + h.reasoning + `"`)
		} else if slices.Contains(h.drop, name) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = h.appendMember(append(append(dst, literal...), ':'), name, value)
	}
	return append(dst, '}')
}

func (h history) appendMember(dst []byte, name string, value jsontext.Value) []byte {
	switch {
	case h.systemRole && name == "role" && jsonbytes.Text(value) == "developer":
		return append(dst, `"system"`...)
	case (name == "id" || name == "tool_call_id") && value.Kind() == jsontext.KindString &&
		(h.callIDs > 0 || len(value) > compose.LongestID+len(`""`) || chat.HasPackedID(value)):
		id, _ := chat.UnpackID(jsonbytes.Text(value))
		return append(dst, wire.Quote(h.callID(id))...)
	case (name == "tool_calls" || name == "content") && value.Kind() == jsontext.KindBeginArray:
		return h.appendArray(dst, value)
	default:
		return append(dst, value...)
	}
}

// callID is an id in the form that the server takes, the same for the same id.
func (h history) callID(id string) string {
	other := func(r rune) bool { return r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a' || r > 'z' }
	if h.callIDs == 0 || len(id) == h.callIDs && !strings.ContainsFunc(id, other) {
		return compose.ShortID(id)
	}
	return compose.Hash(id)[:h.callIDs]
}
