package chat

import (
	"slices"
	"strings"
	"testing"

	"modelgateway/llm"
)

func TestIgnoredMembersAreNamedInTheOrderOfTheBody(t *testing.T) {
	req, err := Decode(nil, []byte(`{"model":"m","zeta":1,"store":false,"max_tokens":1,"max_completion_tokens":2,`+
		`"messages":[{"role":"user","name":"bob","content":"q","mood":"good","nothing":null}],"seed":1,"alpha":[],"user":"u"}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := req.Source.Conversation(); err != nil {
		t.Fatal(err)
	}
	got := req.Source.Ignored([]llm.Field{llm.FieldUser, llm.FieldSeed, llm.FieldMessageImages, llm.FieldSeed})
	want := "zeta max_tokens messages[].images messages[].mood messages[].name seed user"
	if strings.Join(got, " ") != want {
		t.Errorf("got  %v\nwant %s", got, want)
	}
}

func TestPathsOfFieldsAreThoseOfTheClient(t *testing.T) {
	for _, tt := range []struct {
		body string
		f    llm.Field
		at   llm.At
		want string
	}{
		{with(`"max_tokens":1`), llm.FieldMaxOutput, llm.Anywhere, "max_tokens"},
		{with(`"max_completion_tokens":1`), llm.FieldMaxOutput, llm.Anywhere, "max_completion_tokens"},
		{with(`"tools":[{"type":"function","function":{"name":"f"}}]`), llm.FieldToolStrict, llm.Item(0), "tools[0].function.strict"},
		{with(`"functions":[{"name":"f"}]`), llm.FieldToolStrict, llm.Anywhere, "functions[].strict"},
		{with(`"functions":[{"name":"f"}]`), llm.FieldToolChoice, llm.Anywhere, "function_call"},
		{with(""), llm.FieldImageURL, llm.At{Item: 3, Part: 1}, "messages[3].content[1].image_url.url"},
		{with(""), llm.FieldImageURL, llm.Anywhere, "messages[].content[].image_url.url"},
	} {
		req, err := Decode(nil, []byte(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		if got := req.Source.Path(tt.f, tt.at); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

func TestEveryFieldHasAName(t *testing.T) {
	req, err := Decode(nil, []byte(with("")))
	if err != nil {
		t.Fatal(err)
	}
	for f := llm.FieldModel; f <= llm.FieldFileName; f++ {
		if req.Path(f) == "" {
			t.Errorf("field %d has no name", f)
		}
	}
}

func TestTextsYieldsEveryTextOfThePrompt(t *testing.T) {
	req, err := Decode(nil, []byte(said(`{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":null,`+
		`"tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{}"}}]}`)))
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Collect(req.Source.Texts())
	if got := strings.Join(all, " "); strings.Join(strings.Fields(got), " ") != "user a assistant f {}" {
		t.Errorf("%q", all)
	}
}
