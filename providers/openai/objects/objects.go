// Package objects refuses requests that name objects which OpenAI keeps for all clients of the
// gateway's account.
package objects

import (
	"bytes"
	"fmt"
	"strings"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/config"
	"modelgateway/internal/jsonbytes"
)

// RefuseInResponses refuses a request of the Responses API that names an object which OpenAI
// keeps and the policy does not allow: a file, a vector store, a skill, a conversation, a
// prompt and, with ObjectsNone, also a container or an item of an earlier answer.
func RefuseInResponses(raw []byte, policy string) error {
	if policy == config.ObjectsAllow {
		return nil
	}
	o := objects{raw: raw, none: policy == config.ObjectsNone}
	return o.refuse(o.body)
}

// RefuseInChat is RefuseInResponses for chat completions: they name files, and with
// ObjectsNone also sounds of earlier answers; and they have OpenAI keep the answer.
func RefuseInChat(raw []byte, policy string) error {
	o := objects{raw: raw, none: policy == config.ObjectsNone}
	escaped := bytes.Contains(raw, []byte(`\u00`)) // a name may be written with escapes
	if policy == config.ObjectsAllow || !o.none && !escaped && !bytes.Contains(raw, []byte("file_id")) {
		return nil
	}
	return o.refuse(o.chat)
}

func (o *objects) refuse(finds func() bool) error {
	switch {
	case !finds():
		return nil
	case o.path == "store":
		return api.Invalid(api.CodeUnsupportedValue, o.path, "store has %s keep the answer, where all clients of this gateway share one "+
			"account: leave it out, or let an operator of the gateway allow it with PROVIDER_OBJECTS", catalog.OpenAI)
	}
	return api.Invalid(api.CodeUnsupportedValue, o.path, "%s names an object that is stored at %s, where all clients of this gateway "+
		"share one account: send the content itself, or let an operator of the gateway allow it with PROVIDER_OBJECTS",
		o.path, catalog.OpenAI)
}

// objects looks for the names of objects in a body. What a tool is called with, what the
// model has cited and what hosted tools have answered may have members of the same names
// and is not searched.
type objects struct {
	raw  []byte
	none bool // also those that answers hand out, whose ids are not bound to a caller

	path string // of the object that was found
}

func (o *objects) body() bool {
	for name, value := range jsonbytes.MembersAt(o.raw, 0) {
		found := false
		switch {
		case name.Is("conversation"), name.Is("prompt"):
			found = o.is(!o.null(value), name.String())
		case name.Is("input"):
			found = o.each(value, "input", o.item)
		case name.Is("tools"):
			found = o.each(value, "tools", o.tool)
		}
		if found {
			return true
		}
	}
	return false
}

// chat searches a request for a chat completion.
func (o *objects) chat() bool {
	for name, value := range jsonbytes.MembersAt(o.raw, 0) {
		found := false
		switch {
		case name.Is("messages"):
			found = o.each(value, "messages", o.message)
		case name.Is("store"):
			found = o.is(o.none && o.raw[value.From] == 't', "store")
		}
		if found {
			return true
		}
	}
	return false
}

// message searches a message of a chat: the parts of its content, and its sound.
func (o *objects) message(at jsonbytes.Span, path string) bool {
	for name, value := range jsonbytes.MembersAt(o.raw, at.From) {
		found := false
		switch {
		case name.Is("content"):
			found = o.each(value, path+".content", o.part)
		case name.Is("audio"):
			found = o.is(o.none && !o.null(value), path+".audio")
		}
		if found {
			return true
		}
	}
	return false
}

// part searches a part of a message's content, of any type.
func (o *objects) part(at jsonbytes.Span, path string) bool {
	if o.raw[at.From] != '{' {
		return false
	}
	for name, value := range jsonbytes.MembersAt(o.raw, at.From) {
		if o.file(value, path+"."+name.String()) {
			return true
		}
	}
	return o.file(at, path)
}

