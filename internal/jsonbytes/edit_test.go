package jsonbytes

import (
	"bytes"
	"testing"
)

func TestPlacesOfATextAreReplacedInAnyOrder(t *testing.T) {
	text := []byte(`{"a":1, "b":[10,20 ,30], "c":3}`)
	for name, tt := range map[string]struct {
		drop string
		want string
	}{
		"none": {"", `{"a":"x", "b":[0,0 ,0], "c":""}`}, "the first": {"10", `{"a":"x", "b":[0 ,0], "c":""}`},
		"between": {"20", `{"a":"x", "b":[0 ,0], "c":""}`}, "the last": {"30", `{"a":"x", "b":[0,0], "c":""}`},
		"two": {"10 20", `{"a":"x", "b":[0], "c":""}`}, "all": {"10 20 30", `{"a":"x", "b":[10,20 ,30], "c":""}`},
	} {
		e := Editor{Text: text}
		var members []Span
		for _, at := range MembersAt(text, 0) {
			members = append(members, at)
		}
		e.Replace(members[2], []byte(`""`))
		e.Replace(members[0], []byte(`"x"`))
		inner := Editor{Text: text}
		inner.Replace(members[0], []byte(`"x"`))
		kept := inner.Elements(members[1], func(at Span) bool {
			inner.Replace(at, []byte("0"))
			return !bytes.Contains([]byte(tt.drop), at.Of(text))
		})
		inner.Replace(members[2], []byte(`""`))
		if got := string(bytes.Join(inner.Pieces(), nil)); got != tt.want || kept != (name != "all") {
			t.Errorf("%s: %s", name, got)
		}
		if got := string(bytes.Join(e.Pieces(), nil)); got != `{"a":"x", "b":[10,20 ,30], "c":""}` {
			t.Errorf("without elements: %s", got)
		}
	}
}
