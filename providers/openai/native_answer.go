package openai

import (
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/scan"
	"modelgateway/llm"
)

var errNotResponse = errors.New("the answer is no response")

// nativeAnswer is a whole answer in the upstream's bytes.
type nativeAnswer struct {
	answered

	head  llm.Head
	raw   []byte
	texts string // of an answer without usage, for an estimate
}

// answer reads what the gateway needs of an answer, and passes it on with the ids that the
// client knows.
func (n *native) answer(text []byte, key string) (llm.Stream, error) {
	a := &nativeAnswer{head: llm.Head{Model: n.model, Created: n.provider.now().Unix()}}
	if !a.whole(text) {
		return nil, n.client.Malformed(errNotResponse)
	}
	p := problemOf(a.problem)
	switch {
	case !a.isResponse() && p == nil:
		return nil, n.client.Malformed(errNotResponse)
	case string(a.status) == `"failed"` || p != nil && !a.isResponse():
		return nil, n.failedEarly(p)
	case a.output.Kind() != jsontext.KindBeginArray:
		return nil, n.client.Malformed(errNotResponse)
	}
	if a.model != "" {
		a.head.Model = a.model
	}
	a.head.ServiceTier = a.tier
	if u := a.common(); !u.Counts() || u.Output == 0 {
		a.texts = textsOf(a.output)
	}
	var names renames
	names, a.head.ID = n.names(&a.answered, key)
	a.raw = names.in(text)
	return a.stream, nil
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
	for item := range scan.Elements(output) {
		if item.Kind() != jsontext.KindBeginObject {
			continue
		}
		for name, value := range scan.Members(item) {
			switch {
			case name.Is("name"), name.Is("arguments"), name.Is("input"), name.Is("code"), name.Is("encrypted_content"):
				all.WriteString(scan.Text(value))
			case name.Is("action"), name.Is("operation"):
				all.Write(value)
			case name.Is("content"), name.Is("summary"):
				for part := range scan.Elements(value) {
					all.WriteString(scan.Text(memberAt(part, "text")) + scan.Text(memberAt(part, "refusal")))
				}
			}
		}
	}
	return all.String()
}

// stream yields the events for metering, then the bytes.
func (a *nativeAnswer) stream(yield func(*llm.Event, error) bool) {
	e := llm.Event{Head: &a.head, RawDialect: llm.Responses}
	if a.texts != "" {
		e.Kind, e.Text = llm.EventText, a.texts
		if !yield(&e, nil) {
			return
		}
	}
	e.Kind, e.Text, e.Ending = llm.EventFinish, "", a.ending()
	if !yield(&e, nil) {
		return
	}
	e = llm.Event{Kind: llm.EventAnswer, Head: &a.head, RawDialect: llm.Responses, Raw: a.raw, Usage: a.counted()}
	yield(&e, nil)
}
