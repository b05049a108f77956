package chunk

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/models/api"
)

func TestCollectKeepsADeprecatedFunctionCallAndAllLogprobs(t *testing.T) {
	got, err := Collect(func(yield func(*api.ChatChunk, error) bool) {
		e := New(yield, Head{ID: "a", Model: "m", Created: 1})
		e.Begin(0)
		for _, text := range []string{"a", "b"} {
			e.With(jsontext.Value(`{"content":[{"token":"`+text+`"}],"refusal":null}`), nil)
			e.Text(0, text)
		}
		e.With(nil, nil)
		e.Delta(1, api.Delta{FunctionCall: &api.FunctionDelta{Name: "f", Arguments: `{"x"`}})
		e.Delta(1, api.Delta{FunctionCall: &api.FunctionDelta{Arguments: `:1}`}})
		e.Finish(0, api.FinishStop)
		e.Finish(1, api.FinishFunctionCall)
	})
	if err != nil {
		t.Fatal(err)
	}
	if probable := string(got.Choices[0].Logprobs); probable != `{"content":[{"token":"a"},{"token":"b"}],"refusal":null}` {
		t.Errorf("logprobs %s", probable)
	}
	m := got.Choices[1].Message
	if m.Content != nil || m.FunctionCall == nil || *m.FunctionCall != (api.FunctionCall{Name: "f", Arguments: `{"x":1}`}) {
		t.Errorf("message %+v", m)
	}
}
