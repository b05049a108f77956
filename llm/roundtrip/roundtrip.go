// Package roundtrip puts what a provider wants back in the next turn inside the id of a
// tool call: clients that know only the fields of their API return ids unchanged and
// drop everything else, and without its signature the provider refuses the turn.
// Nothing is kept on the server, so it works across restarts and replicas.
package roundtrip

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/llm"
)

// mark stands between the provider's id and what is packed behind it. Ids stay
// within [a-zA-Z0-9_-], which every provider accepts. What is packed is not
// compressed: signatures do not shrink, and a client's id must not make the
// gateway unpack more than it was sent.
const mark = "__mgw1_"

// maxThoughts is how many thoughts an id brings back at most: an empty one of two bytes
// takes hundreds in memory.
const maxThoughts = 1000

var errTooMany = errors.New("too many thoughts")

// Has says whether a text may hold an id with something inside.
func Has(text []byte) bool { return bytes.Contains(text, []byte(mark)) }

// Join is the id with a text inside.
func Join(id string, text []byte) string {
	return id + mark + base64.RawURLEncoding.EncodeToString(text)
}

// Split is the provider's own id and the text inside; ok is false for an id without one.
func Split(id string) (own string, text []byte, ok bool) {
	at := strings.LastIndex(id, mark)
	if at < 0 {
		return id, nil, false
	}
	text, err := base64.RawURLEncoding.DecodeString(id[at+len(mark):])
	if err != nil {
		return id, nil, false
	}
	return id[:at], text, true
}

// The types of thoughts.
const (
	TypeText      = "reasoning.text"
	TypeEncrypted = "reasoning.encrypted"
	TypeSummary   = "reasoning.summary"
)

// thought is a thought inside an id. The members up to Format are those of a detail of
// reasoning in chat completions, so that each dialect reads the ids of the others.
type thought struct {
	Type      string            `json:"type"`
	Text      string            `json:"text,omitempty"`
	Summary   string            `json:"summary,omitempty"`
	Signature string            `json:"signature,omitempty"`
	Data      string            `json:"data,omitempty"`
	CallID    string            `json:"id,omitempty"`
	Format    llm.ThoughtFormat `json:"format,omitempty"`

	Provider llm.ThoughtFormat `json:"provider,omitempty"` // without a format of its own
	Model    string            `json:"model,omitempty"`
	ItemID   string            `json:"item,omitempty"`
}

// Pack is an id with thoughts inside; id itself where there are none.
func Pack(id string, thoughts ...*llm.Thought) string {
	if len(thoughts) == 0 {
		return id
	}
	all := make([]thought, len(thoughts))
	for i, t := range thoughts {
		all[i] = thought{
			Type: TypeText, Text: t.Text, Signature: t.Signature, Data: t.Data,
			Format: t.Format.Public(), Model: t.Model, ItemID: t.ItemID,
		}
		if t.CallID != id { // else it need not be said
			all[i].CallID = t.CallID
		}
		if all[i].Format == "" {
			all[i].Provider = t.Format
		}
		switch t.Kind {
		case llm.ThoughtEncrypted:
			all[i].Type = TypeEncrypted
		case llm.ThoughtSummary:
			all[i].Type, all[i].Text, all[i].Summary = TypeSummary, "", t.Text
		}
	}
	text, err := json.Marshal(all, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return id
	}
	return Join(id, text)
}

// Unpack splits an id into the provider's own and the thoughts inside. An id without
// any, or with what cannot be read, is returned as it is.
func Unpack(id string) (string, []llm.Thought) {
	own, text, ok := Split(id)
	if !ok {
		return id, nil
	}
	var all bounded
	if json.Unmarshal(text, &all) != nil {
		return id, nil
	}
	thoughts := make([]llm.Thought, len(all))
	for i := range all {
		thoughts[i] = all[i].common()
	}
	return own, thoughts
}

func (t *thought) common() llm.Thought {
	out := llm.Thought{
		Text: t.Text, Signature: t.Signature, Data: t.Data, CallID: t.CallID, Model: t.Model, ItemID: t.ItemID,
		Format: cmp.Or(t.Format.Public(), t.Provider),
	}
	if t.Format == llm.FormatOpenAI && out.ItemID == "" { // as chat completions name it
		out.ItemID, out.CallID = out.CallID, ""
	}
	switch t.Type {
	case TypeText:
	case TypeEncrypted:
		out.Kind = llm.ThoughtEncrypted
	default:
		out.Kind, out.Text = llm.ThoughtSummary, t.Text+t.Summary
	}
	return out
}

// bounded are at most maxThoughts thoughts.
type bounded []thought

// UnmarshalJSONFrom reads the thoughts one by one, so that the first one too many ends
// the decoding.
func (b *bounded) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != jsontext.KindEndArray {
		if len(*b) == maxThoughts {
			return errTooMany
		}
		*b = append(*b, thought{})
		if err := json.UnmarshalDecode(dec, &(*b)[len(*b)-1]); err != nil {
			return err
		}
	}
	_, err := dec.ReadToken()
	return err
}
