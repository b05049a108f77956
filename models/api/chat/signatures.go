package chat

import (
	"bytes"
	"encoding/base64"
	"strings"

	"github.com/go-json-experiment/json"

	"modelgateway/models/llm"
)

// What a provider wants back in the next turn travels inside the id of a tool
// call: clients that know only OpenAI's fields return ids unchanged and drop
// everything else, and without its signature the provider refuses the turn.
// Nothing is kept on the server, so it works across restarts and replicas.

// mark stands between the provider's id and what is packed behind it. Ids stay
// within [a-zA-Z0-9_-], which every provider accepts. What is packed is not
// compressed: signatures do not shrink, and a client's id must not make the
// gateway unpack more than it was sent.
const mark = "__mgw1_"

// PackID returns id with details inside; id itself where there are none.
func PackID(id string, details []ReasoningDetail) string {
	if len(details) == 0 {
		return id
	}
	text, err := json.Marshal(details)
	if err != nil {
		return id
	}
	return id + mark + base64.RawURLEncoding.EncodeToString(text)
}

// UnpackID splits an id into the provider's own and the details packed behind
// it. An id without details, or with details that cannot be read, is returned
// as it is.
func UnpackID(id string) (string, []ReasoningDetail) {
	at := strings.LastIndex(id, mark)
	if at < 0 {
		return id, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(id[at+len(mark):])
	if err != nil {
		return id, nil
	}
	var details []ReasoningDetail
	if err := json.Unmarshal(text, &details, boundedLists); err != nil {
		return id, nil
	}
	return id[:at], details
}

// HasPackedID says whether a text may hold an id with details.
func HasPackedID(text []byte) bool { return bytes.Contains(text, []byte(mark)) }

// providers of reasoning, by the format of a ReasoningDetail.
var formatProviders = map[string]string{FormatAnthropic: "anthropic", FormatGemini: "gemini"}

// format is that of a thought; empty where no client could bring it back.
func format(t *llm.Thought) string {
	switch t.Provider {
	case formatProviders[FormatAnthropic]:
		return FormatAnthropic
	case formatProviders[FormatGemini]:
		return FormatGemini
	}
	return ""
}

// Common is the detail in the common form.
func (d *ReasoningDetail) Common() *llm.Thought {
	t := &llm.Thought{Text: d.Text, Signature: d.Signature, Data: d.Data, Provider: formatProviders[d.Format], Index: d.Index}
	t.CallID, _ = UnpackID(d.ID)
	switch d.Type {
	case ReasoningText:
	case ReasoningEncrypted:
		t.Kind = llm.ThoughtEncrypted
	default:
		t.Kind, t.Text = llm.ThoughtSummary, d.Text+d.Summary
	}
	return t
}

// detail is a thought as clients see it.
func detail(t *llm.Thought) ReasoningDetail {
	d := ReasoningDetail{
		Type: ReasoningText, Text: t.Text, Signature: t.Signature, Data: t.Data, ID: t.CallID, Format: format(t), Index: t.Index,
	}
	switch t.Kind {
	case llm.ThoughtEncrypted:
		d.Type = ReasoningEncrypted
	case llm.ThoughtSummary:
		d.Type, d.Text, d.Summary = reasoningSummary, "", t.Text
	}
	return d
}