// is notes the path of an object that was found.
func (o *objects) is(found bool, path string) bool {
	if found {
		o.path = path
	}
	return found
}

func (o *objects) null(at jsonbytes.Span) bool { return o.raw[at.From] == 'n' }

// each searches the elements of an array until something is found.
func (o *objects) each(array jsonbytes.Span, path string, search func(jsonbytes.Span, string) bool) bool {
	i := 0
	for at := range jsonbytes.ElementsAt(o.raw, array.From) {
		if search(at, fmt.Sprintf("%s[%d]", path, i)) {
			return true
		}
		i++
	}
	return false
}

// item searches an item of the input: the parts of its content or its output, and the tools
// that it brings.
func (o *objects) item(at jsonbytes.Span, path string) bool {
	for name, value := range jsonbytes.MembersAt(o.raw, at.From) {
		found := false
		switch {
		case name.Is("type"):
			found = o.is(o.none && jsonbytes.Text(value.Of(o.raw)) == "item_reference", path)
		case name.Is("file_id"):
			found = o.is(!o.null(value), path+".file_id")
		case name.Is("content"), name.Is("output"):
			found = o.file(value, path+"."+name.String()) || o.each(value, path+"."+name.String(), o.file)
		case name.Is("tools"):
			found = o.each(value, path+".tools", o.tool)
		case name.Is("environment"):
			found = o.container(value, path+".environment")
		}
		if found {
			return true
		}
	}
	return false
}

// file says whether an object has a file_id.
func (o *objects) file(at jsonbytes.Span, path string) bool {
	if o.raw[at.From] != '{' {
		return false
	}
	for name, value := range jsonbytes.MembersAt(o.raw, at.From) {
		if name.Is("file_id") && !o.null(value) {
			return o.is(true, path+".file_id")
		}
	}
	return false
}

// tool searches a tool: its files and stores, and where it runs code. A function has none:
// its members are the client's.
func (o *objects) tool(at jsonbytes.Span, path string) bool {
	for name, value := range jsonbytes.MembersAt(o.raw, at.From) {
		inside, found := path+"."+name.String(), false
		switch {
		case name.Is("file_id"), name.Is("vector_store_ids"), name.Is("tunnel_id"):
			found = o.is(!o.null(value), inside)
		case name.Is("input_image_mask"):
			found = o.file(value, inside)
		case name.Is("container"), name.Is("environment"):
			found = o.container(value, inside)
		case name.Is("tools"): // of a namespace
			found = o.each(value, inside, o.tool)
		}
		if found {
			return true
		}
	}
	return false
}

// container searches the container in which OpenAI runs code: its files and skills, and its
// id where that is not allowed.
func (o *objects) container(at jsonbytes.Span, path string) bool {
	if o.raw[at.From] == '"' {
		return o.is(o.none, path)
	}
	if o.raw[at.From] != '{' {
		return false
	}
	for name, value := range jsonbytes.MembersAt(o.raw, at.From) {
		found := false
		switch {
		case name.Is("container_id"):
			found = o.is(o.none && !o.null(value), path+".container_id")
		case name.Is("file_ids"):
			found = o.each(value, path+".file_ids", func(_ jsonbytes.Span, at string) bool { return o.is(true, at) })
		case name.Is("skills"):
			found = o.each(value, path+".skills", o.skill)
		}
		if found {
			return true
		}
	}
	return false
}

// skill says whether a skill is one of the account. The ids of OpenAI's own begin with its
// name (platform.openai.com, skills, 2026-11).
func (o *objects) skill(at jsonbytes.Span, path string) bool {
	if o.raw[at.From] != '{' {
		return false
	}
	for name, value := range jsonbytes.MembersAt(o.raw, at.From) {
		if name.Is("skill_id") && !strings.HasPrefix(jsonbytes.Text(value.Of(o.raw)), "openai-") {
			return o.is(true, path+".skill_id")
		}
	}
	return false
}
