package openai

import (
	"errors"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/models/api/chat"
	"modelgateway/models/scan"
)

// decode reads an answer or an event. Some compatible servers, such as Mistral's
// for models that reason, write a content as a list of parts; member says where a
// choice has its content: in message or in delta.
func decode(text []byte, member string, into any) error {
	err := json.Unmarshal(text, into, lenient)
	if _, ok := errors.AsType[*json.SemanticError](err); !ok {
		return err
	}
	if !jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
		return err
	}
	flat := replaced(text, "choices", func(choices jsontext.Value) jsontext.Value {
		out := []byte{'['}
		for choice := range scan.Elements(choices) {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(out, replaced(choice, member, flattened)...)
		}
		return append(out, ']')
	})
	if json.Unmarshal(flat, into, lenient) != nil {
		return err
	}
	return nil
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

// flattened is a message whose content is a text, and its parts of reasoning its
// reasoning_content.
func flattened(message jsontext.Value) jsontext.Value {
	var reasoning string
	out := replaced(message, "content", func(content jsontext.Value) jsontext.Value {
		var parts []answerPart
		if content.Kind() != jsontext.KindBeginArray || json.Unmarshal(content, &parts, lenient) != nil {
			return content
		}
		var text, thoughts strings.Builder
		for i := range parts {
			text.WriteString(parts[i].Text)
			thoughts.WriteString(parts[i].thought())
		}
		reasoning = thoughts.String()
		return quoted(text.String())
	})
	if reasoning != "" {
		out = append(appendMember(out[:len(out)-1], []byte(`"reasoning_content"`), quoted(reasoning)), '}')
	}
	return out
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

// nameReasoning gives the reasoning of a message the name that it has in streams:
// some compatible servers use another.
func nameReasoning(m *chat.Answer) {
	if m.ReasoningContent != "" || len(m.Extra) == 0 {
		return
	}
	rest := []byte{'{'}
	for name, value := range scan.Members(m.Extra) {
		if name.Is("reasoning") && json.Unmarshal(value, &m.ReasoningContent) == nil {
			continue
		}
		rest = appendMember(rest, name, value)
	}
	if m.Extra = append(rest, '}'); len(m.Extra) == len(`{}`) {
		m.Extra = nil
	}
}

func quoted(text string) jsontext.Value {
	out, _ := jsontext.AppendQuote(nil, text) // invalid UTF-8 becomes U+FFFD
	return out
}
