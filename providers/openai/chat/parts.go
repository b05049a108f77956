package chat

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
	"modelgateway/providers/openai/wire"
)

// each is a list with its elements replaced; any other value is returned as it is.
func each(list jsontext.Value, by func(jsontext.Value) jsontext.Value) jsontext.Value {
	if list.Kind() != jsontext.KindBeginArray {
		return list
	}
	out := []byte{'['}
	for element := range jsonbytes.Elements(list) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, by(element)...)
	}
	return append(out, ']')
}

// replaced is an object with the value of one member replaced; any other value
// is returned as it is.
func replaced(object jsontext.Value, member string, by func(jsontext.Value) jsontext.Value) jsontext.Value {
	if object.Kind() != jsontext.KindBeginObject {
		return object
	}
	var out jsontext.Value
	for name, value := range jsonbytes.Members(object) {
		if name.Is(member) {
			value = by(value)
		}
		out = addMember(out, name, value)
	}
	return out
}

// addMember adds a member to an object, which may be nil.
func addMember(object jsontext.Value, name, value []byte) jsontext.Value {
	if len(object) == 0 {
		const usual = 128
		object = append(make(jsontext.Value, 0, usual), '{')
	} else {
		object[len(object)-1] = ','
	}
	return append(append(append(append(object, name...), ':'), value...), '}')
}

// joinedParts is the text of a content that is a list of parts, and the text of its thoughts.
func joinedParts(content jsontext.Value) (text jsontext.Value, thoughts string) {
	var texts, thinking strings.Builder
	for part := range jsonbytes.Elements(content) {
		texts.WriteString(jsonbytes.Text(part))
		var p answerPart
		if json.Unmarshal(part, &p, wire.Lenient) == nil {
			texts.WriteString(p.Text)
			thinking.WriteString(p.thought())
		}
	}
	return quoted(texts.String()), thinking.String()
}

// flatCall is a call whose arguments and id are texts.
func flatCall(call jsontext.Value) jsontext.Value {
	call = replaced(call, "id", func(id jsontext.Value) jsontext.Value {
		if id.Kind() == jsontext.KindNumber {
			return quoted(string(id))
		}
		return id
	})
	return replaced(call, "function", flatFunction)
}

func flatFunction(function jsontext.Value) jsontext.Value {
	return replaced(function, "arguments", func(arguments jsontext.Value) jsontext.Value {
		if arguments.Kind() == jsontext.KindBeginObject {
			return quoted(string(arguments))
		}
		return arguments
	})
}

// answerPart is a part of a content: a text, or a thought that is a text or a
// list of texts.
type answerPart struct {
	Text     string         `json:"text"`
	Thinking jsontext.Value `json:"thinking"`
}

func (p *answerPart) thought() string {
	var text string
	if json.Unmarshal(p.Thinking, &text, wire.Lenient) == nil {
		return text
	}
	var parts []answerPart
	if json.Unmarshal(p.Thinking, &parts, wire.Lenient) != nil {
		return ""
	}
	for i := range parts {
		text += parts[i].Text
	}
	return text
}

// joined are the members of two objects; of those in both the later one counts.
func joined(a, b jsontext.Value) jsontext.Value {
	if len(a) == 0 || len(b) == 0 {
		return append(a, b...)
	}
	later := map[string]bool{}
	for name := range jsonbytes.Members(b) {
		later[name.String()] = true
	}
	var out jsontext.Value
	for name, value := range jsonbytes.Members(a) {
		if !later[name.String()] {
			out = addMember(out, name, value)
		}
	}
	for name, value := range jsonbytes.Members(b) {
		out = addMember(out, name, value)
	}
	return out
}

func quoted(text string) jsontext.Value { return jsonbytes.AppendString(nil, text) }
