package chat

import (
	"github.com/go-json-experiment/json"

	"modelgateway/dialects/body"
	"modelgateway/llm"
	"modelgateway/llm/roundtrip"
)

// PackID returns id with details inside; id itself where there are none.
func PackID(id string, details []ReasoningDetail) string {
	if len(details) == 0 {
		return id
	}
	text, err := json.Marshal(details)
	if err != nil {
		return id
	}
	return roundtrip.Join(id, text)
}

// UnpackID splits an id into the provider's own and the details packed behind
// it. An id without details, or with details that cannot be read, is returned
// as it is.
func UnpackID(id string) (string, []ReasoningDetail) {
	own, text, ok := roundtrip.Split(id)
	if !ok {
		return id, nil
	}
	in := body.NewReader(nil, text)
	in.Strict = true
	details := readDetails(in)
	if in.Close() != nil {
		return id, nil
	}
	return own, details
}

// HasPackedID says whether a text may hold an id with details.
func HasPackedID(text []byte) bool { return roundtrip.Has(text) }

// Common is the detail in the common form.
func (d *ReasoningDetail) Common() *llm.Thought {
	t := &llm.Thought{Text: d.Text, Signature: d.Signature, Data: d.Data, Format: d.Format.Public(), Index: d.Index}
	if d.Format == llm.FormatOpenAI {
		t.ItemID = d.ID
	} else {
		t.CallID, _ = UnpackID(d.ID)
	}
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
		Type: ReasoningText, Text: t.Text, Signature: t.Signature, Data: t.Data, ID: t.CallID, Format: t.Format.Public(), Index: t.Index,
	}
	if d.Format == llm.FormatOpenAI {
		d.ID = t.ItemID
	}
	switch t.Kind {
	case llm.ThoughtEncrypted:
		d.Type = ReasoningEncrypted
	case llm.ThoughtSummary:
		d.Type, d.Text, d.Summary = reasoningSummary, "", t.Text
	}
	return d
}
