package turns

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/models/api"
	"modelgateway/providers/carry"
)

func toolCalls(i int, m *api.Message) ([]pending, error) {
	all := m.ToolCalls
	if m.FunctionCall != nil {
		all = append(slices.Clone(all), api.ToolCall{ID: "call_" + m.FunctionCall.Name, Function: m.FunctionCall})
	}
	calls := make([]pending, 0, len(all))
	for j, c := range all {
		if c.Function == nil {
			return nil, api.Invalid(api.CodeUnsupportedValue, fmt.Sprintf("messages[%d].tool_calls[%d].type", i, j),
				"the model of this request knows no tool calls of type %q", c.Type)
		}
		id, carried := carry.Unpack(c.ID)
		call := &Call{ID: id, Name: c.Function.Name, Arguments: arguments(c.Function.Arguments)}
		call.Signature = signature(c, carried)
		calls = append(calls, pending{call: call, original: c.ID, carried: carried})
	}
	return calls, nil
}

func signature(c api.ToolCall, carried []api.ReasoningDetail) string {
	if c.ExtraContent != nil && c.ExtraContent.Google != nil && c.ExtraContent.Google.ThoughtSignature != "" {
		return c.ExtraContent.Google.ThoughtSignature
	}
	for _, d := range carried {
		if d.Format == api.FormatGemini {
			return d.Data
		}
	}
	return ""
}

// thoughts yields the reasoning a message brings back: in its own field where
// that is of use, or else inside the ids of its tool calls. Clients that put a
// stream together do not all do it well, while ids come back untouched.
func thoughts(m *api.Message, calls []pending) []api.ReasoningDetail {
	if whole := together(m.ReasoningDetails); slices.ContainsFunc(whole, usable) {
		return whole
	}
	var all []api.ReasoningDetail
	for _, c := range calls {
		for _, d := range c.carried {
			if d.Format != api.FormatGemini { // that one belongs to the call itself
				all = append(all, d)
			}
		}
	}
	return all
}

// together joins the fragments of blocks, as a stream has them. Blocks that
// came whole have an index each.
func together(details []api.ReasoningDetail) []api.ReasoningDetail {
	type block struct {
		kind  string
		index int
	}
	var whole []api.ReasoningDetail
	known := map[block]int{}
	for _, d := range details {
		at, ok := known[block{d.Type, d.Index}]
		// A second signature, or data, is a block of its own whatever its index.
		if !ok || whole[at].Signature != "" || whole[at].Data != "" {
			known[block{d.Type, d.Index}] = len(whole)
			whole = append(whole, d)
			continue
		}
		have := &whole[at]
		have.Text += d.Text
		have.Signature = cmp.Or(have.Signature, d.Signature)
		have.Data = cmp.Or(have.Data, d.Data)
		have.Format = cmp.Or(have.Format, d.Format)
		have.ID = cmp.Or(have.ID, d.ID)
	}
	return whole
}

// usable says whether a provider of ours can read a block and wants it back.
func usable(d api.ReasoningDetail) bool {
	return (d.Format == api.FormatAnthropic || d.Format == api.FormatGemini) && (d.Signature != "" || d.Data != "")
}

// arguments makes an object of the arguments' text. What a model left broken
// is kept, as a string, rather than refused or lost.
func arguments(text string) jsontext.Value {
	raw := jsontext.Value(strings.TrimSpace(text))
	switch {
	case len(raw) == 0:
		return jsontext.Value("{}")
	case !raw.IsValid():
		quoted, err := jsontext.AppendQuote([]byte(`{"_raw":`), text)
		if err != nil {
			return jsontext.Value("{}")
		}
		return append(quoted, '}')
	case raw.Kind() != jsontext.KindBeginObject:
		return append(append(jsontext.Value(`{"_raw":`), raw...), '}')
	}
	return raw
}

func parts(c api.Content) []api.ContentPart {
	if c.Parts == nil {
		return []api.ContentPart{{Type: "text", Text: c.Text()}}
	}
	return c.Parts
}

// filled drops empty text, which OpenAI takes and the others refuse, and makes
// text of refusals.
func filled(all []api.ContentPart) []api.ContentPart {
	kept := make([]api.ContentPart, 0, len(all))
	for _, p := range all {
		if p.Type == "refusal" {
			p = api.ContentPart{Type: "text", Text: p.Refusal}
		}
		if p.Type != "text" || p.Text != "" {
			kept = append(kept, p)
		}
	}
	return kept
}

// blocks makes blocks of a message's content; a cache mark of the whole message
// stands behind its last part.
func blocks(m *api.Message) []Block {
	content := filled(parts(m.Content))
	all := make([]Block, len(content))
	for i := range content {
		all[i] = Block{Part: &content[i], CacheControl: content[i].CacheControl}
	}
	if n := len(all); n > 0 && len(all[n-1].CacheControl) == 0 {
		all[n-1].CacheControl = m.CacheControl
	}
	return all
}
