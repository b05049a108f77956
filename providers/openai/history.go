package openai

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"modelgateway/models/api/chat"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// gatewayMembers are the gateway's extensions, which only other providers
// support.
var gatewayMembers = []string{"reasoning_content", "reasoning_details", "cache_control", "extra_content", "images"}

// nativeArray removes the gateway's extensions from messages, from their parts
// and calls, and from tools, and restores the calls' own ids. The rest keeps
// its bytes.
func nativeArray(array jsontext.Value) (jsontext.Value, error) {
	var all []jsontext.Value
	if err := json.Unmarshal(array, &all); err != nil {
		return nil, err
	}
	out := append(make([]byte, 0, len(array)), '[')
	for i, object := range all {
		native, err := nativeObject(object)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, native...)
	}
	return append(out, ']'), nil
}

func nativeObject(object jsontext.Value) (jsontext.Value, error) {
	if object.Kind() != jsontext.KindBeginObject {
		return object, nil
	}
	dec := jsontext.NewDecoder(bytes.NewReader(object))
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	out := []byte{'{'}
	for dec.PeekKind() == jsontext.KindString {
		token, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		name := token.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		if slices.Contains(gatewayMembers, name) {
			continue
		}
		if value, err = nativeMember(name, value); err != nil {
			return nil, err
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out, _ = jsontext.AppendQuote(out, name)
		out = append(append(out, ':'), value...)
	}
	return append(out, '}'), nil
}

func nativeMember(name string, value jsontext.Value) (jsontext.Value, error) {
	switch {
	case (name == "id" || name == "tool_call_id") && value.Kind() == jsontext.KindString:
		var id string
		if err := json.Unmarshal(value, &id); err != nil {
			return nil, err
		}
		id, _ = chat.UnpackID(id)
		return quote(short(id)), nil
	case (name == "tool_calls" || name == "content") && value.Kind() == jsontext.KindBeginArray:
		return nativeArray(value)
	default:
		return value, nil
	}
}

// longestID is the longest id of a tool call that OpenAI accepts, in bytes.
const longestID = 40

// short shortens an id to one that OpenAI accepts; the result is the same for
// the same id.
func short(id string) string {
	if len(id) <= longestID {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:])[:longestID-len("call_")]
}

func quote(s string) jsontext.Value {
	out, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		out, _ = jsontext.AppendQuote(nil, strings.ToValidUTF8(s, ""))
	}
	return out
}

func number(n int64) jsontext.Value { return jsontext.Value(jsontext.Int(n).String()) }
