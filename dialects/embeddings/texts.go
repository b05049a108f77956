package embeddings

import (
	"errors"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tiktoken-go/tokenizer/codec"

	"modelgateway/api"
	"modelgateway/internal/jsonbytes"
)

// maxTokens is how many tokens a request may have, as OpenAI says. It bounds the text that
// they become: a token is up to 128 bytes.
const maxTokens = 300_000

// bytesPerInput is what a provider's format adds to a text, and a string's header.
const bytesPerInput = 256

// vocabulary is the name of that of the tokens that clients send.
const vocabulary = "cl100k_base"

// cl100k is the vocabulary. It takes some 10 MB and is loaded when the first tokens have to
// be decoded.
var cl100k = sync.OnceValue(codec.NewCl100kBase)

// Strings are the texts to embed, tokens decoded, for a provider that takes texts only.
func (r *Request) Strings() ([]string, error) { return r.strings() }

func (r *Request) decode() ([]string, error) {
	if r.tokens > maxTokens {
		return nil, api.Invalid(api.CodeInvalidValue, "input", "input may have at most %d tokens, not %d", maxTokens, r.tokens)
	}
	if err := r.Room(2*int64(len(r.members[memberInput])) + int64(r.inputs)*bytesPerInput); err != nil {
		return nil, err
	}
	texts := make([]string, 0, r.inputs)
	var bytes int64
	for i, element := range r.elements() {
		text, err := textOf(element)
		if err != nil {
			path := r.path(i)
			return nil, api.Invalid(api.CodeInvalidValue, path, "%s %s", path, err.Error()).WithCause(err)
		}
		bytes += int64(len(text))
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		return nil, api.Invalid(api.CodeInvalidValue, "input", "input must not be empty")
	}
	if more := bytes - int64(len(r.members[memberInput])); more > 0 {
		if err := r.Room(2 * more); err != nil {
			return nil, err
		}
	}
	r.decoded.mu.Lock()
	r.decoded.texts, r.decoded.bytes = texts, bytes
	r.decoded.mu.Unlock()
	return texts, nil
}

// path is the place of an input.
func (r *Request) path(i int) string {
	if r.flat || r.members[memberInput].Kind() == jsontext.KindString {
		return "input"
	}
	return "input[" + strconv.Itoa(i) + "]"
}

// What is wrong with an input, behind its path.
var (
	errEmpty = errors.New("must not be empty")
	errInput = errors.New("must be a string or an array of token ids")
	errToken = errors.New("has a token id that " + vocabulary + " does not have")
)

// textOf is the text of one input.
func textOf(element jsontext.Value) (string, error) {
	switch element.Kind() {
	case jsontext.KindString:
		text := jsonbytes.Text(element)
		if text == "" {
			return "", errEmpty
		}
		return text, nil
	case jsontext.KindBeginArray:
	default:
		return "", errInput
	}
	var ids []uint
	for id := range jsonbytes.Elements(element) {
		if id.Kind() != jsontext.KindNumber {
			return "", errInput
		}
		n, err := strconv.ParseUint(string(id), 10, 32)
		if err != nil {
			return "", errToken
		}
		ids = append(ids, uint(n))
	}
	if len(ids) == 0 {
		return "", errEmpty
	}
	text, err := cl100k().Decode(ids)
	if err != nil {
		return "", errToken
	}
	return strings.ToValidUTF8(text, "\uFFFD"), nil // clients cut long texts between any two tokens
}
