package anthropic

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/internal/scan"
	"modelgateway/llm"
)

// nativeAnswer is a whole answer in the upstream's bytes.
type nativeAnswer struct {
	head   llm.Head
	raw    []byte
	usage  *llm.Usage // nil = not reported
	ending ending
	texts  string // of an answer without usage, for an estimate
}

// answer reads what the gateway needs of an answer, and passes it on as it came.
func (n *native) answer(text []byte, key string) (llm.Stream, error) {
	if !scan.IsObject(text) {
		return nil, n.client.Malformed(errNoMessage)
	}
	a := &nativeAnswer{head: llm.Head{Model: n.model, Created: n.provider.now().Unix()}, raw: text}
	var kind, content jsontext.Value
	var counts usage
	for name, value := range scan.Members(text) {
		switch {
		case name.Is("type"):
			kind = value
		case name.Is("content"):
			content = value
		case name.Is("id"):
			a.head.ID = scan.Text(value)
		case name.Is("model"):
			if model := scan.Text(value); model != "" {
				a.head.Model = model
			}
		case name.Is("stop_reason"):
			a.ending.StopReason = scan.Text(value)
		case name.Is("stop_sequence"):
			a.ending.StopSequence = word(scan.Text(value))
		case name.Is("usage"):
			counts = readUsage(value)
		}
	}
	switch scan.Text(kind) {
	case typeError:
		return nil, n.refusedInside(text)
	case typeMessage:
	default:
		return nil, n.client.Malformed(errNoMessage)
	}
	if content.Kind() != jsontext.KindBeginArray {
		return nil, n.client.Malformed(errNoMessage)
	}
	id := a.head.ID
	a.head.ID = n.named(id, key)
	a.raw = renamed(text, id, a.head.ID)
	a.head.ServiceTier, a.usage = counts.tier(), counts.common()
	if !a.usage.Counts() || a.usage.Output == 0 {
		a.texts = textsOf(content)
	}
	return a.stream, nil
}

// readUsage reads the usage of an answer. What has another form is not counted.
func readUsage(text []byte) (u usage) {
	var r fastReader
	r.Reset(text)
	if r.usage(&u); r.Done() {
		return u
	}
	u = usage{}
	_ = json.Unmarshal(text, &u, api.Lenient)
	return u
}

// refusedInside is the error that came in place of an answer, under status 200.
func (n *native) refusedInside(text []byte) error {
	var m struct {
		Error problem `json:"error"`
	}
	_ = json.Unmarshal(text, &m, api.Lenient) // of another form it is an error all the same
	return passing(n.client.Refused(m.Error.refusal()), text)
}

// textsOf are the texts that a model has written.
func textsOf(content jsontext.Value) string {
	var all strings.Builder
	for block := range scan.Elements(content) {
		for name, value := range scan.Members(block) {
			switch {
			case name.Is("text"), name.Is("thinking"), name.Is("name"):
				all.WriteString(scan.Text(value))
			case name.Is("input"):
				all.Write(value)
			}
		}
	}
	return all.String()
}

// stream yields the events for metering, then the bytes.
func (a *nativeAnswer) stream(yield func(*llm.Event, error) bool) {
	e := llm.Event{Head: &a.head, RawDialect: llm.Messages}
	if a.texts != "" {
		e.Kind, e.Text = llm.EventText, a.texts
		if !yield(&e, nil) {
			return
		}
	}
	e.Kind, e.Text = llm.EventFinish, ""
	e.Ending = llm.Ending{
		Finish: a.ending.finish(), NativeReason: a.ending.StopReason, StopSequence: string(a.ending.StopSequence),
	}
	if !yield(&e, nil) {
		return
	}
	e = llm.Event{Kind: llm.EventAnswer, Head: &a.head, RawDialect: llm.Messages, Raw: a.raw, Usage: a.usage}
	yield(&e, nil)
}
