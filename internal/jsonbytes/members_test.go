package jsonbytes

import (
	"bytes"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestMembersAreFoundWithAnyValues(t *testing.T) {
	const object = " {\t\"a\" : \"x\\\\\" , \"b\\u0063\":{\"a\":[1,\"]}\\\"\"]},\n\"c\":-1.5e3 ,\"d\":null,\"\":[ ],\"e\":\"{\\\\\\\"\" } "
	want := [][2]string{{"a", `"x\\"`}, {"bc", `{"a":[1,"]}\""]}`}, {"c", "-1.5e3"}, {"d", "null"}, {"", "[ ]"}, {"e", `"{\\\""`}}
	i := 0
	for name, value := range Members([]byte(object)) {
		if i >= len(want) || name.String() != want[i][0] || !name.Is(want[i][0]) || name.Is("other") || string(value) != want[i][1] {
			t.Errorf("member %d: %s %s", i, name, value)
		}
		i++
	}
	if i != len(want) {
		t.Errorf("%d members of %d", i, len(want))
	}
	for range Members([]byte(" { } ")) {
		t.Error("an empty object has no members")
	}
}

func TestAppendingToAMemberLeavesItsObject(t *testing.T) {
	const text = `{"a":[1,2],"b":2}`
	object := []byte(text)
	for name, value := range Members(object) {
		_, _ = append(name, "over"...), append(value, "written"...)
	}
	for value := range Elements(object[len(`{"a":`):]) {
		_ = append(value, "written"...)
	}
	if string(object) != text {
		t.Errorf("%s", object)
	}
}

// FuzzMembers holds the quick way against the whole reading of JSON.
func FuzzMembers(f *testing.F) {
	f.Add([]byte(`{"model":"m","temperature":1,"stop":["a\"","\\"],"tools":[{"type":"function"}]}`))
	f.Add([]byte("{\"a\\\"\" : {} ,\"b\":[[]],\"c\":\"\\\\\"}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		ShapeOf(text, 100)
		var got [][2][]byte
		for name, value := range Members(text) { // must end for any text
			got = append(got, [2][]byte{name, value})
		}
		dec := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true))
		if !jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true)) || jsontext.Value(text).Kind() != jsontext.KindBeginObject {
			return
		}
		_, _ = dec.ReadToken()
		i := 0
		for ; dec.PeekKind() == jsontext.KindString; i++ {
			name, _ := dec.ReadValue()
			name = name.Clone()
			value, _ := dec.ReadValue()
			if i >= len(got) || !bytes.Equal(name, got[i][0]) || !bytes.Equal(value, got[i][1]) {
				t.Fatalf("member %d of %q is %s: %s", i, text, name, value)
			}
		}
		if i != len(got) {
			t.Fatalf("%d members of %q, not %d", i, text, len(got))
		}
	})
}

func TestElementsAreFoundWithAnyValues(t *testing.T) {
	want := []string{`1`, `"a,]"`, `[2,[3]]`, `{"b":[4,5]}`, `null`}
	i := 0
	for value := range Elements([]byte(" [ 1 ,\"a,]\",[2,[3]],\n{\"b\":[4,5]} , null ] ")) {
		if i >= len(want) || string(value) != want[i] {
			t.Errorf("element %d: %s", i, value)
		}
		i++
	}
	if i != len(want) {
		t.Errorf("%d elements of %d", i, len(want))
	}
	for _, none := range []string{"", " [ ] ", `{"a":1}`, `"[1]"`} {
		for range Elements([]byte(none)) {
			t.Errorf("%q has elements", none)
		}
	}
}

// FuzzElements compares the elements with those of the decoder.
func FuzzElements(f *testing.F) {
	f.Add([]byte(`[1,"a\"]",{"b":[2,3]},[],null]`))
	f.Add([]byte(" [ [ ] , \"\\\\\" ] "))
	f.Fuzz(func(t *testing.T, text []byte) {
		var got [][]byte
		for value := range Elements(text) { // must end for any text
			got = append(got, value)
		}
		dec := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true))
		if !jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true)) || jsontext.Value(text).Kind() != jsontext.KindBeginArray {
			return
		}
		_, _ = dec.ReadToken()
		i := 0
		for ; dec.PeekKind() != jsontext.KindEndArray; i++ {
			value, _ := dec.ReadValue()
			if i >= len(got) || !bytes.Equal(value, got[i]) {
				t.Fatalf("element %d of %q is %s", i, text, value)
			}
		}
		if i != len(got) {
			t.Fatalf("%d elements of %q, not %d", i, text, len(got))
		}
	})
}

func TestShapeCountsWhatIsOutsideStrings(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Shape
	}{
		{``, Shape{}},
		{`"{,["`, Shape{}},
		{`{"a":"{,\",","b":[1,2,{}]}`, Shape{Values: 6}},
		{`[{},{},{}]`, Shape{Values: 6}},
		{`[[[{"a":{}}]]]`, Shape{Values: 5}},
		{`[[[[[[1]]]]]]`, Shape{Values: 6, TooDeep: true}},
	} {
		if got := ShapeOf([]byte(tt.text), 5); got != tt.want {
			t.Errorf("%s: %+v, not %+v", tt.text, got, tt.want)
		}
	}
}
