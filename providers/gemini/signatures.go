package gemini

import (
	"bytes"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"modelgateway/providers"
)

// skipSignature is what Google documents for a function call whose signature is
// not known (https://ai.google.dev/gemini-api/docs/thought-signatures). Gemini
// 3 and later refuse the call without any.
const skipSignature = "skip_thought_signature_validator"

// signature is a thought signature as clients return it. Other models than its
// own refuse it, and its former position has to be known to put it back.
type signature struct {
	model string // that gave it; empty where that is not known
	image int    // the number of the image it stands on within its message, or noImage
	value string // Gemini's own
}

// noImage marks signatures of a text or a call.
const noImage = -1

// separator stands between the parts of a signature's text. Gemini's own are
// base64 and have none.
const separator = "|"

func (s signature) String() string {
	if s.image == noImage {
		return s.model + separator + s.value
	}
	return s.model + separator + strconv.Itoa(s.image) + separator + s.value
}

// parseSignature reads the result of String, or Gemini's own value alone, which
// is all that Google's form in chat, extra_content, has.
func parseSignature(text string) signature {
	at := strings.LastIndex(text, separator)
	if at < 0 {
		return signature{image: noImage, value: text}
	}
	s := signature{image: noImage, value: text[at+len(separator):]}
	var number string
	s.model, number, _ = strings.Cut(text[:at], separator)
	if n, err := strconv.Atoi(number); err == nil && n >= 0 {
		s.image = n
	}
	return s
}

// accepted is the value where the model may take it; else it is empty.
func (t *translation) accepted(s signature) string {
	if t.dropSignatures || !t.makesSignatures() || s.model != "" && s.model != t.model {
		return ""
	}
	return s.value
}

// makesSignatures reports whether the model makes signatures. A model without
// its own would take another model's signature for one of its own.
func (t *translation) makesSignatures() bool { return len(t.traits.Thinking) > 0 || t.traits.Images }

// aboutSignatures reports whether a refusal is about signatures. Google has no
// code for that: "Corrupted thought signature.", "Image part is missing a
// thought_signature".
var aboutSignatures = regexp.MustCompile(`(?i)thought.?signature`)

// withoutSignatures is the body to send when the upstream refuses the
// signatures in the history, which another key may have made; nil when err is
// not about signatures or nothing would change. It is made each time, as
// several calls may send the exchange at once.
func (x *exchange) withoutSignatures(err error) []byte {
	r, ok := errors.AsType[*providers.Refusal](err)
	if !ok || r.Status != http.StatusBadRequest || r.KeyRefused() || !aboutSignatures.MatchString(r.Message) {
		return nil
	}
	t, err := x.provider.translate(x.call, dropSignatures)
	if err != nil {
		return nil
	}
	body, err := t.body()
	if err != nil || bytes.Equal(body, x.body) {
		return nil
	}
	return body
}
