package rawjson

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Object is a JSON object to write, as name, value, name, value …: its members
// come out in this order, because the providers' own are ordered.
type Object []any

// MarshalJSONTo writes the names and values as one object.
func (o Object) MarshalJSONTo(enc *jsontext.Encoder) error {
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

// Encode writes v, which must be of a type that always can be written: it
// panics on any other.
func Encode(v any) []byte {
	data, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic(fmt.Sprintf("simulator: encode %T: %v", v, err))
	}
	return data
}
