package gemini

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
)

const signatureMark = "simulated thought of "

// signs reports whether parts carry thought signatures: from Gemini 3 on always.
func (q *Request) signs() bool { return q.thinks() || Generation(q.Model) >= 3 }

// sign is the signature of the thought that led to a text or a call.
func (q *Request) sign(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%s%s %x", signatureMark, q.Model, sum))
}

// IsSignature reports whether a model gave a signature.
func IsSignature(model, signature string) bool {
	data, err := DecodeBase64(signature)
	return err == nil && strings.HasPrefix(string(data), signatureMark+model+" ")
}

// DecodeBase64 accepts what proto3 JSON accepts: both alphabets, with and
// without padding.
func DecodeBase64(s string) ([]byte, error) {
	standard := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(s, "="))
	return base64.RawStdEncoding.DecodeString(standard)
}
