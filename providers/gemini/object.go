package gemini

import (
	"bytes"

	"modelgateway/internal/jsonbytes"

	"github.com/go-json-experiment/json/jsontext"
)

// object writes a JSON object member by member, so that raw values go in byte
// for byte: the JSON encoder would take their spaces out.
type object []byte

func (o *object) add(name string, value []byte) {
	o.open(name)
	*o = append(*o, value...)
}

// open begins a member.
func (o *object) open(name string) {
	switch {
	case len(*o) == 0:
		*o = append(*o, '{')
	case len(*o) > 1:
		*o = append(*o, ',')
	}
	*o = append(jsonbytes.AppendString(*o, name), ':')
}

// done returns the object; nothing may be added to it after that.
func (o object) done() jsontext.Value {
	if len(o) == 0 {
		return jsontext.Value("{}")
	}
	return jsontext.Value(append(o, '}'))
}

// reopen returns a writer that adds members to a finished object.
func reopen(value []byte) object { return object(value[:len(value)-1]) }

func quote(s string) []byte { return jsonbytes.AppendString(nil, s) }

// list writes a JSON array of raw values.
func list(values []jsontext.Value) jsontext.Value {
	size := len("[]")
	for _, v := range values {
		size += len(v) + 1
	}
	out := append(make([]byte, 0, size), '[')
	for i, v := range values {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, v...)
	}
	return append(out, ']')
}

// member is one of a raw object's.
type member struct {
	name  string
	value jsontext.Value
}

// members reads a raw object, in its order; nil for anything else.
func members(raw jsontext.Value) []member {
	dec := jsontext.NewDecoder(bytes.NewReader(raw), lenient)
	if token, err := dec.ReadToken(); err != nil || token.Kind() != jsontext.KindBeginObject {
		return nil
	}
	var all []member
	for dec.PeekKind() == jsontext.KindString {
		token, err := dec.ReadToken()
		if err != nil {
			return all
		}
		name := token.String()
		value, err := dec.ReadValue()
		if err != nil {
			return all
		}
		all = append(all, member{name, value.Clone()})
	}
	return all
}

// elements reads a raw array; nil for anything else.
func elements(raw jsontext.Value) []jsontext.Value {
	dec := jsontext.NewDecoder(bytes.NewReader(raw), lenient)
	if token, err := dec.ReadToken(); err != nil || token.Kind() != jsontext.KindBeginArray {
		return nil
	}
	var all []jsontext.Value
	for dec.PeekKind() != jsontext.KindEndArray {
		value, err := dec.ReadValue()
		if err != nil {
			return all
		}
		all = append(all, value.Clone())
	}
	return all
}

// text is a raw string; empty for anything else.
func text(raw jsontext.Value) string {
	if raw.Kind() != jsontext.KindString {
		return ""
	}
	out, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return ""
	}
	return string(out)
}

// without leaves a member out of a raw object and keeps every other byte.
func without(raw jsontext.Value, name string) jsontext.Value {
	if !bytes.Contains(raw, quote(name)) {
		return raw
	}
	dec := jsontext.NewDecoder(bytes.NewReader(raw), lenient)
	if token, err := dec.ReadToken(); err != nil || token.Kind() != jsontext.KindBeginObject {
		return raw
	}
	for first := true; dec.PeekKind() == jsontext.KindString; first = false {
		from := dec.InputOffset() // before the comma, but for the first
		token, err := dec.ReadToken()
		if err != nil {
			return raw
		}
		found := token.String() == name
		if err := dec.SkipValue(); err != nil {
			return raw
		}
		if !found {
			continue
		}
		rest := raw[dec.InputOffset():]
		if first {
			rest = bytes.TrimPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte(","))
		}
		return append(bytes.Clone(raw[:from]), rest...)
	}
	return raw
}
