package api

import (
	"errors"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
)

// Memory bounds what requests take. Reserve asks for bytes before they are
// allocated; its error is an *Error. A nil Memory has no bound.
type Memory interface{ Reserve(bytes int64) error }

// Lenient are the JSON options for members that the gateway only passes on:
// duplicate names are accepted, and invalid UTF-8 becomes U+FFFD.
var Lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// Decode reads a request body strictly: duplicate keys, trailing bytes, invalid
// UTF-8, lone surrogates and nesting beyond 100 levels are refused, names are
// case-sensitive, and numbers must fit their field. Its errors are *Error and
// name the field; an *Error of a type's own decoding is returned as it is.
func Decode(body []byte, into any, opts ...json.Options) error {
	if jsonbytes.ShapeOf(body, jsonbytes.MaxDepth).TooDeep {
		return Invalid(CodeInvalidJSON, "", "the body is nested deeper than %d levels", jsonbytes.MaxDepth)
	}
	if err := json.Unmarshal(body, into, opts...); err != nil {
		return decodeError(err)
	}
	return nil
}

// DecodeExact is Decode, but refuses unknown members, so that a misspelt limit is
// not silently ignored.
func DecodeExact(body []byte, into any) error {
	return Decode(body, into, json.RejectUnknownMembers(true))
}

func decodeError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		return typeError(e)
	}
	e, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok {
		return Invalid(CodeInvalidJSON, "", "the body is not valid JSON").WithCause(err)
	}
	param := FieldPath(e.JSONPointer)
	if errors.Is(e, jsontext.ErrDuplicateName) {
		return Invalid(CodeInvalidJSON, param, "the body is not valid JSON: the key %q occurs twice", Clip(e.JSONPointer.LastToken()))
	}
	reason := strings.TrimPrefix(e.Err.Error(), "jsontext: ")
	return Invalid(CodeInvalidJSON, param, "the body is not valid JSON: %s at byte %d", reason, e.ByteOffset)
}

func typeError(e *json.SemanticError) *Error {
	param := FieldPath(e.JSONPointer)
	name := param
	if name == "" {
		name = "the body"
	}
	want := kindName(e.GoType)
	switch {
	case errors.Is(e.Err, json.ErrUnknownName):
		return Invalid(CodeInvalidValue, param, "%s is not a known member of this request: check its spelling, or leave it out", name)
	case want == "" && e.Err != nil:
		return Invalid(CodeInvalidValue, param, "%s: %s", name, Clip(e.Err.Error())).WithCause(e)
	case want == "":
		return Invalid(CodeInvalidValue, param, "%s is not valid", name).WithCause(e)
	case len(e.JSONValue) > 0 && len(e.JSONValue) <= 40:
		return Invalid(CodeInvalidValue, param, "%s must be %s, not %s", name, want, e.JSONValue)
	default:
		return Invalid(CodeInvalidValue, param, "%s must be %s", name, want)
	}
}

// kindName is the JSON type that a field requires; empty if its type has its own
// decoding, whose error says more.
func kindName(t reflect.Type) string {
	if t == nil {
		return ""
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	p := reflect.PointerTo(t)
	if p.Implements(reflect.TypeFor[json.UnmarshalerFrom]()) || p.Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return ""
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "an integer"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "an array"
	case reflect.Map:
		return "an object"
	case reflect.Struct:
		return "an object"
	default:
		return ""
	}
}

// FieldPath turns a JSON pointer into the form OpenAI uses: messages[0].role.
func FieldPath(p jsontext.Pointer) string {
	var b strings.Builder
	for token := range p.Tokens() {
		if token != "" && strings.Trim(token, "0123456789") == "" {
			b.WriteString("[" + token + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(token)
	}
	const longest = 200 // a malicious body can nest long names
	if b.Len() > longest {
		return strings.ToValidUTF8(b.String()[:longest], "")
	}
	return b.String()
}

// Clip bounds a part of the client's text that an error message repeats.
func Clip(s string) string {
	const longest = 120
	if len(s) <= longest {
		return s
	}
	return strings.ToValidUTF8(s[:longest], "") + "…"
}
