package api

import (
	"errors"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth bounds the nesting of a request.
const maxDepth = 100

// DecodeChatRequest reads and checks a request body. It is strict: duplicate
// keys, trailing bytes, invalid UTF-8, lone surrogates and nesting beyond 100
// are refused, names are case-sensitive, and numbers must fit their field. Its
// errors are *Error and name the field. The request keeps body as Raw: it is
// not to be changed any more.
func DecodeChatRequest(body []byte) (*ChatRequest, error) {
	req := new(ChatRequest)
	if !req.quick(body) {
		*req = ChatRequest{}
		if err := decode(body, req, boundedLists); err != nil {
			return nil, err
		}
	}
	req.Raw = body
	if err := req.validate(); err != nil {
		return nil, err
	}
	return req, nil
}

// Decode reads a request body with the strictness of DecodeChatRequest, and
// checks nothing else.
func Decode(body []byte, into any) error { return decode(body, into) }

// DecodeExact is Decode where a member that nobody knows is refused: a limit
// that is misspelt would be no limit.
func DecodeExact(body []byte, into any) error {
	return decode(body, into, json.RejectUnknownMembers(true))
}

func decode(body []byte, into any, opts ...json.Options) error {
	if tooDeep(body) {
		return Invalid(CodeInvalidJSON, "", "the body is nested deeper than %d levels", maxDepth)
	}
	if err := json.Unmarshal(body, into, opts...); err != nil {
		return decodeError(err)
	}
	return nil
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
		return Invalid(CodeInvalidJSON, "", "the body is not valid JSON").Because(err)
	}
	param := path(e.JSONPointer)
	if errors.Is(e, jsontext.ErrDuplicateName) {
		return Invalid(CodeInvalidJSON, param, "the body is not valid JSON: the key %q occurs twice", clip(e.JSONPointer.LastToken()))
	}
	reason := strings.TrimPrefix(e.Err.Error(), "jsontext: ")
	return Invalid(CodeInvalidJSON, param, "the body is not valid JSON: %s at byte %d", reason, e.ByteOffset)
}

func typeError(e *json.SemanticError) *Error {
	param := path(e.JSONPointer)
	name := param
	if name == "" {
		name = "the body"
	}
	want := kindName(e.GoType)
	switch {
	case errors.Is(e.Err, json.ErrUnknownName):
		return Invalid(CodeInvalidValue, param, "%s is not known here", name)
	case want == "" && e.Err != nil:
		return Invalid(CodeInvalidValue, param, "%s: %s", name, clip(e.Err.Error())).Because(e)
	case want == "":
		return Invalid(CodeInvalidValue, param, "%s is not valid", name).Because(e)
	case len(e.JSONValue) > 0 && len(e.JSONValue) <= 40:
		return Invalid(CodeInvalidValue, param, "%s must be %s, not %s", name, want, e.JSONValue)
	default:
		return Invalid(CodeInvalidValue, param, "%s must be %s", name, want)
	}
}

// kindName is what a field wants, in JSON's words; empty where the type has
// its own decoding and its error says more.
func kindName(t reflect.Type) string {
	if t == nil {
		return ""
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[USD]() {
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
		switch t {
		case reflect.TypeFor[ToolChoice](), reflect.TypeFor[Content]():
			return ""
		}
		return "an object"
	default:
		return ""
	}
}

// path turns a JSON pointer into the form OpenAI uses: messages[0].role.
func path(p jsontext.Pointer) string {
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
	const longest = 200 // a hostile body can nest long names
	if b.Len() > longest {
		return strings.ToValidUTF8(b.String()[:longest], "")
	}
	return b.String()
}
