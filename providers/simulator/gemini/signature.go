package gemini

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
)

// SignatureMark begins a signature, before the name of the model.
const SignatureMark = "simulated thought of "

// signs reports whether parts carry thought signatures: from Gemini 3 on always.
func (q *Request) signs() bool { return q.thinks() || Generation(q.Model) >= 3 }

// sign is the signature of the thought that led to a text or a call.
func (q *Request) sign(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%s%s %x", SignatureMark, q.Model, sum))
}
