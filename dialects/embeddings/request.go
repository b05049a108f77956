package embeddings

import (
	"iter"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
)

// Request is a request as it came, and llm.Source for it. It is read only.
type Request struct {
	common llm.Request
	memory api.Memory

	members [memberCount]jsontext.Value // parts of the body
	inputs  int                         // how many vectors are asked for
	tokens  int                         // of all inputs that are arrays of tokens
	flat    bool                        // the input is one array of tokens

	strings func() ([]string, error)
	decoded decoded
}

// decoded is what strings has made.
type decoded struct {
	mu    sync.Mutex
	texts []string
	bytes int64
}

var _ llm.Embedding = (*Request)(nil)

// member is one of the members of a request that have a meaning here.
type member int

// The members, in the order of OpenAI's reference. The last two are Gemini's.
const (
	memberInput member = iota
	memberModel
	memberDimensions
	memberFormat
	memberUser
	memberTask
	memberTitle
	memberCount
)

// The names of members that are Gemini's.
const (
	taskType = "task_type"
	title    = "title"
)

var memberNames = [memberCount]string{"input", "model", "dimensions", "encoding_format", "user", taskType, title}

// memberOf is the member of a name; memberCount where it is none of them.
func memberOf(name []byte) member {
	for m, known := range memberNames {
		if string(name) == known {
			return member(m)
		}
	}
	return memberCount
}

// Has says whether the request has a member of this name that is not null.
func (r *Request) Has(name string) bool {
	m := memberOf([]byte(name))
	return m < memberCount && llm.Given(r.members[m])
}

// Room reserves memory for what the request becomes, beside its body.
func (r *Request) Room(bytes int64) error {
	if r.memory == nil {
		return nil
	}
	return r.memory.Reserve(bytes)
}

// Vocabulary is that of the client's tokens; empty where it sent texts.
func (r *Request) Vocabulary() string {
	if r.tokens == 0 {
		return ""
	}
	return vocabulary
}

// Vectors is the answer of a provider that is called so many times for it.
func (r *Request) Vectors(calls int) llm.Vectors {
	format, _ := r.text(memberFormat) // Options has checked it
	return &vectors{parts: make([][]byte, calls), came: make([]bool, calls), base64: format == "base64"}
}

// Dialect is llm.Embeddings.
func (r *Request) Dialect() llm.Dialect { return llm.Embeddings }

// Conversation fails: there is none.
func (r *Request) Conversation() (*llm.Conversation, error) {
	return nil, api.Invalid(api.CodeUnsupportedValue, "input", "a request for embeddings is no conversation")
}

// Path is the name of a field. Of those that other dialects have there are three.
func (r *Request) Path(f llm.Field, _ llm.At) string {
	switch f {
	case llm.FieldModel:
		return "model"
	case llm.FieldUser:
		return "user"
	default:
		return "input"
	}
}

// Ignored names the members that have no place in a translated request.
func (r *Request) Ignored([]llm.Field) []string {
	var names []string
	for name, value := range jsonbytes.Members(r.common.Raw) {
		switch memberOf(name.Text()) {
		case memberUser, memberCount:
			if llm.Given(value) {
				names = append(names, name.String())
			}
		}
	}
	return names
}

// Foreign is the first member that is not of the API. A server that copies the API may take
// it for another model, or for more.
func (r *Request) Foreign() string {
	for name := range jsonbytes.Members(r.common.Raw) {
		if memberOf(name.Text()) == memberCount {
			return name.String()
		}
	}
	return ""
}

// Chooses is empty: no member of OpenAI's own API lets another model answer.
func (r *Request) Chooses() string { return "" }

// Size measures the prompt. Tokens that have been decoded count as their text: other
// vocabularies can make more of it.
func (r *Request) Size() llm.Size {
	r.decoded.mu.Lock()
	defer r.decoded.mu.Unlock()
	return llm.Size{Messages: r.inputs, Bytes: max(int64(len(r.common.Raw)), r.decoded.bytes)}
}

// Texts yields every text of the input, tokens as the text that they stand for.
func (r *Request) Texts() iter.Seq[string] {
	return func(yield func(string) bool) {
		r.decoded.mu.Lock()
		texts := r.decoded.texts
		r.decoded.mu.Unlock()
		if texts != nil {
			for _, text := range texts {
				if !yield(text) {
					return
				}
			}
			return
		}
		for _, element := range r.elements() {
			text, err := textOf(element)
			if err == nil && !yield(text) {
				return
			}
		}
	}
}

// elements yields the inputs and their places.
func (r *Request) elements() iter.Seq2[int, jsontext.Value] {
	return func(yield func(int, jsontext.Value) bool) {
		input := r.members[memberInput]
		if r.flat || input.Kind() == jsontext.KindString {
			yield(0, input)
			return
		}
		i := 0
		for element := range jsonbytes.Elements(input) {
			if !yield(i, element) {
				return
			}
			i++
		}
	}
}
