package jsonbytes

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func strict(text []byte) bool {
	var c Checker
	c.Reset(text)
	c.Value()
	return c.Done()
}

func TestACheckerTakesAllOfJSONAndNothingElse(t *testing.T) {
	many := make([]string, 100)
	for i := range many {
		many[i] = fmt.Sprintf(`"n%d":%d`, i, i)
	}
	for _, text := range []string{
		`null`, `1e5`, `-0.5E-7`, `12345678901234567890123`, `{"a":{"a":1},"b":[{"a":1},{"a":2}]}`, "{\"\\u0061\":1,\"b\":2}\n", `""`,
		strings.Repeat("[", 100) + strings.Repeat("]", 100), `{` + strings.Join(many, ",") + `}`,
	} {
		if !strict([]byte(text)) {
			t.Errorf("not taken: %.100s", text)
		}
	}
	for _, text := range []string{
		``, `1e`, `1e+`, `01`, `-`, `1.`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `[{"b":{"a":1,"a":2}}]`, `{"a":1} x`, `{"a"}`, `[1,]`,
		"\"\xff\"", `"\ud800"`, strings.Repeat("[", 101) + strings.Repeat("]", 101),
		`{` + strings.Join(many, ",") + `,"n7":1}`, `{"n7":1,` + strings.Join(many, ",") + `}`,
	} {
		if strict([]byte(text)) {
			t.Errorf("taken: %.100s", text)
		}
	}
}

// room is memory of some bytes.
type room struct{ left, granted int64 }

func (r *room) Grant(bytes int64) bool {
	r.left, r.granted = r.left-bytes, r.granted+bytes
	return r.left >= 0
}

func TestTheNamesOfALargeObjectAreReserved(t *testing.T) {
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, `,"%d":0`, i)
	}
	text := []byte("{" + b.String()[1:] + "}")
	asked := room{left: 1 << 20}
	c := Checker{Room: &asked}
	c.Reset(text)
	if c.Value(); !c.Done() || asked.granted < 5000*bytesPerName || c.Values != 5000 {
		t.Errorf("%d bytes for %d values", asked.granted, c.Values)
	}
	c = Checker{Room: new(room)}
	c.Reset(text)
	if c.Value(); c.Done() {
		t.Error("the memory was refused")
	}
}

// FuzzChecker compares with the strict decoder.
func FuzzChecker(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,-2.5e3,"x\n",null,true,false,{}],"b":"\ud83d\ude00é"}`, `{"a":1,"\u0061":2}`, `"\ud800"`, `01`, "\"\xff\"", `{"":0,"":0}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		want := jsontext.Value(text).IsValid() && !ShapeOf(text, MaxDepth).TooDeep
		if got := strict(text); got != want {
			t.Fatalf("%q: %v, not %v", text, got, want)
		}
	})
}
