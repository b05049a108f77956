package gemini

import (
	"bytes"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"modelgateway/models/api"
)

// noSignature is what Google documents for a function call whose signature is
// not known (https://ai.google.dev/gemini-api/docs/thought-signatures). Gemini
// 3 and later refuse the call without any.
const noSignature = "skip_thought_signature_validator"

// sealed is a thought signature on its way through clients. Another model than
// its own refuses it, and where it stood has to be known to put it back.
type sealed struct {
	model     string // that gave it; empty where nothing says so
	picture   int    // the number of the picture it stands on within its message, or onText
	signature string
}

// onText is for signatures that stand on a text or a call.
const onText = -1

// bar parts a seal. Signatures are base64 and have none.
const bar = "|"

func (s sealed) String() string {
	if s.picture == onText {
		return s.model + bar + s.signature
	}
	return s.model + bar + strconv.Itoa(s.picture) + bar + s.signature
}

// unseal reads what String wrote, or a bare signature: Google's own form, in
// extra_content, has nothing else.
func unseal(text string) sealed {
	at := strings.LastIndex(text, bar)
	if at < 0 {
		return sealed{picture: onText, signature: text}
	}
	s := sealed{picture: onText, signature: text[at+len(bar):]}
	var number string
	s.model, number, _ = strings.Cut(text[:at], bar)
	if n, err := strconv.Atoi(number); err == nil && n >= 0 {
		s.picture = n
	}
	return s
}

// own is the signature where the model may take it; else it is empty.
func (t *translation) own(s sealed) string {
	if t.unsigned || !t.signs() || s.model != "" && s.model != t.model {
		return ""
	}
	return s.signature
}

// signs says whether the model makes signatures. One that never does would have
// to take another model's for its own.
func (t *translation) signs() bool { return len(t.traits.Thinking) > 0 || t.traits.Images }

// aboutSignatures finds the subject of a refusal. Google has no code for it:
// "Corrupted thought signature.", "Image part is missing a thought_signature".
var aboutSignatures = regexp.MustCompile(`(?i)thought.?signature`)

// unsigned is the body to try when the upstream refuses the signatures in the
// history, which another key made, say; nil when that is not what err is about
// or nothing would change. It is made anew each time, as the exchange may be
// sent by several at once.
func (x *exchange) unsigned(err error) []byte {
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.UpstreamStatus != http.StatusBadRequest || !aboutSignatures.MatchString(e.Message) {
		return nil
	}
	t, err := translate(x.call, true)
	if err != nil {
		return nil
	}
	body, err := t.body()
	if err != nil || bytes.Equal(body, x.body) {
		return nil
	}
	return body
}
