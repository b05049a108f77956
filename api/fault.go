package api

import "github.com/go-json-experiment/json/jsontext"

// SyntaxFault is the error of a body that a faster reader did not accept as a JSON object:
// the strict decoder words it.
func SyntaxFault(memory Memory, body []byte) error {
	if err := DecodeWithin(memory, body, new(anyObject)); err != nil {
		return err
	}
	return Invalid(CodeInvalidJSON, "", "the body is not valid JSON")
}

// anyObject is an object of which nothing is kept.
type anyObject struct{}

// UnmarshalJSONFrom reads any object.
func (*anyObject) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if kind := dec.PeekKind(); kind != jsontext.KindBeginObject && kind != jsontext.KindInvalid {
		return Invalid(CodeInvalidJSON, "", "the body must be a JSON object")
	}
	return dec.SkipValue()
}
