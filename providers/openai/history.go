package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/models/api/chat"
	"modelgateway/models/scan"
)

// gatewayMembers are the gateway's extensions, which only other providers
// support.
var gatewayMembers = []string{"reasoning_content", "reasoning_details", "cache_control", "extra_content", "images"}

// nativeArray removes the gateway's extensions from messages, from their parts
// and calls, and from tools, and restores the calls' own ids. The rest keeps
// its bytes.
func nativeArray(array jsontext.Value) jsontext.Value {
	return appendNativeArray(make([]byte, 0, len(array)), array)
}

func appendNativeArray(dst []byte, array jsontext.Value) []byte {
	dst = append(dst, '[')
	first := true
	for element := range scan.Elements(array) {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		if element.Kind() == jsontext.KindBeginObject {
			dst = appendNativeObject(dst, element)
		} else {
			dst = append(dst, element...)
		}
	}
	return append(dst, ']')
}

func appendNativeObject(dst []byte, object jsontext.Value) []byte {
	dst = append(dst, '{')
	first := true
	for literal, value := range scan.Members(object) {
		name := string(literal.Text())
		if slices.Contains(gatewayMembers, name) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = appendNativeMember(append(append(dst, literal...), ':'), name, value)
	}
	return append(dst, '}')
}

func appendNativeMember(dst []byte, name string, value jsontext.Value) []byte {
	switch {
	case (name == "id" || name == "tool_call_id") && value.Kind() == jsontext.KindString &&
		(len(value) > longestID+len(`""`) || chat.HasPackedID(value)):
		text, _ := jsontext.AppendUnquote(nil, value) // valid, as the body is
		id, _ := chat.UnpackID(string(text))
		return append(dst, quote(short(id))...)
	case (name == "tool_calls" || name == "content") && value.Kind() == jsontext.KindBeginArray:
		return appendNativeArray(dst, value)
	default:
		return append(dst, value...)
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
