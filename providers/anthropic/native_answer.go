package anthropic

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
	"modelgateway/providers/native"
)

// answer reads what the gateway needs of an answer, and passes it on as it came.
func (n *nativeExchange) answer(text []byte, key string) (llm.Stream, error) {
	if !jsonbytes.IsObject(text) {
		return nil, n.client.Malformed(errNoMessage)
	}
	a := &native.Whole{Head: llm.Head{Model: n.model, Created: n.provider.now().Unix()}, Dialect: llm.Messages}
	var end ending
	var kind, content jsontext.Value
	var counts usage
	for name, value := range jsonbytes.Members(text) {
		switch {
		case name.Is("type"):
			kind = value
		case name.Is("content"):
			content = value
		case name.Is("id"):
			a.Head.ID = jsonbytes.Text(value)
		case name.Is("model"):
			if model := jsonbytes.Text(value); model != "" {
				a.Head.Model = model
			}
		case name.Is("stop_reason"):
			end.StopReason = jsonbytes.Text(value)
		case name.Is("stop_sequence"):
			end.StopSequence = word(jsonbytes.Text(value))
		case name.Is("usage"):
			counts = readUsage(value)
		}
	}
	switch jsonbytes.Text(kind) {
	case typeError:
		return nil, n.refusedInside(text)
	case typeMessage:
	default:
		return nil, n.client.Malformed(errNoMessage)
	}
	if content.Kind() != jsontext.KindBeginArray {
		return nil, n.client.Malformed(errNoMessage)
	}
	id := a.Head.ID
	a.Head.ID = n.named(id, key)
	a.Raw = renamed(text, id, a.Head.ID)
	a.Head.ServiceTier, a.Usage = counts.tier(), counts.common()
	if !a.Usage.Counts() || a.Usage.Output == 0 {
		a.Texts = textsOf(content)
	}
	a.Endings = []llm.Ending{end.common()}
	return a.Stream, nil
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
func (n *nativeExchange) refusedInside(text []byte) error {
	var m struct {
		Error problem `json:"error"`
	}
	_ = json.Unmarshal(text, &m, api.Lenient) // of another form it is an error all the same
	return passing(n.client.Refused(m.Error.refusal()), text)
}

// textsOf are the texts that a model has written.
func textsOf(content jsontext.Value) string {
	var all strings.Builder
	for block := range jsonbytes.Elements(content) {
		for name, value := range jsonbytes.Members(block) {
			switch {
			case name.Is("text"), name.Is("thinking"), name.Is("name"):
				all.WriteString(jsonbytes.Text(value))
			case name.Is("input"):
				all.Write(value)
			}
		}
	}
	return all.String()
}
