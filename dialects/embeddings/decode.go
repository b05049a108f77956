package embeddings

import (
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/internal/scan"
	"modelgateway/llm"
)

// maxInputs bounds the inputs of a request, as OpenAI does.
const maxInputs = 2048

// Decode reads a request. The body is checked as strictly as api.Decode does; of its members
// only the model is checked, and how many inputs there are: a provider that speaks the
// dialect judges the others, and knows members that this version does not. Nothing is taken
// out of the body, so that it needs no memory beside it.
func Decode(memory api.Memory, body []byte) (*llm.Request, error) {
	r := &Request{memory: memory}
	o := outline{request: r, body: body}
	if err := o.run(); err != nil {
		return nil, err
	}
	input := r.members[memberInput]
	model, err := r.text(memberModel)
	switch kind := input.Kind(); {
	case err != nil:
		return nil, err
	case model == "":
		return nil, api.Invalid(api.CodeMissingField, "model", "model is required")
	case !llm.Given(input):
		return nil, api.Invalid(api.CodeMissingField, "input", "input is required")
	case kind != jsontext.KindString && kind != jsontext.KindBeginArray:
		return nil, wrongInput("input", "a string, an array of strings, an array of token ids, or an array of such arrays")
	}
	r.strings = sync.OnceValues(r.decode)
	r.common = llm.Request{Source: r, Raw: body, Kind: llm.KindEmbedding, Model: model, Choices: 1}
	if user, err := r.text(memberUser); err == nil {
		r.common.User = user
	}
	return &r.common, nil
}

func wrongInput(path, want string) *api.Error {
	return api.Invalid(api.CodeInvalidValue, path, "%s must be %s", path, want)
}

// text is a member that must be a text; empty where it is not there.
func (r *Request) text(m member) (string, error) {
	value := r.members[m]
	if !llm.Given(value) {
		return "", nil
	}
	if value.Kind() != jsontext.KindString {
		return "", wrongInput(memberNames[m], "a string")
	}
	return scan.Text(value), nil
}

// outline reads a body once: it checks its syntax, finds the members and counts the inputs.
type outline struct {
	scan.Checker
	request *Request
	body    []byte
	err     error // of a list that is too long
}

func (o *outline) run() error {
	o.Reset(o.body)
	mark := o.Enter('{')
	for first := true; o.More('}', first); first = false {
		m := memberOf(o.Name(mark))
		o.Peek()
		start := o.Offset()
		if m == memberInput {
			o.input()
		} else {
			o.Value()
		}
		if m < memberCount && !o.Failed() {
			end := o.Offset()
			o.request.members[m] = jsontext.Value(o.body[start:end:end])
		}
	}
	o.Leave(mark)
	switch {
	case o.err != nil:
		return o.err
	case !o.Done():
		return api.SyntaxFault(o.request.memory, o.body)
	}
	return nil
}

// input counts the inputs, and their tokens.
func (o *outline) input() {
	r := o.request
	r.inputs, r.tokens, r.flat = 1, 0, false
	if o.Peek() != '[' {
		o.Value()
		return
	}
	mark := o.Enter('[')
	elements := 0
	for first := true; o.More(']', first); first = false {
		kind := o.Peek()
		if first {
			r.flat = kind != '"' && kind != '['
		}
		if elements++; elements > maxInputs && !r.flat {
			o.err = api.TooMany("input", maxInputs)
			o.Fail()
			return
		}
		if kind == '[' {
			r.tokens += o.list()
		} else {
			o.Value()
		}
	}
	o.Leave(mark)
	if r.flat {
		r.tokens = elements
	} else {
		r.inputs = elements
	}
}

// list reads a list and returns how many elements it has.
func (o *outline) list() (n int) {
	mark := o.Enter('[')
	for first := true; o.More(']', first); first = false {
		o.Value()
		n++
	}
	o.Leave(mark)
	return n
}
