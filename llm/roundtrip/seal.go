package roundtrip

import (
	"cmp"
	"encoding/base64"
	"strings"

	"github.com/go-json-experiment/json"

	"modelgateway/llm"
)

// What another provider wants back in the next turn travels inside the one opaque text of
// a thought that a dialect has: the signature of a thinking block, the data of a redacted
// one, the encrypted content of a reasoning item. Clients bring these back unchanged, and
// SDKs drop members that they do not know. Nothing is kept on the server.

// sealMark begins such a text. The providers' own never begin so: they are base64.
const sealMark = "mgw1."

// sealedNames are what a sealed text calls the formats that clients know. Clients keep such
// texts in their conversations, so the names stay.
var sealedNames = map[llm.ThoughtFormat]string{
	llm.FormatAnthropic: "anthropic", llm.FormatGemini: "gemini", llm.FormatOpenAI: "openai",
}

func formatOf(name string) llm.ThoughtFormat {
	for format, sealed := range sealedNames {
		if sealed == name {
			return format
		}
	}
	return llm.ThoughtFormat(name)
}

// sealed is a thought of a provider inside such a text.
type sealed struct {
	Format    string          `json:"p"` // by its name in sealedNames, where it has one
	Model     string          `json:"m,omitempty"`
	Kind      llm.ThoughtKind `json:"k,omitzero"`
	ItemID    string          `json:"i,omitempty"`
	Signature string          `json:"s,omitempty"`
	Data      string          `json:"d,omitempty"`
	Text      string          `json:"t,omitempty"` // where the provider wants it back as it was
	CallID    string          `json:"c,omitempty"`
}

// Seal puts what the provider of a thought wants back into one text, without Thought.Text:
// the dialect brings that back beside it.
func Seal(t *llm.Thought) string {
	without := *t
	without.Text = ""
	return SealWhole(&without)
}

// SealWhole is Seal with the thought's text, for a dialect whose clients edit or lose it.
func SealWhole(t *llm.Thought) string {
	text, err := json.Marshal(sealed{
		Format: cmp.Or(sealedNames[t.Format], string(t.Format)), Model: t.Model, Kind: t.Kind, ItemID: t.ItemID,
		Signature: t.Signature, Data: t.Data, Text: t.Text, CallID: t.CallID,
	})
	if err != nil {
		return ""
	}
	return sealMark + base64.RawURLEncoding.EncodeToString(text)
}

// Unseal reads a text that Seal made; ok is false for any other.
func Unseal(signature string) (t llm.Thought, ok bool) {
	packed, ours := strings.CutPrefix(signature, sealMark)
	if !ours {
		return t, false
	}
	text, err := base64.RawURLEncoding.DecodeString(packed)
	if err != nil {
		return t, false
	}
	var s sealed
	if err := json.Unmarshal(text, &s); err != nil {
		return t, false
	}
	return llm.Thought{
		Format: formatOf(s.Format), Model: s.Model, Kind: s.Kind, ItemID: s.ItemID,
		Signature: s.Signature, Data: s.Data, Text: s.Text, CallID: s.CallID,
	}, true
}

// Sealed says whether a text begins as those that Seal makes.
func Sealed[Text string | []byte](text Text) bool {
	return len(text) >= len(sealMark) && string(text[:len(sealMark)]) == sealMark
}
