package embeddings

import (
	"math"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/dialects/body"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
)

// maxInputs bounds the inputs of a request, as OpenAI does.
const maxInputs = 2048

// Decode reads a request. The body is checked as strictly as api.Decode does; of its members
// only the model is checked, and how many inputs there are: a provider that speaks the
// dialect judges the others, and knows members that this version does not. Nothing is taken
// out of the body, so that it needs no memory beside it.
func Decode(memory api.Memory, text []byte) (*llm.Request, error) {
	r := &Request{memory: memory}
	if err := r.read(text); err != nil {
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
	r.common = llm.Request{Source: r, Raw: text, Kind: llm.KindEmbedding, Model: model, Choices: 1}
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
	return jsonbytes.Text(value), nil
}

// read reads the body once: it finds the members, and counts the inputs and their tokens.
func (r *Request) read(text []byte) error {
	in := body.NewReader(r.memory, text)
	for name := range in.Object() {
		m, start := memberOf(name), in.Start()
		if m == memberInput {
			r.readInput(in)
		} else {
			in.Value()
		}
		if m < memberCount {
			r.members[m] = in.Since(start)
		}
	}
	in.Values = 0 // tokens and texts stay in the body
	return in.Close()
}

// readInput reads the inputs. One that is an array of tokens may be of any length.
func (r *Request) readInput(in *body.Reader) {
	if r.inputs = 1; in.Peek() != '[' {
		in.Value()
		return
	}
	elements := 0
	for i := range in.List(math.MaxInt) {
		kind := in.Peek()
		if i == 0 {
			r.flat = kind != '"' && kind != '['
		}
		if i == maxInputs && !r.flat {
			in.Refuse(api.TooMany("input", maxInputs))
			return
		}
		for range in.List(math.MaxInt) { // no elements: a text, or a token
			in.Value()
			r.tokens++
		}
		elements++
	}
	if r.flat {
		r.tokens = elements
	} else {
		r.inputs = elements
	}
}
