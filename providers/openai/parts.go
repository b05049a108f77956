package openai

import (
	"errors"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/scan"
)

// decode reads an answer or an event. Some compatible servers, such as Mistral's
// for models that reason, write a content as a list of parts, and others the
// arguments of a call as an object; member says where a choice has them: in message or
// in delta.
func decode(text []byte, member string, into any) error {
	err := json.Unmarshal(text, into, lenient)
	if _, ok := errors.AsType[*json.SemanticError](err); !ok {
		return err
	}
	if !jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
		return err
	}
	flat := replaced(text, "choices", func(choices jsontext.Value) jsontext.Value {
		return each(choices, func(choice jsontext.Value) jsontext.Value { return replaced(choice, member, flattened) })
	})
	if json.Unmarshal(flat, into, lenient) != nil {
		return err
	}
	return nil
}

// each is a list with its elements replaced; any other value is returned as it is.
func each(list jsontext.Value, by func(jsontext.Value) jsontext.Value) jsontext.Value {
	if list.Kind() != jsontext.KindBeginArray {
		return list
	}
	out := []byte{'['}
	for element := range scan.Elements(list) {
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
	out := []byte{'{'}
	for name, value := range scan.Members(object) {
		if name.Is(member) {
			value = by(value)
		}
		out = appendMember(out, name, value)
	}
	return append(out, '}')
}

func appendMember(object []byte, name, value []byte) []byte {
	if len(object) > 1 {
		object = append(object, ',')
	}
	return append(append(append(object, name...), ':'), value...)
}

// flattened is a message whose content is a text, its parts of reasoning its
// reasoning_content, and the arguments of its calls texts.
func flattened(message jsontext.Value) jsontext.Value {
	var reasoning string
	message = replaced(message, "tool_calls", func(calls jsontext.Value) jsontext.Value { return each(calls, flatCall) })
	message = replaced(message, "function_call", flatFunction)
	out := replaced(message, "content", func(content jsontext.Value) jsontext.Value {
		if content.Kind() != jsontext.KindBeginArray {
			return content
		}
		var text, thoughts strings.Builder
		for part := range scan.Elements(content) {
			text.WriteString(scan.Text(part))
			var p answerPart
			if json.Unmarshal(part, &p, lenient) == nil {
				text.WriteString(p.Text)
				thoughts.WriteString(p.thought())
			}
		}
		reasoning = thoughts.String()
		return quoted(text.String())
	})
	if reasoning != "" {
		out = append(appendMember(out[:len(out)-1], []byte(`"reasoning_content"`), quoted(reasoning)), '}')
	}
	return out
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
	if json.Unmarshal(p.Thinking, &text, lenient) == nil {
		return text
	}
	var parts []answerPart
	if json.Unmarshal(p.Thinking, &parts, lenient) != nil {
		return ""
	}
	for i := range parts {
		text += parts[i].Text
	}
	return text
}

// nameReasoning gives the reasoning of a message one name: some compatible servers
// use another, or both. A value that is no text stays what it is.
func nameReasoning(reasoning *string, extra *jsontext.Value) {
	if len(*extra) == 0 {
		return
	}
	rest := []byte{'{'}
	for name, value := range scan.Members(*extra) {
		if kind := value.Kind(); !name.Is("reasoning") || kind != jsontext.KindString && kind != jsontext.KindNull {
			rest = appendMember(rest, name, value)
			continue
		}
		if *reasoning == "" {
			*reasoning = scan.Text(value)
		}
	}
	if *extra = append(rest, '}'); len(rest) == len(`{`) {
		*extra = nil
	}
}

// joined are the members of two objects; of those in both the later one counts.
func joined(a, b jsontext.Value) jsontext.Value {
	if len(a) == 0 || len(b) == 0 {
		return append(a, b...)
	}
	later := map[string]bool{}
	for name := range scan.Members(b) {
		later[name.String()] = true
	}
	out := []byte{'{'}
	for name, value := range scan.Members(a) {
		if !later[name.String()] {
			out = appendMember(out, name, value)
		}
	}
	for name, value := range scan.Members(b) {
		out = appendMember(out, name, value)
	}
	return append(out, '}')
}

func quoted(text string) jsontext.Value { return scan.AppendString(nil, text) }
