package responses

import (
	"cmp"
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
	"modelgateway/providers/native"
	"modelgateway/providers/openai/wire"
)

var errNotResponse = errors.New("the answer is no response")

// answer reads what the gateway needs of an answer, and passes it on with the ids that the
// client knows.
func (n *nativeExchange) answer(text []byte, key string) (llm.Stream, error) {
	var a answered
	if !a.readWhole(text) {
		return nil, n.client.Malformed(errNotResponse)
	}
	p := wire.ProblemOf(a.problem)
	switch {
	case !a.isResponse() && p == nil:
		return nil, n.client.Malformed(errNotResponse)
	case string(a.status) == `"failed"` || p != nil && !a.isResponse():
		return nil, n.failedEarly(p)
	case a.output.Kind() != jsontext.KindBeginArray:
		return nil, n.client.Malformed(errNotResponse)
	}
	names, name := n.names(&a, key)
	whole := &native.Whole{
		Head:    llm.Head{ID: name, Model: cmp.Or(a.model, n.model), Created: n.api.now().Unix(), ServiceTier: a.tier},
		Dialect: llm.Responses, Raw: names.in(text), Usage: a.counted(), Endings: []llm.Ending{a.ending()},
	}
	if !whole.Usage.Counts() || whole.Usage.Output == 0 {
		whole.Texts = textsOf(a.output)
	}
	return whole.Stream, nil
}

// isResponse says whether an answer is one of the API. Servers that copy it may not name the object.
func (a *answered) isResponse() bool {
	if len(a.object) == 0 {
		return a.output.Kind() == jsontext.KindBeginArray
	}
	return string(a.object) == `"response"` || string(a.object) == `"response.compaction"`
}

// textsOf are the texts that a model has written.
func textsOf(output jsontext.Value) string {
	var all strings.Builder
	for item := range jsonbytes.Elements(output) {
		if item.Kind() != jsontext.KindBeginObject {
			continue
		}
		for name, value := range jsonbytes.Members(item) {
			switch {
			case name.Is("name"), name.Is("arguments"), name.Is("input"), name.Is("code"), name.Is("encrypted_content"):
				all.WriteString(jsonbytes.Text(value))
			case name.Is("action"), name.Is("operation"):
				all.Write(value)
			case name.Is("content"), name.Is("summary"):
				for part := range jsonbytes.Elements(value) {
					all.WriteString(jsonbytes.Text(jsonbytes.Member(part, "text")) + jsonbytes.Text(jsonbytes.Member(part, "refusal")))
				}
			}
		}
	}
	return all.String()
}
