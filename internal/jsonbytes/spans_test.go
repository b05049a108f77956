package jsonbytes

import (
	"bytes"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// The places of members and elements are those of their values.
func FuzzSpans(f *testing.F) {
	f.Add([]byte(" {\t\"a\" : \"x\\\\\" , \"b\\u0063\":{\"a\":[1,\"]}\\\"\"]},\n\"c\":-1.5e3 ,\"d\":null,\"\":[ ]} "))
	f.Add([]byte(`{"a":[ 1 ,"a,]",[2,[3]], {"b":[4,5]} , null ]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		const before = "xx"
		inside := append([]byte(before), text...)
		var names, values, elements [][]byte
		for name, at := range MembersAt(inside, len(before)) {
			names, values = append(names, name), append(values, at.Of(inside))
			for at := range ElementsAt(inside, at.From) {
				elements = append(elements, at.Of(inside))
			}
		}
		valid := jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true))
		if !valid || jsontext.Value(text).Kind() != jsontext.KindBeginObject {
			return // it has ended, which is all that is promised
		}
		i, j := 0, 0
		for name, value := range Members(text) {
			if i >= len(values) || !bytes.Equal(name, names[i]) || !bytes.Equal(value, values[i]) {
				t.Fatalf("member %d of %q is %s: %s", i, text, name, value)
			}
			i++
			for element := range Elements(value) {
				if j >= len(elements) || !bytes.Equal(element, elements[j]) {
					t.Fatalf("element %d of %q is %s", j, text, element)
				}
				j++
			}
		}
		if i != len(values) {
			t.Fatalf("%d members of %q, not %d", len(values), text, i)
		}
	})
}
