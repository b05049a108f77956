package anthropic

import (
	"fmt"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/config"
	"modelgateway/internal/jsonbytes"
)

// refuseObjects refuses a request that names an object which Anthropic keeps and the policy
// does not allow: a file, a skill of the account or, with ObjectsNone, a container.
func refuseObjects(raw []byte, policy string) error {
	if policy == config.ObjectsAllow {
		return nil
	}
	o := objects{raw: raw, none: policy == config.ObjectsNone}
	if !o.body() {
		return nil
	}
	return notAllowed(o.path)
}

// notAllowed is the error of a request that names an object.
func notAllowed(path string) error {
	return api.Invalid(api.CodeUnsupportedValue, path, "%s names an object that is stored at %s, where all clients of this gateway "+
		"share one account: send the content itself, or let an operator of the gateway allow it with PROVIDER_OBJECTS",
		path, catalog.Anthropic)
}

// objects looks for the names of objects in a body. What a tool is called with, and what the
// tools of Anthropic have answered, may have members of the same names and is not searched.
type objects struct {
	raw  []byte
	none bool

	path string // of the object that was found
}

func (o *objects) body() bool {
	for name, value := range jsonbytes.MembersAt(o.raw, 0) {
		found := false
		switch {
		case name.Is("messages"):
			found = o.each(value, "messages", o.message)
		case name.Is("tools"):
			found = o.each(value, "tools", o.file)
		case name.Is("container"):
			found = o.container(value)
		}
		if found {
			return true
		}
	}
	return false
}

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

func (o *objects) message(at jsonbytes.Span, path string) bool {
	for name, value := range jsonbytes.MembersAt(o.raw, at.From) {
		if name.Is("content") {
			return o.each(value, path+".content", o.block)
		}
	}
	return false
}

// block searches a block of content: its source, and the blocks inside it.
func (o *objects) block(at jsonbytes.Span, path string) bool {
	kind := ""
	var content, source jsonbytes.Span
	for name, value := range jsonbytes.MembersAt(o.raw, at.From) {
		switch {
		case name.Is("type"):
			kind = jsonbytes.Text(value.Of(o.raw))
		case name.Is("content"):
			content = value
		case name.Is("source"):
			source = value
		}
	}
	switch kind {
	case "container_upload":
		return o.file(at, path)
	case "image", "document":
		return source.To > 0 && o.source(source, path+".source")
	case "tool_result":
		return content.To > 0 && o.each(content, path+".content", o.block)
	}
	return false
}

func (o *objects) source(at jsonbytes.Span, path string) bool {
	if o.raw[at.From] != '{' {
		return false
	}
	for name, value := range jsonbytes.MembersAt(o.raw, at.From) {
		if name.Is("content") && o.each(value, path+".content", o.block) {
			return true
		}
	}
	return o.file(at, path)
}

// file says whether an object has a file_id.
func (o *objects) file(at jsonbytes.Span, path string) bool {
	for name := range jsonbytes.MembersAt(o.raw, at.From) {
		if name.Is("file_id") {
			o.path = path + ".file_id"
			return true
		}
	}
	return false
}

// container searches the container in which Anthropic runs code: its skills, and its id
// where that is not allowed.
func (o *objects) container(at jsonbytes.Span) bool {
	if o.none && string(at.Of(o.raw)) != "null" {
		o.path = "container"
		return true
	}
	if o.raw[at.From] != '{' {
		return false
	}
	for name, value := range jsonbytes.MembersAt(o.raw, at.From) {
		if name.Is("skills") && o.each(value, "container.skills", o.skill) {
			return true
		}
	}
	return false
}

// skill says whether a skill is one of the account, not of Anthropic.
func (o *objects) skill(at jsonbytes.Span, path string) bool {
	for name, value := range jsonbytes.MembersAt(o.raw, at.From) {
		if name.Is("type") && jsonbytes.Text(value.Of(o.raw)) == "custom" {
			o.path = path
			return true
		}
	}
	return false
}
