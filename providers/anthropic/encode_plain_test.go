package anthropic

import (
	"reflect"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/providers"
)

func samePlain(t *testing.T, r *request) (plain bool) {
	t.Helper()
	want, err := providers.Encode(r, 0)
	if err != nil {
		t.Fatal(err)
	}
	o := r.plain(0)
	if o == nil {
		return false
	}
	if got := string(o) + "}"; got != string(want) {
		t.Errorf("%s\n%s", got, want)
	}
	return true
}

func TestPlainRequestsAreEncodedAsJSONMarshalDoes(t *testing.T) {
	t.Parallel()
	text := func(s string) block { return block{Type: "text", Text: s} }
	messages := []message{
		{Role: "user", Content: []block{text("\x00\u2028</script>🎉"), text("b")}}, {Role: "assistant", Content: []block{text("\"c\"")}},
	}
	for _, system := range []any{nil, "", "Be \"brief\".", []block{}, []block{text("a"), text("b")}} {
		for _, o := range []options{{}, {Temperature: new(0.7), TopP: new(1.0)}, {Temperature: new(0.0), TopP: new(0.0001)}} {
			for _, m := range [][]message{messages, {}} {
				if !samePlain(t, &request{Model: "a\"b", MaxTokens: -1, System: system, Messages: m, options: o}) {
					t.Errorf("%v %+v is not plain", system, o)
				}
			}
		}
	}
}

// What plain does not know of must not be left out.
func TestOtherRequestsAreNotPlain(t *testing.T) {
	t.Parallel()
	for _, of := range []reflect.Type{reflect.TypeFor[options](), reflect.TypeFor[block]()} {
		for i := range of.NumField() {
			name := of.Field(i).Name
			if name == "Type" || name == "Text" {
				continue
			}
			r := request{Model: "m", Messages: []message{{Role: "user", Content: []block{{Type: "text", Text: "a"}}}}}
			at := reflect.ValueOf(&r.options).Elem()
			if of == reflect.TypeFor[block]() {
				at = reflect.ValueOf(&r.Messages[0].Content[0]).Elem()
			}
			fill(t, at.Field(i))
			if plain := samePlain(t, &r); plain != (name == "Temperature" || name == "TopP") {
				t.Errorf("with %s plain is %v", name, plain)
			}
		}
	}
	for _, r := range []request{
		{System: 5}, {options: options{Temperature: new(1e-7)}}, {Messages: []message{{Content: []block{{Type: "image"}}}}},
	} {
		if r.Model = "m"; samePlain(t, &r) {
			t.Errorf("%+v is plain", r)
		}
	}
}

// fill sets a field to a value that is written.
func fill(t *testing.T, field reflect.Value) {
	t.Helper()
	switch {
	case field.Type() == reflect.TypeFor[jsontext.Value]():
		field.Set(reflect.ValueOf(jsontext.Value("1")))
	case field.Kind() == reflect.Pointer:
		field.Set(reflect.New(field.Type().Elem()))
	case field.Kind() == reflect.Slice:
		field.Set(reflect.MakeSlice(field.Type(), 1, 1))
	case field.Kind() == reflect.String:
		field.SetString("a")
	case field.Kind() == reflect.Bool:
		field.SetBool(true)
	case field.Kind() == reflect.Interface:
		field.Set(reflect.ValueOf("a"))
	default:
		t.Fatalf("a field of the kind %s", field.Kind())
	}
	if _, err := json.Marshal(field.Interface()); err != nil {
		t.Fatal(err)
	}
}
