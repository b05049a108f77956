package chat

import (
	"reflect"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/dialects/chat"
	"modelgateway/providers/openai/compose"
	"modelgateway/providers/openai/wire"
)

func TestARequestIsEncodedAsJSONMarshalDoes(t *testing.T) {
	t.Parallel()
	text := func(role, content string) message { return message{Role: role, Content: wire.Quote(content)} }
	calls := message{Role: "assistant", Content: jsontext.Value("null"), Reasoning: "Hm, \"so\".", ToolCalls: []toolCall{
		{ID: "call_1", Type: "function", Function: &chat.FunctionCall{Name: "f", Arguments: `{"a":"<é>"}`}},
		{ID: "call_2", Type: "custom", Custom: &customCall{Name: "g", Input: "x\ny"}},
	}}
	result := message{Role: "tool", Content: wire.Quote("18 °C"), ToolCallID: "call_1"}
	usual := options{
		MaxTokens: new(int64(0)), MaxCompletionTokens: new(int64(1 << 40)), Temperature: new(0.7), TopP: new(1.0),
		Stream: true, StreamOptions: jsontext.Value(usageOnly),
	}
	rare := usual
	rare.Tools = []tool{{Type: "function", Function: &function{Name: "f", Parameters: jsontext.Value(`{"b":1,"a":"\u00e9"}`)}}}
	rare.Metadata, rare.Stop, rare.N = map[string]string{"b": "1", "a": "2"}, []string{"\n"}, 2
	for _, o := range []options{
		{}, usual, rare, {Logprobs: true}, {Temperature: new(1e-7)}, {TopP: new(-0.5)}, {Temperature: new(0.0)}, {Temperature: new(12345.678)},
		{MaxTokens: new(int64(-1))},
	} {
		for _, messages := range [][]message{{}, {text("user", "\x00\u2028</script>🎉")}, {text("system", "a"), calls, result}} {
			r := request{Model: "ft:\"é\"", Messages: messages, options: o}
			want, err := json.Marshal(&r, compose.Encoding)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := r.encode(); err != nil || string(got) != string(want) {
				t.Errorf("%v\n%s\n%s", err, got, want)
			}
		}
	}
}

// An option that encode does not know of must not be left out.
func TestEveryOptionIsEncoded(t *testing.T) {
	t.Parallel()
	for i := range reflect.TypeFor[options]().NumField() {
		var o options
		field := reflect.ValueOf(&o).Elem().Field(i)
		name := reflect.TypeFor[options]().Field(i).Name
		switch field.Kind() {
		case reflect.Pointer:
			field.Set(reflect.New(field.Type().Elem()))
		case reflect.Slice:
			field.Set(reflect.MakeSlice(field.Type(), 1, 1))
			if field.Type() == reflect.TypeFor[jsontext.Value]() {
				field.Set(reflect.ValueOf(jsontext.Value("1")))
			}
		case reflect.Map:
			field.Set(reflect.ValueOf(map[string]string{"a": "b"}))
		case reflect.String:
			field.SetString("a")
		case reflect.Bool:
			field.SetBool(true)
		case reflect.Int64:
			field.SetInt(2)
		default:
			t.Fatalf("%s has the kind %s", name, field.Kind())
		}
		r := request{Model: "m", options: o}
		want, err := json.Marshal(&r, compose.Encoding)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.encode(); err != nil || string(got) != string(want) || len(want) <= len(`{"model":"m","messages":[]}`) {
			t.Errorf("%s: %v\n%s\n%s", name, err, got, want)
		}
	}
}
