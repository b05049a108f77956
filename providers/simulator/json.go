package simulator

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// An object is written as name, value, name, value …: in that order, because
// that is what the services do.
type object []any

// MarshalJSONTo makes the list an object.
func (o object) MarshalJSONTo(enc *jsontext.Encoder) error {
	if err := enc.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, v := range o {
		if err := json.MarshalEncode(enc, v); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndObject)
}

type namedValue struct {
	name  string
	value jsontext.Value
}

// members keeps the order in which an object was written.
func members(raw jsontext.Value) []namedValue {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '{' {
		return nil
	}
	var found []namedValue
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return found
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return found
		}
		found = append(found, namedValue{key, value.Clone()})
	}
	return found
}

// member is nil where the object has no such field.
func member(raw jsontext.Value, name string) jsontext.Value {
	for _, m := range members(raw) {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

func elements(raw jsontext.Value) []jsontext.Value {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '[' {
		return nil
	}
	var found []jsontext.Value
	for dec.PeekKind() != ']' {
		value, err := dec.ReadValue()
		if err != nil {
			return found
		}
		found = append(found, value.Clone())
	}
	return found
}

// text is the value of a JSON string, and empty for anything else.
func text(raw jsontext.Value) string {
	if raw.Kind() != '"' {
		return ""
	}
	s, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return ""
	}
	return string(s)
}

// stringOrList reads what may be a string, a list of strings or nothing.
func stringOrList(raw jsontext.Value) []string {
	if raw.Kind() == '"' {
		return []string{text(raw)}
	}
	var list []string
	for _, s := range elements(raw) {
		list = append(list, text(s))
	}
	return list
}

// given says whether an optional field is there and not null.
func given(raw jsontext.Value) bool { return raw != nil && raw.Kind() != 'n' }
